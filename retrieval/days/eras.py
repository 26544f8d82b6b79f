"""Whether a question asks for what is, for what was before, or for what was at first."""

from __future__ import annotations

import re
from enum import Enum, auto

from retrieval.days.feasts import NAME as FEAST
from retrieval.days.months import MONTH
from retrieval.days.tense import VERB
from retrieval.days.weekdays import NAME as DAY

_WHOSE = r"(?P<whose>\b(?:the|my|our|your|his|her|its|their|\w+['\u2019]s)\s+)"
# "The year before" is another time, and "what did Ada use to cook" asks for a thing.
_UNITS = "".join(rf"(?<!\b{each}\s)" for each in ("day", "night", "time", "week", "month", "quarter", "season", "year"))
_BEFORE = re.compile(
    rf"""{_WHOSE}(?:old|former|previous|earlier)\b\s*
      | \b(?:formerly|previously|back\ then|(?<!\bis\s)used\ to)\b\s*
      | \buse\ to(?=\s+(?:be|have|live|work|go|own|drive|attend|meet)\b)\s*
      | {_UNITS}\bbefore(?:\s+(?:that|then|this|(?!{MONTH}|{DAY}|{FEAST})(?-i:[A-Z])[\w'\u2019-]*))?(?=\W*$)""",
    re.IGNORECASE | re.VERBOSE,
)
_FIRST = re.compile(rf"{_WHOSE}(?:original|initial)\b\s*|\b(?:originally|initially|at first)\b\s*", re.IGNORECASE)
# The first of several is no version of the others.
_ORDINAL = re.compile(rf"{_WHOSE}first\b", re.IGNORECASE)
_WAS = re.compile(
    rf"""\b(?:was|were|did|had|used)\b | \A\W*(?:who|what)\s+{VERB}\b""",
    re.IGNORECASE | re.VERBOSE,
)
# A question for what is as well: "Where do I live, and where was I before?"
_IS = re.compile(r"\b(?:is|are|am|now|today|current(?:ly)?)\b|\A(?!.*\bdid\b).*\b(?:do|does)\b", re.IGNORECASE)
# "Who is our former GP?" is he no more; the old one may be.
_NO_MORE = re.compile(rf"\b(?:is|are)\s+{_WHOSE}(?:former|previous|earlier|original|initial)\b", re.IGNORECASE)
_WANTS = re.compile(r"\b(?:wh(?:at|ich|o(?:se|m)?|ere|en|y)|how)\b", re.IGNORECASE)
# How a note says it that was written while it was so.
_THEN = ((r"\bwas\b", "is"), (r"\bwere\b", "are"), (r"\bdid(?=\s+(?:i|we|you|they)\b)", "do"), (r"\bdid\b", "does"))
_WRITTEN_THEN = [(re.compile(was, re.IGNORECASE), then) for was, then in _THEN]
_WORD = re.compile(r"\w+")
_TELLS_PAST = re.compile(
    r"\b(?:old|former(?:ly)?|previous(?:ly)?|earlier|until|before|used to|no longer|instead|from\b.{0,60}\bto)\b",
    re.IGNORECASE,
)


class Era(Enum):
    """When what a question asks for holds, or held: now, before that, or at first."""

    NOW = auto()
    BEFORE = auto()
    FIRST = auto()


def era_of(question: str) -> Era | None:
    """Return when what a question asks for holds; None where that cannot be told.

    "My old bike" may be what one has, but what it was is asked for in the past tense.

    >>> [era_of(f"{each}?") for each in ("What is my rate", "What was my old rate", "What was our original plan")]
    [<Era.NOW: 1>, <Era.BEFORE: 2>, <Era.FIRST: 3>]
    >>> [era_of(f"{each}?") for each in ("Where is the old printer", "Has she won before", "When was the first lesson")]
    [None, None, None]
    """
    first, before = (each.search(question) is not None for each in (_FIRST, _BEFORE))
    if not first and not before:
        return Era.NOW if _ORDINAL.search(question) is None else None
    past = _WAS.search(question) is not None and _IS.search(question) is None
    if _WANTS.search(question) is None or not (past or _NO_MORE.search(question)):
        return None
    return Era.FIRST if first else Era.BEFORE


def as_asked_then(question: str) -> str:
    """Return a question for what was as one that a note of that time answers.

    >>> [as_asked_then(f"{each}?") for each in ("What was my old rate", "What did I own before")]
    ['What is my rate?', 'What do I own?']
    """
    for pattern in (_FIRST, _BEFORE):
        question = pattern.sub(lambda found: found.groupdict().get("whose") or "", question)
    for was, then in _WRITTEN_THEN:
        question = was.sub(then, question)
    said = max((word.end() for word in _WORD.finditer(question)), default=0)
    return question[:said] + "".join(question[said:].split())


def tells_the_past(text: str) -> bool:
    """Tell whether a text says what was, beside what is.

    >>> tells_the_past("The rate was 60 until March"), tells_the_past("The rate is 60")
    (True, False)
    """
    return _TELLS_PAST.search(text) is not None
