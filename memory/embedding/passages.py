"""A long text in passages that a model reads whole: one vector of everything would say little of each."""

from __future__ import annotations

import re
from collections.abc import Iterator

# Bytes of UTF-8: of English some 100 pieces of words, of Chinese 150 characters, which small models read whole.
LONGEST = 450
# So many may be shared with the passage before: a thought that goes on beyond its end is found in either.
OVERLAP = 120
# At most so many, those that come nearest to a question, are read with it: what answers is often not in the nearest.
READ = 2
# Texts up to here have one vector alone.
SHORT = 600

# One sign before the blank: a run of them, tried from each of its places, would take the square of its length.
_SENTENCE = re.compile(r".+?(?:[.!?](?=\s)\s*|[。\uff01\uff1f]|\n\s*|\Z)", re.DOTALL)
_WORD = re.compile(r"\S+\s*|\s+")


def passages(text: str) -> list[str]:
    """Return the passages of a text in order, each of at most 450 bytes and of whole sentences where that can be.

    A text of up to 600 bytes has none. Together they hold all but white space; neighbours share at most 120 bytes.

    >>> passages("Short.")
    []
    >>> [len(each) for each in passages("One more sentence of the same length. " * 30)]
    [417, 417, 417, 227]
    """
    if _size(text) <= SHORT:
        return []
    found: list[str] = []
    held: list[tuple[str, int]] = []
    length = 0
    for piece in _pieces(text):
        size = _size(piece)
        if length + size > LONGEST:
            found.append("".join(each for each, _ in held))
            held = _shared(held, min(OVERLAP, LONGEST - size))
            length = sum(each for _, each in held)
        held.append((piece, size))
        length += size
    found.append("".join(each for each, _ in held))
    return [each for each in map(str.strip, found) if each]


def _shared(held: list[tuple[str, int]], most: int) -> list[tuple[str, int]]:
    """Return the last pieces of a passage that together have at most so many bytes."""
    start = len(held)
    while start > 0 and held[start - 1][1] <= most:
        start -= 1
        most -= held[start][1]
    return held[start:]


def _pieces(text: str) -> Iterator[str]:
    """Cut a text into sentences, those that are no passage into words, and such words anywhere."""
    for sentence in _SENTENCE.findall(text):
        if _size(sentence) <= LONGEST:
            yield sentence
            continue
        for word in _WORD.findall(sentence):
            # A character has at most four bytes.
            step = OVERLAP if word.isascii() else OVERLAP // 4
            yield from (word[start : start + step] for start in range(0, len(word), step))


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
