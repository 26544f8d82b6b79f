"""Times that are asked for, as parts of a date or as spans of days; days are those of a zone.

Days are counted as dates and turned into moments of UTC last, because a day of a zone may have 23 hours or 25.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo

_WEIGHTS = {"year": 1, "month": 2, "day": 1}
MONTHS_OF = {"month": 1, "quarter": 3, "year": 12}


@dataclass(frozen=True, slots=True)
class DateHint:
    """Either some of year, month (1-12) and day (1-31) of a zone, or the half-open span [start, end).

    With `last` all from one day to another are meant; both are below 0 where they count from the end of the month, of
    which the last day is -1. With `week` the whole week of the day is meant. `weekday` (0 is Monday) is that by which
    the day of a span is named, or the one among these.
    """

    year: int | None = None
    month: int | None = None
    day: int | None = None
    start: datetime | None = None
    end: datetime | None = None
    zone: tzinfo = UTC
    weekday: int | None = None
    last: int | None = None
    week: bool = False

    def days(self, year: int) -> tuple[date, date] | None:
        """Return the first day of a year that is meant, and the one behind the last; None where it has none.

        Raises `ValueError` or `OverflowError` beyond the calendar.
        """
        if self.month is None:
            return month_start(year, 1), month_start(year + 1, 1)
        start, end = month_start(year, self.month), month_start(year, self.month + 1)
        if self.day is None:
            return start, end
        last = self.last if self.last is not None else self.day
        first = (start if self.day > 0 else end + timedelta(days=1)) + timedelta(days=self.day - 1)
        behind = min(end, first + timedelta(days=last - self.day + 1))
        if first >= end:
            return None  # 29 February is not in every year.
        if self.weekday is not None:
            first += timedelta(days=(self.weekday - first.weekday()) % 7)
            behind = first + timedelta(days=1)
        return first, behind


@dataclass(frozen=True, slots=True)
class Period:
    """The half-open span [start, end), and the parts of a date that name it, unless it is told from now.

    `parts` are the periods that are meant where what lies between them is not. `to_come` says that what will be then is
    asked for. What is so each week on a `weekday` (0 is Monday) is meant, too.
    """

    start: datetime
    end: datetime
    named: DateHint | None = None
    to_come: bool = False
    parts: tuple[Period, ...] = ()
    weekday: int | None = None

    def __contains__(self, moment: datetime) -> bool:
        if self.parts:
            return any(moment in part for part in self.parts)
        return self.start <= aware(moment) < self.end


def match(hint: DateHint, created_at: datetime) -> float:
    """How well `created_at` fits, in [0, 1].

    For parts: the matched share of the named weight (year 1, month 2, day 1). For a span: 1 inside, falling
    linearly to 0 at one more span length before or after it.
    """
    moment = local(created_at, hint.zone)
    if hint.start is not None and hint.end is not None:
        outside = max(hint.start - moment, moment - hint.end, timedelta(0))
        return max(0.0, 1 - outside / (hint.end - hint.start))
    named = {part: weight for part, weight in _WEIGHTS.items() if getattr(hint, part) is not None}
    fitting = sum(weight for part, weight in named.items() if _fits(hint, part, moment))
    return fitting / sum(named.values()) if named else 0.0


def _fits(hint: DateHint, part: str, moment: datetime) -> bool:
    if part != "day" or hint.last is None:
        return bool(getattr(hint, part) == getattr(moment, part))
    days = replace(hint, month=moment.month).days(moment.year)
    return days is not None and days[0] <= moment.date() < days[1]


def midnight(day: date, zone: tzinfo) -> datetime:
    """Return the moment at which a day of a zone begins, in UTC; where clocks skip midnight, that at which they do.

    Raises `OverflowError` beyond the calendar.
    """
    # Converted to UTC, as Python compares and subtracts times of one zone as its clocks show them, not as they pass.
    return datetime.combine(day, time(), zone).astimezone(UTC)


def local(moment: datetime, zone: tzinfo) -> datetime:
    """Return a moment as clocks of a zone show it; in UTC where that is beyond the calendar."""
    try:
        return aware(moment).astimezone(zone)
    except OverflowError:
        return aware(moment).astimezone(UTC)


def span_of(first: date, behind: date, zone: tzinfo) -> tuple[datetime, datetime] | None:
    """Return the span from a day to the one behind it; None where a zone that crossed the date line had no such day."""
    start, end = midnight(first, zone), midnight(behind, zone)
    return (start, end) if start < end else None


def hint_of(first: date, behind: date, zone: tzinfo) -> DateHint | None:
    span = span_of(first, behind, zone)
    return DateHint(start=span[0], end=span[1]) if span else None


def month_start(year: int, month: int) -> date:
    """The first day of a month; months outside 1-12 roll over into other years."""
    years, index = divmod(month - 1, 12)
    return date(year + years, index + 1, 1)


def unit_days(today: date, unit: str, back: int) -> tuple[date, date]:
    """The first day of a calendar day, week (from Monday), month, quarter or year, and the one behind its last.

    It is `back` of them before that of `today`, or behind it where that is below 0. Raises `OverflowError` or
    `ValueError` beyond the calendar.
    """
    if unit in {"day", "week"}:
        length = timedelta(days=1 if unit == "day" else 7)
        first = today - (timedelta(days=today.weekday()) if unit == "week" else timedelta(0)) - back * length
        return first, first + length
    months = MONTHS_OF[unit]
    # The first month of the unit that today is in.
    first = month_start(today.year, today.month - (today.month - 1) % months - back * months)
    return first, month_start(first.year, first.month + months)


def moved(day: date, unit: str, steps: int) -> date:
    """Return the day so many days, weeks, months, quarters or years on, before it where `steps` is below 0.

    Raises `OverflowError` or `ValueError` beyond the calendar.
    """
    if unit in {"day", "week"}:
        return day + steps * timedelta(days=1 if unit == "day" else 7)
    month = month_start(day.year, day.month + steps * MONTHS_OF[unit])
    # A month may lack the last days of this one.
    return min(month + timedelta(days=day.day - 1), month_start(month.year, month.month + 1) - timedelta(days=1))


def aware(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def zone_of(moment: datetime) -> tzinfo:
    return moment.tzinfo or UTC
