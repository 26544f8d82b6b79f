"""Days that a question counts from others: "this time last year", "two Fridays ago", "a week from Friday"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime, timedelta

from retrieval.days import weekdays
from retrieval.days.closely import finds, lowered
from retrieval.days.dates import DateHint, hint_of, moved, unit_days, zone_of
from retrieval.days.from_now import STEPS, steps_of

_UNIT = "week|month|quarter|year"
_SAME = re.compile(
    rf"""\b(?:(?:at|around|about|on|in)\s+)?(?:
        (?:this(?:\s+same)?|(?:the\s+)?same)\s+(?P<what>time|day|date|week|month)\s+(?:in\s+)?
        (?:(?:the\s+)?last\s+(?P<last>{_UNIT}) | (?P<ago>{STEPS})\s+(?P<units>{_UNIT})s?\s+ago)
      | (?P<count>{STEPS})\s+(?P<unit>{_UNIT})s?\s+ago\s+(?:today|to\s+the\s+day)
      | today\s+last\s+(?P<today>{_UNIT}))\b""",
    re.IGNORECASE | re.VERBOSE,
)
# How many days before and behind a day are about the same time as it, by what is counted.
_ABOUT = {"week": 1, "month": 4, "quarter": 7, "year": 15}
_WEEKDAY = rf"(?P<day>{weekdays.NAME}|weekend)"
_DAYS_AGO = re.compile(rf"\b(?:on\s+)?(?P<count>{STEPS})\s+{_WEEKDAY}s\s+ago\b", re.IGNORECASE)
_WEEKS_FROM = re.compile(
    rf"""\b(?:on\s+|in\s+)?(?P<count>{STEPS})\s+weeks?\s+(?:(?P<ago>ago)(?:\s+on)?|from|on)\s+
    (?:(?P<which>{weekdays.WHICH})\s+)?{_WEEKDAY}(?![\w-])""",
    re.IGNORECASE | re.VERBOSE,
)
# "Friday week" is the Friday behind the next.
_A_WEEK_ON = re.compile(rf"\b(?:on\s+)?(?P<day>{weekdays.NAME})\s+week\b(?!\s*(?:of|\d|on\b|from\b))", re.IGNORECASE)
_PLACES = re.compile("day|week")


def counted_told(now: datetime, question: str) -> tuple[DateHint, tuple[int, int]] | None:
    """Return the days that a question counts from others, and where it does; None where it counts none.

    "This time last year" is half a month about the day of a year ago, of last month four days and of last week one.
    """
    for pattern, read in _WAYS:
        if found := pattern.search(question):
            try:
                hint = read(found, now)
            except (OverflowError, ValueError):  # beyond the calendar
                continue
            if hint is not None:
                return hint, found.span()
    return None


def every_counted(kept: datetime, text: str) -> Iterator[DateHint]:
    """Give the days that a text counts from others, for the moment at which it was kept: "two weeks from Friday"."""
    if _PLACES.search(lowered(text)) is None:
        return
    for pattern, read in _WAYS:
        for found in finds(pattern, text, _PLACES):
            with suppress(OverflowError, ValueError):  # beyond the calendar
                if (hint := read(found, kept)) is not None:
                    yield hint


def _same(found: re.Match[str], now: datetime) -> DateHint | None:
    unit = (found["last"] or found["units"] or found["unit"] or found["today"]).lower()
    count = found["ago"] or found["count"]
    day = moved(now.date(), unit, -(steps_of(count) if count else 1))
    what = (found["what"] or "day").lower()
    if what in {"week", "month"}:
        return hint_of(*unit_days(day, what, 0), zone_of(now))
    about = timedelta(days=_ABOUT[unit] if what == "time" else 0)
    return hint_of(day - about, day + about + timedelta(days=1), zone_of(now))


def _days_ago(found: re.Match[str], now: datetime) -> DateHint | None:
    weekday, weekend = _named(found)
    last = weekdays.day_of(weekday, now.date(), "last", weekend=weekend)
    return _hint(last - timedelta(weeks=steps_of(found["count"]) - 1), weekday, now, weekend=weekend)


def _weeks_from(found: re.Match[str], now: datetime) -> DateHint | None:
    (weekday, weekend), ago = _named(found), found["ago"] is not None
    which = (found["which"] or ("last" if ago else "")).lower()
    first = weekdays.day_of(weekday, now.date(), which, weekend=weekend)
    weeks = timedelta(weeks=steps_of(found["count"]))
    return _hint(first - weeks if ago else first + weeks, weekday, now, weekend=weekend)


def _a_week_on(found: re.Match[str], now: datetime) -> DateHint | None:
    weekday, _ = _named(found)
    return _hint(weekdays.day_of(weekday, now.date(), "") + timedelta(weeks=1), weekday, now, weekend=False)


def _named(found: re.Match[str]) -> tuple[int, bool]:
    name = found["day"].lower()
    return (weekdays.WEEKEND, True) if name == "weekend" else (weekdays.DAYS.index(name), False)


def _hint(first: date, weekday: int, now: datetime, *, weekend: bool) -> DateHint | None:
    hint = hint_of(first, first + timedelta(days=2 if weekend else 1), zone_of(now))
    return replace(hint, weekday=weekday) if hint is not None and not weekend else hint


_WAYS = ((_SAME, _same), (_DAYS_AGO, _days_ago), (_WEEKS_FROM, _weeks_from), (_A_WEEK_ON, _a_week_on))
