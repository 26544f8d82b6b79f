"""Quick tests of whether two texts may be one memory, which spare the comparison of all their words.

Each may let pass what `memory.texts.difference.compare` keeps apart, and stops nothing that it would let pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import isqrt
from typing import NamedTuple

from memory.texts.difference import FILLERS, MOST_EXTRA_WORDS, Reading
from memory.texts.distinguishing_marks import DATE_MASK, DAYS, LOWER, MONTHS, NUMBER_MASK
from memory.texts.fingerprints import without_references
from memory.texts.scripts import compatible
from memory.texts.signs import exchanged

_SLOT = re.compile(rf"([0-9]+|\b(?:{'|'.join(MONTHS + DAYS)})[a-z]*\b)")
# Of a month or a day of the week so many letters tell which it is.
_TELLING_LETTERS = 3


class Sums(NamedTuple):
    """A bag of words in three numbers: how many there are, the sum of their hashes, and that of their squares."""

    number: int
    plain: int
    squared: int


class Sketch(NamedTuple):
    """What is quickly compared of a text, in the place of all its words."""

    marks: int
    order: int
    words: Sums
    telling: Sums
    addresses: frozenset[str]
    signs: tuple[str, ...]


class Frame(NamedTuple):
    """A text without its figures, months and days of the week, and these as its slots, in their order."""

    text: str
    slots: tuple[str, ...]


def sketch(reading: Reading) -> Sketch:
    """Return what `may_be_one` asks of a text; hashes are those of this process."""
    marks = reading.marks
    return Sketch(
        marks=hash((marks.dates, marks.numbers, marks.negations)),
        order=hash(tuple(reading.words)),
        words=_sums(reading.words),
        telling=_sums(word for word in reading.words if word not in FILLERS),
        addresses=reading.addresses,
        signs=reading.signs,
    )


def _sums(words: Iterable[str]) -> Sums:
    # Whole numbers without a limit, not below 0: what is added to them can be worked out again.
    hashes = [hash(word) % (1 << 64) for word in words]
    return Sums(len(hashes), sum(hashes), sum(each * each for each in hashes))


def may_be_one(stored: Sketch, new: Sketch) -> bool:
    """Tell whether `compare` may find no difference between two texts; False where it finds one.

    Takes as long for pages as for a line, so that a text can be held against hundreds that are nearly alike.
    """
    if stored.marks != new.marks or not new.addresses <= stored.addresses or exchanged(stored.signs, new.signs):
        return False
    if stored.words == new.words and stored.order != new.order:
        return False
    fewer, more = sorted((stored.telling, new.telling))
    return _may_be_added(more.number - fewer.number, more.plain - fewer.plain, more.squared - fewer.squared)


def _may_be_added(number: int, plain: int, squared: int) -> bool:
    """Tell whether adding at most so many words as emphasis needs can have made these differences of `Sums`."""
    if number == 0:
        return plain == squared == 0
    if number == 1:
        return plain * plain == squared
    # Two numbers of this sum and these squares have the root as their difference.
    rest = 2 * squared - plain * plain
    return number == MOST_EXTRA_WORDS and rest >= 0 and isqrt(rest) ** 2 == rest


def frame(text: str) -> Frame:
    """Return the frame of a text, in a seventh of the time that its sketch takes.

    Where two have the same text and other slots, they are not one memory: they tell of other numbers or days, or in
    another order.
    """
    plain = without_references(compatible(text)).translate(LOWER)
    parts = _SLOT.split(plain)
    slots = parts[1::2]
    # "3 May" is "May 3".
    parts[1::2] = [NUMBER_MASK if slot.isdigit() else DATE_MASK for slot in slots]
    return Frame("".join(parts), tuple(map(_slot, slots)))


def _slot(written: str) -> str:
    """Return what is the same for all that marks may take for the same date or number: of a month its beginning."""
    if not written.isdigit():
        return written[:_TELLING_LETTERS]
    number = written.lstrip("0")
    # 12 am is 0 am.
    return "" if number == "12" else number
