"""Which time a question asks for, and whether a text says one, or that something is no longer as it was."""

from __future__ import annotations

import re
from enum import Enum, auto

from retrieval.feasts import NAME as FEAST
from retrieval.months import MONTH
from retrieval.weekdays import NAME as DAY

_ASKS = re.compile(
    r"\bwhen\b|\bhow long\b|\bsince when\b|\b(?:what|which)\s+(?:date|day|week|month|season|year|time)\b", re.IGNORECASE
)
_SAYS = re.compile(
    r"""\b(?:
        (?:yester|to)day|tomorrow|tonight|ago|since|recently|lately
      | (?:last|next|this|past|every)\s\w+
      | (?:day|week|weekend|month|year|morning|afternoon|evening|night|summer|winter|spring|autumn)s?
      | (?:mon|tues|wednes|thurs|fri|satur|sun)days?
      | (?:january|february|march|april|may|june|july|august|september|october|november|december)
      | (?:19|20)\d\d | \d{1,2}(?:st|nd|rd|th) | \d{1,2}(?::\d\d)?\s?[ap]m
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)

_CHANGED = re.compile(
    r"""\b(?:
        now | since | no\ longer | any\ ?more | instead | from\ now\ on | ha(?:s|ve)\ a\ new
      | (?:switch|mov|chang|replac|rais|lower|clos|extend|postpon)ed | extension
      | took\ over | gave\ up | given\ up | put\ (?:back|off)
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)

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
    r"""\b(?:was|were|did|had|used)\b
      | \A\W*(?:who|what)\s+(?:\w+ed|took|led|drove|wrote|made|ran|won|held|kept|taught|gave|sold|bought|built)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_IS = re.compile(r"\b(?:is|are|am|do|does|now|today|current(?:ly)?)\b", re.IGNORECASE)
_WANTS = re.compile(r"\b(?:wh(?:at|ich|o(?:se|m)?|ere|en|y)|how)\b", re.IGNORECASE)
# As a note has it that was written while it was so.
_THEN = ((r"\bwas\b", "is"), (r"\bwere\b", "are"), (r"\bdid(?=\s+(?:i|we|you|they)\b)", "do"), (r"\bdid\b", "does"))
_WRITTEN_THEN = [(re.compile(was, re.IGNORECASE), then) for was, then in _THEN]
_TELLS_PAST = re.compile(
    r"\b(?:old|former|formerly|previous|previously|earlier|until|before|used\ to|no\ longer|instead|from\b.*\bto)\b",
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
    if _WANTS.search(question) is None or _WAS.search(question) is None or _IS.search(question) is not None:
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
    return re.sub(r"\s+(?=\W*$)", "", question)


def asks_when(question: str) -> bool:
    """Tell whether the question wants a date, a time or a duration.

    >>> asks_when("When did Ada move?"), asks_when("What did Ada say?")
    (True, False)
    """
    return _ASKS.search(question) is not None


def says_when(text: str) -> bool:
    """Tell whether the text names a time, absolute or relative.

    >>> says_when("We moved last week"), says_when("We moved")
    (True, False)
    """
    return _SAYS.search(text) is not None


def tells_the_past(text: str) -> bool:
    """Tell whether a text says what was, beside what is.

    >>> tells_the_past("The rate was 60 until March"), tells_the_past("The rate is 60")
    (True, False)
    """
    return _TELLS_PAST.search(text) is not None


def says_change(text: str) -> bool:
    """Tell whether the text says that something is no longer as it was.

    >>> says_change("The office has moved to Graz"), says_change("The office is in Graz")
    (True, False)
    """
    return _CHANGED.search(text) is not None
