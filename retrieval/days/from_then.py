"""Times that a note tells from the day on which it was kept: "tomorrow", "in two weeks", "last summer"."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, tzinfo
from itertools import chain
from typing import NamedTuple

from retrieval.days.calendar_parts import every_part, ordinal, with_days
from retrieval.days.counted_from import every_counted
from retrieval.days.dates import Period, local, match
from retrieval.days.from_now import SEASONS, every_told
from retrieval.days.months import with_months
from retrieval.days.told_days import told_in
from retrieval.days.weekdays import lexemes_of

# Words without one of which no such time is told, how long that is at least, and how far from the day of its note it is
# at most: "the day after tomorrow", "in 30 days", "in 10 weeks", "18 months ago", "next year". None is sought beyond.
_DAY = timedelta(hours=23)
_REACHES = (
    ("tomorrow | yesterday | today", _DAY, timedelta(days=3)),
    ("day", _DAY, timedelta(days=31)),
    ("week | fortnight", _DAY, timedelta(weeks=11)),
    ("month", _DAY, timedelta(days=62)),
    ("month", 28 * _DAY, timedelta(days=580)),
    (" | ".join(("year", "quarter", "q1", "q2", "q3", "q4", *SEASONS)), 90 * _DAY, timedelta(days=1100)),
)
# A day without its month, which may stand for its week, and a day of the week are at most so far from the day of their
# note. They are looked for in no time longer than a week: in a month most of them are of each month.
_NUMBERED, _WEEKDAY, _WEEK = timedelta(days=31), timedelta(days=14), timedelta(days=7)


class Probe(NamedTuple):
    """A query, in the form of the database, for notes that were kept in [start, end) and may tell a time from then."""

    query: str
    start: datetime
    end: datetime


def probes(period: Period, zone: tzinfo) -> list[Probe]:
    """Return what is looked for in notes that may tell a time within a period from the day on which they were kept."""
    longest = max(part.end - part.start for part in period.parts or (period,))
    reaches = [(query, reach) for query, least, reach in _REACHES if least <= longest]
    if longest <= _WEEK + timedelta(hours=1):
        reaches += _by_days(period, zone)
    return [Probe(query, _moved(period.start, -reach), _moved(period.end, reach)) for query, reach in reaches]


def _by_days(period: Period, zone: tzinfo) -> Iterator[tuple[str, timedelta]]:
    """Give the words by which a note may tell a day of a period without its month, with how far it is from the day."""
    numbers = set[str]()
    for part in period.parts or (period,):
        first, behind = (local(each, zone).date() for each in (_moved(part.start, -_WEEK), part.end))
        days = [first + timedelta(days=each) for each in range((behind - first).days)]
        numbers.update(f"{day.day}{ordinal(day.day)}" for day in days)
    yield " | ".join(sorted(numbers)), _NUMBERED
    # "From Monday to Wednesday" is of a Tuesday, too.
    yield " | ".join([*chain.from_iterable(map(lexemes_of, range(7))), "weekend"]), _WEEKDAY


def tells(period: Period, text: str, kept: datetime, zone: tzinfo) -> bool:
    """Tell whether a text, kept at a moment, tells from then a time of a period, which is no longer than that.

    >>> from datetime import UTC
    >>> fourth, kept = (datetime(2026, 3, day, tzinfo=UTC) for day in (4, 3))
    >>> day = Period(fourth, fourth + timedelta(days=1))
    >>> [tells(day, text, kept, UTC) for text in ("Dentist tomorrow", "Dentist next week", "Dentist today")]
    [True, False, False]
    """
    moment = local(kept, zone)
    told = (hint for hint, _ in every_told(moment, text))
    return any(
        hint.start is not None and hint.end is not None and _is_of(part, hint.start, hint.end)
        for hint in chain(told, every_part(moment, text), every_counted(moment, text))
        for part in period.parts or (period,)
    )


def tells_no_other(text: str, kept: datetime, zone: tzinfo) -> bool:
    """Tell whether a text tells no day or month, and no time from then but that at which it was kept.

    A year by itself stands for anything: a source, a model, a budget.

    >>> from datetime import UTC
    >>> kept = datetime(2026, 3, 3, tzinfo=UTC)
    >>> [tells_no_other(text, kept, UTC) for text in ("Ran today", "Run tomorrow", "On 9 May")]
    [True, False, False]
    """
    moment = local(kept, zone)
    if any(told.month is not None for told in told_in(with_days(with_months(text), moment.date(), gone=False))):
        return False
    return all(match(hint, moment) == 1 for hint, _ in every_told(moment, text))


def untold(text: str, kept: datetime) -> str:
    """Return a text without the times that it tells from the day on which it was kept."""
    for _, found in every_told(kept, text):
        text = f"{text[: found.start()]}{' ' * len(found[0])}{text[found.end() :]}"
    return text


def _is_of(period: Period, start: datetime, end: datetime) -> bool:
    return start < period.end and period.start < end and end - start <= period.end - period.start


def _moved(moment: datetime, by: timedelta) -> datetime:
    """Return a moment moved; one beyond the calendar stays where it is."""
    try:
        return moment + by
    except OverflowError:
        return moment
