"""Words that one writes joined and another apart: "followup" and "follow-up", "nodejs" and "Node.js", "you tube"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from retrieval.words.passage import EMPTY

# Shorter words are part of too many others, longer ones of none.
_LEAST, _LONGEST = 3, 30
# Initials are so many letters.
_INITIALS = 4
_CHAIN = re.compile(
    r"(?<![\w.@/+-])[^\W\d_]+(?:[-.\u2010\u2011][^\W\d_]+|['\u2019][^\W\d_]{3,})+(?![\w@/+]|[-.][^\W_])"
)
_APART_INITIALS = re.compile(r"(?<![\w.-])[^\W\d_](?:\.?\s[^\W\d_]){1,3}(?![\w-])")
# A formation, or the code of a lock: a number of three digits, each by itself.
_DIGITS = re.compile(r"(?<![\w.,'\u2019/:-])\d{3}(?![\w'\u2019/:-]|[.,]\d)")
_DASHED = re.compile(r"(?<![\w.,/:-])\d(?:[-\u2010-\u2013]\d){2}(?![\w/:-]|[.,]\d)")
_WORD = re.compile(r"[^\W\d_]+")
_BEFORE, _AFTER = r"(?<![^\W_])", r"(?:['\u2019]?s)?(?![^\W_])"
_SIGN = r"[-.'\u2019\u2010\u2011]"
_SIGN_OR_BLANK = r"[-.'\u2019\u2010\u2011\s]"
# Words that may stand beside any other.
_SMALL = EMPTY | frozenset(
    """
    above after again against before below between both down during each few further here most off once only other out
    over own same such through too under until up very while
    """.split()  # noqa: SIM905  # A list of thirty quoted words cannot be read.
)


@dataclass(frozen=True, slots=True)
class Otherwise:
    """Something in a question that may be written joined or apart: `forms` for the index, `pattern` for a text.

    Of the forms a text has one as a whole, or `by_parts` parts of it; where there are `pairs`, both words of one of
    them. The pattern is not compiled, as most are never used: that would take longer than to look for the forms.
    """

    start: int
    asked: str
    forms: str
    pattern: str
    by_parts: bool = False
    pairs: tuple[tuple[str, str], ...] = ()


def apart(start: int, word: str, *, by_blanks: bool) -> Otherwise | None:
    """Return how one word may be written in two, or as initials; None for one that is too short or too long.

    Two words that only happen to stand side by side are one with `by_blanks`.

    >>> re.search(apart(0, "followup", by_blanks=False).pattern, "two follow-ups")[0]
    'follow-ups'
    """
    if not _LEAST <= len(word) <= _LONGEST:
        return None
    low = word.lower()
    core = _singular(low)
    forms = [f"{low[:place]}{sign}{low[place:]}" for place in range(1, len(core)) for sign in "-."]
    halves = [(core[:place], core[place:]) for place in range(1, len(core))]
    pairs = tuple(each for each in halves if by_blanks and _may_stand_alone(*each))
    patterns = [f"{one}{_SIGN_OR_BLANK if (one, other) in pairs else _SIGN}{other}" for one, other in halves]
    initials = word.isupper() and len(word) <= _INITIALS
    if initials:
        forms += [".".join(low), " ".join(low)]
        patterns += [r"\.\s?".join(low) + r"\b\.?", r"\s".join(low)]
        pairs = ()
    by_parts = bool(pairs) or initials
    return Otherwise(start, word, " ".join(forms), _whole("|".join(patterns)), by_parts, pairs)


def _may_stand_alone(one: str, other: str) -> bool:
    """Tell whether two words that stand side by side may be one: "air fryer", but no "in a" and no "August in"."""
    return len(other) > 1 and _SMALL.isdisjoint((one, other))


def joined(question: str, known: frozenset[str]) -> Iterator[Otherwise]:
    """Give what is written apart in a question and may be one word, by signs, as initials or by a blank, and digits.

    By a blank only where one of the two words is none of the `known`, in lower case.

    >>> [each.asked for each in joined("Is J. R. R. Tolkien on you-tube or in my note book?", frozenset({"book"}))]
    ['you-tube', 'J. R. R', 'note book']
    """
    for found in (*_CHAIN.finditer(question), *_APART_INITIALS.finditer(question)):
        yield from _as_one(found.start(), found[0])
    yield from _digits(question)
    for one, other in pairwise(_WORD.finditer(question)):
        words = (one[0].lower(), other[0].lower())
        between = question[one.end() : other.start()]
        if between == " " and _SMALL.isdisjoint(words) and not known.issuperset(words):
            yield from _as_one(one.start(), question[one.start() : other.end()])


def _digits(question: str) -> Iterator[Otherwise]:
    for found in _DIGITS.finditer(question):
        dashed = "[-\u2010-\u2013]".join(found[0])
        pattern = rf"(?<![-\u2010-\u2013]){_whole(dashed)}(?![-\u2010-\u2013]\d)"
        yield Otherwise(found.start(), found[0], "-".join(found[0]), pattern, by_parts=True)
    for found in _DASHED.finditer(question):
        digits = "".join(filter(str.isdigit, found[0]))
        yield Otherwise(found.start(), found[0], digits, rf"(?<![\w.,-]){digits}(?![\w-]|[.,]\d)")


def _as_one(start: int, asked: str) -> Iterator[Otherwise]:
    letters = "".join(_WORD.findall(asked))
    if _LEAST <= len(letters) <= _LONGEST:
        yield Otherwise(start, asked, letters.lower(), _whole(_singular(letters.lower())))


def _singular(word: str) -> str:
    return word.removesuffix("s") if len(word) > _LEAST + 1 else word


def _whole(pattern: str) -> str:
    return f"{_BEFORE}(?:{pattern}){_AFTER}"
