"""Normal form and 64-bit SimHash of a memory's text.

The normal form decides what counts as the same words; the SimHash finds near-duplicates by index.
Charikar, "Similarity estimation techniques from rounding algorithms", 2002; Manku, Jain and Das Sarma,
"Detecting near-duplicates for web crawling", 2007.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise

import numpy as np

from memory.texts.addresses import ADDRESS, fold_case
from memory.texts.scripts import WORD, compatible, normal

NEAR = 3  # the largest Hamming distance at which two texts are near-duplicates

_BITS = 64
_MASK = (1 << _BITS) - 1
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_CITATION = re.compile(
    rf"""
      \[ [1-9]\d{{0,2}} (?:\s?[,;\u2013-]\s?[1-9]\d{{0,2}}){{0,20}} \]  # [1], [12, 13], [2-4]; not [0]
    | \[ \^ [\w-]{{1,40}} \]                                          # [^3], [^note]
    | 【 [^【】]{{0,60}} 】                                            # 【4†source】
    | \( (?!{_MONTH}\b) [^\W\d_][\w'\u2019-]{{1,40}}  # (Smith et al., 2020), not (May, 2020)
      (?: \s et\s al\.? | \s (?:and|&) \s [^\W\d_][\w'\u2019-]{{1,40}} | (?=,) )
      ,? \s (?:19|20)\d\d [a-z]? \)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_BRACKETS = re.compile(r"[()\[\]【】]")
_PASSES = 8


def normalise(text: str) -> str:
    """Return the text in lower case, `compatible`, without links and citations, white space folded to one space.

    Idempotent. Removing one citation may leave another (`[1, [2] 3]`), so passes repeat until nothing
    changes; after eight, which only hostile nesting needs, every bracket goes, to keep the cost linear.
    """
    for _ in range(_PASSES):
        cleaned = _pass(text)
        if cleaned == text:
            return cleaned
        text = cleaned
    return _pass(_BRACKETS.sub(" ", text))


def without_references(text: str) -> str:
    """Return the text with each link and citation replaced by a space; case and white space stay."""
    return _CITATION.sub(" ", ADDRESS.sub(" ", text))


def _pass(text: str) -> str:
    return " ".join(without_references(compatible(text.lower())).split())


def folded(text: str) -> str:
    """Return the text in NFKC, without case, white space folded to one space: all that an exact repeat may change.

    The path of an address keeps its case.
    """
    return " ".join(fold_case(normal("NFKC", text)).split())


def folded_digest(text: str) -> bytes:
    """Return 16 bytes that stand for a folded text."""
    return blake2b(text.encode(), digest_size=16).digest()


def text_digest(text: str) -> bytes:
    """Return 16 bytes that are equal for texts that differ in case and white space at most."""
    return folded_digest(folded(text))


def growing_digests(parts: Iterable[str]) -> Iterator[bytes]:
    """Yield the `folded_digest` of the first part, of the first two with a space between them, and so on.

    Takes as long as the last of them alone.
    """
    state = blake2b(digest_size=16)
    for number, part in enumerate(parts):
        state.update(f" {part}".encode() if number else part.encode())
        yield state.digest()


def simhash64(normalised: str) -> int:
    """Return the unsigned 64-bit SimHash of a normalised text; 0 for the empty text.

    Features are words and pairs of neighbouring words, weighted by how often they occur; each feature's hash
    is its 8-byte BLAKE2b. Bit i is set where the features with that bit outweigh those without. A text of no
    words (emoji, punctuation) is cut at white space instead, or all of those would share one hash.
    """
    words = WORD.findall(normalised) or normalised.split()
    if not words:
        return 0
    weights = Counter(words)
    weights.update(f"{left} {right}" for left, right in pairwise(words))
    digests = np.frombuffer(b"".join(map(_digest, weights)), dtype=np.uint8).reshape(-1, _BITS // 8)
    counts = np.fromiter(weights.values(), dtype=np.int64, count=len(weights))
    votes = counts @ np.unpackbits(digests, axis=1)
    return int.from_bytes(np.packbits(2 * votes > counts.sum()).tobytes(), "big")


@lru_cache(maxsize=1 << 16)
def _digest(feature: str) -> bytes:
    return blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def hamming(a: int, b: int) -> int:
    """Return the number of bits, 0 to 64, in which two hashes differ; signed or unsigned."""
    return ((a ^ b) & _MASK).bit_count()


def bands(h: int) -> tuple[int, int, int, int]:
    """Return the four 16-bit bands of a hash, most significant first, each in [0, 65535].

    Pigeonhole: at most three differing bits touch at most three of the four bands, so two hashes at a
    distance of 3 or less agree in at least one band. Looking up each band by equality therefore misses no
    near-duplicate, and `hamming` then drops the chance matches.
    """
    return (h >> 48 & 0xFFFF, h >> 32 & 0xFFFF, h >> 16 & 0xFFFF, h & 0xFFFF)


def to_signed(h: int) -> int:
    """Return an unsigned hash as the two's-complement value that a PostgreSQL bigint holds."""
    return h - (1 << _BITS) if h >> (_BITS - 1) else h


def from_signed(value: int) -> int:
    """Return the unsigned hash behind a bigint; inverse of `to_signed`."""
    return value & _MASK
