"""Days of the week, and weekends: which one a question means, and which ones a text speaks of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import pairwise

from retrieval.days.closely import finds

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
WEEKEND, _WEEK = DAYS.index("saturday"), timedelta(days=7)
NAME = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
WHICH = "last|past|this|next|coming"
# Short names are words too: they mean a day beside another, or before an hour.
_SHORT = "Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun"
# "Two weeks from Friday" is not of that Friday.
_NO_COUNT = r"(?<!\bweeks\sfrom\s)(?<!\bweek\sfrom\s)(?<!\bweeks\son\s)(?<!\ba\sweek\son\s)(?<!\bone\sweek\son\s)"
_TO = r"(?:\s*(?:[\u2013-]|\b(?:to|till|until|through)\b)\s*)"
_SAID = re.compile(
    rf"""(?<!\w){_NO_COUNT}(?:(?i:(?P<each>every|each|an?|any|most|alternate|first|second|third|fourth|fifth|[1-5](?:st|nd|rd|th))
       | (?P<which>{WHICH}))\s+)?
    (?P<name>(?i:{NAME}|weekend)(?P<many>s\b)?
      | \b(?:{_SHORT})\b(?=\.?(?:\s*[/,&+]\s*[A-Z]|{_TO}[A-Z]|\s+\d))
      | (?:(?<=[/&+\u2013-])|(?<=[/&+\u2013-]\s))(?:{_SHORT})\b)
    (?!\w|\s+week\b(?!\s*\d))(?i:,?\s+(?:of\s+)?(?P<week>last|this|next)\s+week\b)?""",
    re.VERBOSE,
)
_HAS_SHORT = re.compile(rf"(?:{_SHORT})\b")
# A short name in a question is one behind these, and before these.
_LEADS = "on|by|until|till|before|after|next|last|this|coming|from|to|and|or|between|since|for|due"
_SHORT_ASKED = re.compile(
    rf"""(?P<lead>\A\W*|(?i:\b(?:{_LEADS})\s+)|[/&\u2013-]\s*)(?P<name>{_SHORT})\b\.?
    (?=\s*(?:\Z|[?!,;/&\u2013-]|(?:the\s+)?\d|(?:and|or|to|till|until|through|next|last|this|of|morning|evening)\b))""",
    re.VERBOSE,
)
# Both days of a range are of the week that is told behind it.
_RANGE = re.compile(
    rf"\b(?P<one>{NAME})(?:\s*[\u2013-]\s*|(?P<to>\s+(?:to|till|until|through|and|or)\s+))(?P<other>{NAME})"
    r"(?P<week>,?\s+(?:of\s+)?(?:last|this|next)\s+week\b)?",
    re.IGNORECASE,
)
_PLACES = re.compile(rf"day|weekend|{_SHORT.lower()}")
_FROM_TO = re.compile(rf"\.?{_TO}")
_OF_EACH = re.compile(r"\s+of\s+(?:the|each|every)\s+month", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class NamedWeekday:
    """A day of the week that a text names from `start` to `end`; `which` is "last", "next" and the like, or "".

    `weekday` is from 0, Monday, on. `weekly` says that none is meant alone, `weekend` that it is one with the Sunday
    behind it, `week` that `which` is of the week, as in "Tuesday next week".
    """

    start: int
    end: int
    weekday: int
    which: str = ""
    weekly: bool = False
    weekend: bool = False
    week: bool = False


def day_of(
    weekday: int, today: date, which: str, *, weekend: bool = False, gone: bool = False, week: bool = False
) -> date:
    """Return the first day that is meant by a day of the week, or a weekend, and "last", "this", "next" or "".

    The next one is that of the next week, and "last Friday" the latest before today, unless `which` is of the `week`:
    "Friday last week". Without a word it is of the seven
    days ahead, or behind where the question asks for what is `gone`: who means today says so. Raises `OverflowError`
    beyond the calendar.
    """
    beginning = today - timedelta(days=today.weekday())
    of_this_week = beginning + timedelta(days=weekday)
    if which == "next":
        return of_this_week + _WEEK
    if week:
        return of_this_week - _WEEK if which == "last" else of_this_week
    if weekend:
        before = which in {"last", "past"} or (gone and of_this_week > today)
        return of_this_week - _WEEK if before else of_this_week
    if which == "this" and of_this_week >= today:
        return of_this_week
    if which in {"last", "past"} or gone:
        return today - timedelta(days=(today.weekday() - weekday - 1) % 7 + 1)
    return today + timedelta(days=(weekday - today.weekday() - 1) % 7 + 1)


def with_names(question: str) -> str:
    """Return a question in which days of the week have their names, and each its week, where two share one.

    >>> with_names("What is due Mon-Wed next week, and on Fri the 22nd?")
    'What is due Monday next week to Wednesday next week, and on Friday the 22nd?'
    """
    if _HAS_SHORT.search(question) is not None:
        question = _SHORT_ASKED.sub(
            lambda found: f"{found['lead']}{DAYS[_index(found['name'].lower())].capitalize()}", question
        )
    if "day" not in question.lower():
        return question
    return _RANGE.sub(
        lambda found: (
            f"{found['one']}{found['week'] or ''}{found['to'] or ' to '}{found['other']}{found['week'] or ''}"
        ),
        question,
    )


def said_in(text: str) -> Iterator[NamedWeekday]:
    """Give the days of the week that a text names.

    >>> [(each.weekday, each.weekly) for each in said_in("Dentist on Tuesday, choir on Mondays, open Wed-Fri 9 to 12")]
    [(1, False), (0, True), (2, True), (4, True), (3, True)]
    """
    said = list[NamedWeekday]()
    for each in finds(_SAID, text, _PLACES):
        name = each["name"].lower()
        weekend = name.startswith("weekend")
        short = len(name) < len("monday") and not _is_at_an_hour(text, each)
        weekly = short or bool(each["each"] or each["many"] or _OF_EACH.match(text, each.end()))
        weekday = WEEKEND if weekend else _index(name)
        which = (each["week"] or each["which"] or "").lower()
        said.append(NamedWeekday(*each.span(), weekday, which, weekly, weekend, week=each["week"] is not None))
    for place, (one, other) in enumerate(pairwise([*said])):
        if _FROM_TO.fullmatch(text, one.end, other.start):
            # "From Monday to Wednesday next week" is all of that week.
            first = replace(one, which=other.which, week=True) if other.week and not one.which else one
            said[place], reach = first, replace(first, end=other.end, weekly=one.weekly or other.weekly)
            days = range(first.weekday + 1, first.weekday + (other.weekday - first.weekday) % 7)
            said += [replace(reach, weekday=day % 7) for day in days]
    yield from said


def lexemes_of(weekday: int) -> list[str]:
    """Return the lexemes by which a text may name a day of the week.

    >>> lexemes_of(1)
    ['tuesday', 'tue']
    """
    name = DAYS[weekday]
    return [name, name[:3], *["thur"] * (name == "thursday")]


def _is_at_an_hour(text: str, found: re.Match[str]) -> bool:
    """Tell whether a short name of a day stands by itself before a number, as in "dentist Tue 9:30"."""
    beside = text[: found.start()].rstrip()[-1:]
    return text[found.end() :][:3].lstrip(". ")[:1].isdigit() and not (beside and beside in "-\u2013/,&+")


def _index(name: str) -> int:
    return next(place for place, each in enumerate(DAYS) if each.startswith(name[:3]))
