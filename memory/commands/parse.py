"""From a sentence to what it asks for, by patterns: no model, and the same answer every time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from memory.commands.grammar import ASKING_START, PATTERNS, POLITE_END, POLITE_START, TOLD_END, Kind, Pattern, Target
from memory.texts.scripts import UNSPACED, as_indexed, words

# From here on a sentence is taken at its word; from the second on it is asked what it meant.
SURE = 0.8
LIKELY = 0.5
# No sentence that gives an order is longer; what is to be remembered may be.
LONGEST_ORDER = 400

_LONGEST_END = 60
# What says "remember" without "that" or a colon is less plain, and may as well be a question.
_PLAIN = 0.9
# What keyboards write for an apostrophe, and those of Chinese, Japanese, Arabic and Hindi for punctuation, is one to
# the patterns, and stays as it is in a subject.
_TYPED = str.maketrans(
    "\u2018\u2019\u02bc\uff07\uff1a\uff1f\u061f\uff01\uff0c\u060c\u3001\uff1b\u061b\u3002\uff0e\u06d4\u0964",
    "'''':??!,,,;;....",
)
_NO_BLANK = re.compile(r"\S")

_ORDINALS = {
    "first": 1,
    "second": 2,
    "third": 3,
    "fourth": 4,
    "fifth": 5,
    "sixth": 6,
    "seventh": 7,
    "eighth": 8,
    "ninth": 9,
    "tenth": 10,
    "last": -1,
}
_NUMBER = re.compile(r"\d{1,2}")
# Nobody is found by these words: "what do you know about me?" asks for everything there is.
_ME = frozenset({"me", "myself", "us"})


@dataclass(frozen=True, slots=True)
class Intent:
    """What a sentence asks for. `confidence` is in [0, 1]; `subject` are the words after the order, as they were said.

    `place` counts from 1 in the last list, -1 is its last; it is set where `target` is `place`, `id` where that is
    `id`. `several` is true where it asks for whatever there is: everything, all of them, my notes about it.
    """

    kind: Kind
    confidence: float = 0.0
    target: Target = "nothing"
    subject: str = ""
    place: int | None = None
    id: UUID | None = None
    several: bool = False


NONE = Intent("none")


def parse(text: str) -> Intent:
    """Return what a sentence asks for; `none` with confidence 0 when it gives no order that is known.

    >>> parse("Please forget what I said about the bakery.").subject
    'the bakery'
    >>> parse("I forgot my keys").kind
    'none'
    """
    line = _line(text)
    plain = line.translate(_TYPED)
    start, end = _order(plain)
    told = _told(plain, start)
    for pattern in PATTERNS if start < end else ():
        if pattern.kind == "remember":
            found = pattern.words.fullmatch(plain, start, told)
            if found is not None and not _asks(pattern, found):
                return Intent("remember", pattern.confidence, "text", _as_said(text, line, *found.span("subject")))
        elif end - start <= LONGEST_ORDER and (found := pattern.words.fullmatch(plain, start, end)):
            intent = _intent(pattern, found, line)
            return _wondered(intent) if _wonders(plain, start, end) else intent
    return NONE


def _wonders(plain: str, start: int, end: int) -> bool:
    """Tell whether somebody only wonders: "forget that?" does, "could you forget that?" and "forget that, ok?" ask."""
    return plain[end:].strip(" .!") in {"?", "??", "???"} and ASKING_START.search(plain, 0, start) is None


def _wondered(intent: Intent) -> Intent:
    """Return what is made of an intent that may be none: what changes something is asked about, and a yes is no yes."""
    if intent.kind == "confirm":
        return NONE
    return replace(intent, confidence=min(intent.confidence, LIKELY)) if intent.kind in {"forget", "undo"} else intent


_HELP = re.compile(
    r"help(?: me)?|commands|(?:list|show)(?: me)? (?:all |the |your )*commands"
    r"|(?:what|which) (?:can|do) (?:you|i) (?:do|say|know)(?: here)?|(?:what|which) commands (?:are there|do you know)",
    re.IGNORECASE,
)


def asks_for_help(text: str) -> bool:
    """Tell whether a sentence asks which orders there are.

    >>> asks_for_help("Help!"), asks_for_help("Help me with the taxes")
    (True, False)
    """
    return len(text) <= LONGEST_ORDER and _HELP.fullmatch(bare(text)) is not None


def bare(text: str) -> str:
    """Return a sentence without what is said around an order: greetings, politeness, the full stop."""
    line = _line(text)
    start, end = _order(line.translate(_TYPED))
    return line[start:end]


def _line(text: str) -> str:
    return " ".join(text.split()) if len(text) <= LONGEST_ORDER else text.strip()


def _order(plain: str) -> tuple[int, int]:
    """Return where the order begins in a line, and where it ends."""
    start, end = 0, len(plain)
    for _ in range(4):
        was = (start, end)
        if begun := POLITE_START.match(plain, start, end):
            start = begun.end()
        # The end alone is looked at: a search through a long text full of blanks takes the square of its length.
        if ended := POLITE_END.search(plain, max(end - _LONGEST_END, start), end):
            end = ended.start()
        inner = plain[start:end]
        start, end = start + len(inner) - len(inner.lstrip()), start + len(inner.rstrip())
        if start >= end or (start, end) == was:
            break
    return start, max(start, end)


def _told(plain: str, start: int) -> int:
    """Return where in a line ends what is to be remembered, of which nothing must be lost but how it was asked for."""
    end = len(plain)
    for _ in range(4):
        ended = TOLD_END.search(plain, max(end - _LONGEST_END, start), end)
        if ended is None:
            break
        end = ended.start()
    if ASKING_START.search(plain, 0, start):
        end = start + len(plain[start:end].rstrip("? "))
    return end - 1 if plain[start:end].endswith(".") and not plain[start:end].endswith("..") else end


def _asks(pattern: Pattern, found: re.Match[str]) -> bool:
    """Tell whether it is a question: "Remember my birthday?" asks, and so does "remember that song?"."""
    if found.string[-1] != "?":
        return False
    if pattern.confidence < _PLAIN:
        return True
    order = found.string[: found.start("subject")].rstrip()
    return found[0][-1] == "?" and order[-1] not in ":," and len(found[0]) <= LONGEST_ORDER


def _as_said(text: str, line: str, start: int, end: int) -> str:
    """Return a part of a line with the blanks and line breaks that the text has there."""
    if len(text) > LONGEST_ORDER:
        return line[start:end].strip()
    places = [each.start() for each in _NO_BLANK.finditer(text)]
    before, within = (len(_NO_BLANK.findall(line, *span)) for span in ((0, start), (start, end)))
    return text[places[before] : places[before + within - 1] + 1]


def _intent(pattern: Pattern, found: re.Match[str], line: str) -> Intent:
    kind, confidence, target, said = pattern.kind, pattern.confidence, pattern.target, found.groupdict()
    if (place := said.get("place")) is not None:
        return Intent(kind, confidence, "place", place=_place(place))
    if (named := said.get("id")) is not None:
        return Intent(kind, confidence, "id", id=UUID(named))
    subject = line[slice(*found.span("subject"))].strip() if said.get("subject") else ""
    if target in {"about", "text"} and not subject:
        return NONE
    if kind == "recall" and subject.casefold() in _ME:
        target, subject = "everything", ""
    several = target in {"all", "everything"} or said.get("several") is not None
    return Intent(kind, confidence, target, subject, several=several)


def _place(word: str) -> int:
    if number := _NUMBER.search(word):
        return int(number.group())
    return next((value for name, value in _ORDINALS.items() if name in word.lower()), -1)


def words_of(subject: str) -> Sequence[str]:
    """Return the words of a subject that say what it is about, in lower case and without their commonest endings."""
    said = (word.casefold() for _, word in words(as_indexed(_SHORTENED.sub("", subject))))
    return [_root(word) for word in said if word not in _EMPTY]


def _root(word: str) -> str:
    for ending in ("ing", "ies", "ied", "es", "ed", "s", "e", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word


def speaks_of(text: str, subject: str) -> bool:
    """Tell whether a text has every word that says what the subject is about; never if none of them says anything.

    >>> speaks_of("Ada is allergic to hazelnuts.", "my hazelnut allergies")
    False
    >>> speaks_of("The bakery on Mill Lane closes on Mondays.", "the bakery closing")
    True
    """
    wanted = set(words_of(subject))
    return bool(wanted) and wanted <= _there(text, wanted)


def share_of(text: str, subject: str) -> float:
    """Return how much of what a subject says a text has, in [0, 1]; words count that begin alike.

    >>> share_of("Ada is allergic to hazelnuts.", "my hazelnut allergies")
    1.0
    >>> share_of("No coffee after 14:00.", "I drink my tea without sugar")
    0.0
    """
    wanted = set(words_of(subject))
    there = _there(text, wanted)
    return sum(any(_alike(word, other) for other in there) for word in wanted) / len(wanted) if wanted else 0.0


def _there(text: str, wanted: Iterable[str]) -> set[str]:
    """Return the words of a text, and those that are `wanted` and stand in it where its script has no blanks."""
    said = as_indexed(text).casefold()
    return {*words_of(text), *(word for word in wanted if UNSPACED.match(word) and word in said)}


def _alike(one: str, other: str) -> bool:
    shorter, longer = sorted((one, other), key=len)
    return one == other or (len(shorter) >= _LONG_ENOUGH and longer.startswith(shorter))


# Beginnings of fewer letters are those of other words too.
_LONG_ENOUGH = 5
_SHORTENED = re.compile(r"['\u2019](?:s|m|re|ve|ll|d)\b", re.IGNORECASE)
_EMPTY = frozenset(
    re.findall(
        r"\w+",
        """a about all am an and any anything are as at be been but by can could did do does ever every everything
        for from had has have he her him his how i if in into is it its just me mine my not of on or our said say
        saying she so some something than that the their them then there these they thing things this those to told
        us was we were what whatever when where which who will with would you your""",
    )
)
