"""Days of the week, and weekends: which one a question means, and which ones a text speaks of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise

from retrieval.days.closely import finds

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
WEEKEND, _WEEK = DAYS.index("saturday"), timedelta(days=7)
NAME = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
WHICH = "last|past|this|next|coming"
# Short names are words too: they mean a day beside another, or before an hour.
_SHORT = "Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun"
_TO = r"(?:\s*(?:[\u2013-]|\b(?:to|till|until|through)\b)\s*)"
_SAID = re.compile(
    rf"""(?<!\w)(?:(?i:(?P<each>every|each|an?|any|most|alternate|first|second|third|fourth|fifth|[1-5](?:st|nd|rd|th))
       | (?P<which>{WHICH}))\s+)?
    (?P<name>(?i:{NAME}|weekend)(?P<many>s\b)?
      | \b(?:{_SHORT})\b(?=\.?(?:\s*[/,&+]\s*[A-Z]|{_TO}[A-Z]|\s+\d))
      | (?:(?<=[/&+\u2013-])|(?<=[/&+\u2013-]\s))(?:{_SHORT})\b)
    (?![\w])""",
    re.VERBOSE,
)
_PLACES = re.compile(rf"day|weekend|{_SHORT.lower()}")
_FROM_TO = re.compile(rf"\.?{_TO}")
_OF_EACH = re.compile(r"\s+of\s+(?:the|each|every)\s+month", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class NamedWeekday:
    """A day of the week that a text names from `start` to `end`; `which` is "last", "next" and the like, or "".

    `weekday` is from 0, Monday, on. `weekly` says that none is meant alone, `weekend` that it is one with the Sunday
    behind it.
    """

    start: int
    end: int
    weekday: int
    which: str = ""
    weekly: bool = False
    weekend: bool = False


def day_of(weekday: int, today: date, which: str, *, weekend: bool = False, gone: bool = False) -> date:
    """Return the first day that is meant by a day of the week, or a weekend, and "last", "this", "next" or "".

    The next one is that of the next week, and "last Friday" the latest before today. Without a word it is of the seven
    days ahead, or behind where the question asks for what is `gone`: who means today says so. Raises `OverflowError`
    beyond the calendar.
    """
    beginning = today - timedelta(days=today.weekday())
    of_this_week = beginning + timedelta(days=weekday)
    if which == "next":
        return of_this_week + _WEEK
    if weekend:
        before = which in {"last", "past"} or (gone and of_this_week > today)
        return of_this_week - _WEEK if before else of_this_week
    if which == "this" and of_this_week >= today:
        return of_this_week
    if which in {"last", "past"} or gone:
        return today - timedelta(days=(today.weekday() - weekday - 1) % 7 + 1)
    return today + timedelta(days=(weekday - today.weekday() - 1) % 7 + 1)


def said_in(text: str) -> Iterator[NamedWeekday]:
    """Give the days of the week that a text names.

    >>> [(each.weekday, each.weekly) for each in said_in("Dentist on Tuesday, choir on Mondays, open Wed-Fri 9 to 12")]
    [(1, False), (0, True), (2, True), (4, True), (3, True)]
    """
    found = list(finds(_SAID, text, _PLACES))
    for each in found:
        name = each["name"].lower()
        weekend = name.startswith("weekend")
        weekly = bool(each["each"] or each["many"]) or len(name) < len("monday") or _OF_EACH.match(text, each.end())
        weekday = WEEKEND if weekend else _index(name)
        yield NamedWeekday(*each.span(), weekday, (each["which"] or "").lower(), bool(weekly), weekend)
    for one, other in pairwise(found):
        if _FROM_TO.fullmatch(text, one.end(), other.start()):
            first, last = _index(one["name"].lower()), _index(other["name"].lower())
            yield from (
                NamedWeekday(one.start(), other.end(), (first + each) % 7, weekly=True)
                for each in range(1, (last - first) % 7)
            )


def lexemes_of(weekday: int) -> list[str]:
    """Return the lexemes by which a text may name a day of the week.

    >>> lexemes_of(1)
    ['tuesday', 'tue']
    """
    name = DAYS[weekday]
    return [name, name[:3], *["thur"] * (name == "thursday")]


def _index(name: str) -> int:
    return next(place for place, each in enumerate(DAYS) if each.startswith(name[:3]))
