"""Parts of the calendar that a question tells by their place: "the end of last month", "late 2025", "on the 30th"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import product

from retrieval.days import weekdays
from retrieval.days.closely import finds, lowered
from retrieval.days.dates import DateHint, hint_of, local, month_start, unit_days, zone_of
from retrieval.days.months import MONTHS, YEAR_TEXT

# Which of them is meant, by how many lie between it and that of now.
_BACK = {"last": 1, "past": 1, "this": 0, "the": 0, "next": -1, "coming": -1}
_WHICH = "|".join(_BACK)
# By the first letters of a part: which share it is, and of how many.
_SHARES = {"ear": (0, 3), "beg": (0, 3), "sta": (0, 3), "mid": (1, 3), "lat": (2, 3), "end": (2, 3)}
_SHARES |= {"fir": (0, 2), "sec": (1, 2)}
_PART = re.compile(
    rf"""\b(?:the\s+)?(?:very\s+)?
    (?:(?P<part>early|mid|late)(?:\s+in)?
      | (?P<part_of>beginning|start|middle|end|rest|remainder|(?:first|second)\s+half)\s+of)
    [\s-]+(?:(?P<which>{_WHICH})\s+(?P<unit>week|month|quarter|year)\b(?!\s+(?:of\b|{YEAR_TEXT}\b))
      | (?:the\s+year\s+)?(?P<year>{YEAR_TEXT})\b)""",
    re.IGNORECASE | re.VERBOSE,
)
_PLACES = re.compile(r"week|month|quarter|year|q[1-4]|(?:19|20)\d\d")
_COUNTS = ("first", "second", "third", "fourth", "last")
# Without its year only where its number says that it is none of a game or an hour.
_QUARTER = re.compile(
    rf"""\b(?:the\s+)?(?:Q(?P<number>[1-4])\b|(?P<count>{"|".join(_COUNTS)})\s+quarter\b(?=\s+of\b))
    (?:,?\s+(?:of\s+)?(?:(?P<which>{_WHICH})\s+year\b(?!\s+{YEAR_TEXT})|(?:the\s+year\s+)?(?P<year>{YEAR_TEXT})\b))?""",
    re.IGNORECASE | re.VERBOSE,
)
# With a noun behind it "the 3rd" is of that, and what was moved "to the 12th" was not then.
_DAY = re.compile(
    r"""\b(?:on|for|from|since)\s+(?P<said>the\s+(?P<day>\d\d?)(?:st|nd|rd|th))
    (?=\s*(?:\Z|[?!.,;:]))""",
    re.IGNORECASE | re.VERBOSE,
)
# Such a day in a note, or in a question for a time alone: "by the 12th", "Friday the 22nd at ten", "on the 1st of each
# month".
_NUMBERED = re.compile(
    rf"""(?:\A\W*(?=(?:the\s+)?\d\d?[a-z]{{2}}\W*\Z)
      | \b(?P<lead>on|by|from|until|till|through|before|after|{weekdays.NAME},?
          |(?-i:Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun)[.,]?)\s+(?=(?:the\s+)?\d)
      | \b(?P<led>for|since|to|between|and|or|of|beginning|commencing|starting)\s+(?=the\s))
    (?P<said>(?:the\s+)?(?P<day>\d\d?)(?:st|nd|rd|th)
      (?:\s+of\s+(?:(?P<which>this|next|last)|(?P<each>every|each|the))\s+month\b)?)
    (?=\s*(?:\Z|[?!.,;:)\u2013]|-(?!\w)|(?:at|in|from|to|till|until|through)\b|(?:and|or)\s+the\b))""",
    re.IGNORECASE | re.VERBOSE,
)
_NUMBERS = re.compile(r"\d(?:st|nd|rd|th)")
# What stands before the second of two days.
_SECOND = frozenset({"and", "or", "to", "till", "until", "through"})


def with_days(text: str, today: date, *, gone: bool) -> str:
    """Return a text in which each day that it tells by its number alone has its month and its year.

    That is the next such day, or the latest where the text speaks of what is `gone`. The first of two is the one before
    the second. A day of each month stays as it is.

    >>> with_days("Away from the 30th to the 2nd", date(2026, 5, 14), gone=False)
    'Away from 30 May 2026 to 2 Jun 2026'
    >>> with_days("Vet on Friday the 22nd, rent on the 1st of each month", date(2026, 5, 14), gone=False)
    'Vet on Friday 22 May 2026, rent on the 1st of each month'
    """
    behind: re.Match[str] | None = None
    day: date | None = None
    for found in reversed(list(finds(_NUMBERED, text, _NUMBERS))):
        first = day is not None and behind is not None and _are_two(found, behind)
        day = None if found["each"] else _day_meant(found, day if first and day else today, gone=gone or first)
        behind = found
        if day is not None:
            text = f"{text[: found.start('said')]}{_written(day)}{text[found.end('said') :]}"
    return text


def _written(day: date) -> str:
    return f"{day.day} {_month(day)}"


def _month(day: date) -> str:
    return f"{MONTHS[day.month - 1].capitalize()} {day.year}"


def ordinal(day: int) -> str:
    """Return what is written behind the number of a day.

    >>> [f"{day}{ordinal(day)}" for day in (1, 2, 3, 4, 11, 12, 13, 22)]
    ['1st', '2nd', '3rd', '4th', '11th', '12th', '13th', '22nd']
    """
    return "th" if day in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")


def _are_two(one: re.Match[str], other: re.Match[str]) -> bool:
    """Tell whether nothing but "to" or "and" stands between two days."""
    return (other["lead"] or other["led"]).lower() in _SECOND and not one.string[one.end() : other.start()].strip()


def days_of_each_month(text: str) -> Iterator[re.Match[str]]:
    """Give the days that a text tells of every month, by their numbers: "rent on the 1st of each month"."""
    return (found for found in finds(_NUMBERED, text, _NUMBERS) if found["each"])


def _day_meant(found: re.Match[str], today: date, *, gone: bool) -> date | None:
    """Return the day of a number: of this month or the one beside it, or else the next or the latest."""
    day, which = int(found["day"]), (found["which"] or "").lower()
    # One of two months that follow each other has 31 days.
    behind = range(0, -3, -1) if gone else range(3)
    for each in [-_BACK[which]] if which else behind:
        try:
            meant = month_start(today.year, today.month + each).replace(day=day)
        except (OverflowError, ValueError):  # that month lacks the day, or is beyond the calendar
            continue
        if which or (meant <= today if gone else meant >= today):
            return meant
    return None


def part_told(now: datetime, question: str, *, gone: bool, coming: bool) -> tuple[DateHint, tuple[int, int]] | None:
    """Return a part of a week, month, quarter or year that a question tells, and where; None where it tells none.

    A third of a quarter or year is of whole months, and the last of a week begins on Friday. A quarter without its
    year is the latest that has begun where what is `gone` is asked for or nothing that is `coming` may be, else the one
    that is not over. "The start of the week" is any where neither is.
    """
    past = gone or not coming
    for pattern, read in ((_PART, _part), (_QUARTER, _quarter)):
        found = pattern.search(question)
        if found is None or ((found["which"] or "").lower() == "the" and not (gone or coming)):
            continue
        try:
            hint = read(found, now, past=past)
        except (OverflowError, ValueError):  # beyond the calendar
            continue
        if hint is not None:
            return hint, found.span()
    return None


def every_part(kept: datetime, text: str) -> Iterator[DateHint]:
    """Give the parts of weeks, quarters and years that a text tells, counted from the moment at which it was kept.

    Of a week each day of the part is given. A quarter without its year is that before and that behind.
    """
    if _PLACES.search(lowered(text)) is None:
        return
    for pattern, read, ways in ((_PART, _part, (False,)), (_QUARTER, _quarter, (False, True))):
        for found, past in product(finds(pattern, text, _PLACES), ways):
            with suppress(OverflowError, ValueError):  # beyond the calendar
                if (hint := read(found, kept, past=past)) is not None:
                    yield from _by_day(hint) if (found.groupdict().get("unit") or "").lower() == "week" else (hint,)


def with_months_of(text: str, today: date) -> str:
    """Return a text in which each month has its name and its year of which it tells a part from now.

    >>> with_months_of("Due by the end of next month", date(2026, 12, 4))
    'Due by the end of Jan 2027'
    """
    for found in reversed(list(finds(_PART, text, _PLACES))):
        if (found["unit"] or "").lower() == "month":
            with suppress(OverflowError, ValueError):
                first, _ = unit_days(today, "month", _BACK[found["which"].lower()])
                text = f"{text[: found.start('which')]}{_month(first)}{text[found.end('unit') :]}"
    return text


def _by_day(hint: DateHint) -> Iterator[DateHint]:
    if hint.start is None or hint.end is None:
        return
    day, behind = (local(each, hint.zone).date() for each in (hint.start, hint.end))
    while day < behind:
        if (each := hint_of(day, day + timedelta(days=1), hint.zone)) is not None:
            yield each
        day += timedelta(days=1)


def day_told(now: datetime, question: str) -> tuple[DateHint, tuple[int, int]] | None:
    """Return the latest day that a question tells by its number alone, and where; None where it tells none."""
    found = _DAY.search(question)
    if found is None or not 1 <= (day := int(found["day"])) <= 31:
        return None
    today = now.date()
    for months in range(3):  # One of two months that follow each other has 31 days.
        try:
            meant = month_start(today.year, today.month - months).replace(day=day)
            if meant <= today:
                hint = hint_of(meant, meant + timedelta(days=1), zone_of(now))
                return (hint, found.span("said")) if hint is not None else None
        except (OverflowError, ValueError):  # that month lacks the day, or is beyond the calendar
            continue
    return None


def _part(found: re.Match[str], now: datetime, *, past: bool) -> DateHint | None:
    """A share of a unit of the calendar; what is left of one, if not `past`, from now on."""
    said = (found["part"] or found["part_of"]).lower()
    unit = (found["unit"] or "year").lower()
    if found["year"]:
        first, behind = month_start(int(found["year"]), 1), month_start(int(found["year"]) + 1, 1)
    else:
        first, behind = unit_days(now.date(), unit, _BACK[found["which"].lower()])
    if (share := _SHARES.get(said[:3])) is None:
        hint = hint_of(first, behind, zone_of(now))
        begun = hint is not None and hint.start is not None and hint.start < now < (hint.end or now)
        return replace(hint, start=now.astimezone(UTC)) if hint is not None and begun and not past else hint
    return hint_of(*_share_of(first, behind, *share, by_month=unit in {"quarter", "year"}), zone_of(now))


def _share_of(first: date, behind: date, place: int, of: int, *, by_month: bool) -> tuple[date, date]:
    """Return the days of the share at a `place` (from 0) among so many equal ones, in whole days or months."""
    if by_month:
        months = 12 * (behind.year - first.year) + behind.month - first.month
        start, end = (first.month + months * each // of for each in (place, place + 1))
        return month_start(first.year, start), month_start(first.year, end)
    days = (behind - first).days
    start, end = (days * each // of for each in (place, place + 1))
    return first + timedelta(days=start), first + timedelta(days=end)


def _quarter(found: re.Match[str], now: datetime, *, past: bool) -> DateHint | None:
    count = (found["count"] or "").lower()
    place = int(found["number"]) - 1 if found["number"] else min(_COUNTS.index(count), 3)
    today = now.date()
    if found["year"] or found["which"]:
        year = int(found["year"]) if found["year"] else today.year - _BACK[found["which"].lower()]
    elif count:
        return None
    else:
        behind = month_start(today.year, 3 * place + 4)
        year = today.year - (past and month_start(today.year, 3 * place + 1) > today) + (not past and behind <= today)
    first = month_start(year, 3 * place + 1)
    return hint_of(first, month_start(year, first.month + 3), zone_of(now))
