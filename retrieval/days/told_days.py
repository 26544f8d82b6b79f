"""The days, months and years that a text tells of, however it writes them, and whether they are of a time."""

from __future__ import annotations

import re
from bisect import bisect_right
from calendar import monthrange
from collections.abc import Collection, Iterator, Sequence
from datetime import date, datetime, timedelta, tzinfo
from itertools import accumulate, chain, groupby, pairwise
from typing import NamedTuple

from retrieval.days import weekdays
from retrieval.days.calendar_parts import days_of_each_month, with_days, with_months_of
from retrieval.days.closely import finds, lowered
from retrieval.days.dates import DateHint, Period, local
from retrieval.days.feasts import Feast, feasts_in, lexemes_on
from retrieval.days.months import (
    AMBIGUOUS,
    BEFORE_DAY,
    MONTHS,
    NAMED,
    NAMED_ABROAD_LOW,
    NAMED_LOW,
    PLACES,
    PLACES_ABROAD,
    YEAR,
    YEAR_TEXT,
    days_of_part,
    in_digits,
    lexemes_abroad,
    month_abroad,
    part_before,
    unit_before,
    with_months,
)
from retrieval.words.codes import NUMBER_BEGINNINGS, day_beginnings, day_numbers, days_in_digits, month_lexemes

# In more than a year every day without its year is one of it.
LONGEST = timedelta(days=366, hours=1)
# The days of a longer time are too many to be looked for one by one.
_SHORT = timedelta(days=32)
# In a time longer than a season nothing but the day on which a text was kept tells of which year one is that it has
# without: it is at most so many months away.
_SEASON, _MONTHS_AWAY = timedelta(days=93), 7
# The numbers of more days than these are in too many texts to tell of one.
_FEW = 7
_WEEK = timedelta(days=_FEW, hours=1)
# A day of the week so near to a date is that date's, in characters.
_BESIDE = 5
# The weights of the lexemes by which a text is found: a month weighs more than all the numbers beside it.
_MONTH, _DAY, _YEAR = 64, 2, 1
# Characters of a text that are read: who keeps a whole book means no day in it.
READ = 8192
# A day, or a month, with its year first; an hour may follow.
_ISO = re.compile(rf"(?<![\w.-])(?P<year>{YEAR_TEXT})-(?P<month>\d\d)(?:-(?P<day>\d\d))?(?:(?=T\d)|(?![\w-]))")
_ISO_PLACES = re.compile(r"\d{4}-\d")
# Before a feast these tell of another time than it: "until Christmas".
_BESIDE_A_FEAST, _BEFORE = re.compile(r"\b(?:after|before|until|till|since)\s+\Z", re.IGNORECASE), 10
# Between the first day, or month, and the last; an hour may stand behind the first.
_TO = re.compile(rf"(?:T[\d:.]+Z?)?\s*(?:[\u2013-]|to|till|until|through)\s*{BEFORE_DAY}", re.IGNORECASE)
_NEAR = 24
_BETWEEN, _AND = (
    re.compile(rf"\bbetween\s+{BEFORE_DAY}\Z", re.IGNORECASE),
    re.compile(rf"\s*and\s+{BEFORE_DAY}", re.IGNORECASE),
)
# A text with one of these tells of each year: "Ada's birthday is on 5 July".
_OF_YEARS = ("year", "birthday", "annual", "anniversar")
_YEARLY = re.compile(r"\b(?:birthdays?|anniversar(?:y|ies)|(?:every|each)\s+year|yearly|annual(?:ly)?)\b")
# The word before a time, which tells what it is the time of: "kWh in September", not "installed in September".
_SAID_OF = re.compile(r"([^\W\d_]+)[,:]?\s+(?:(?:in|on|of|for|during|im|am|en)\s+)?\Z", re.IGNORECASE)
_LONGEST_NAME = 60
# What holds beyond the time that it names.
_OF_OTHERS_TOO = re.compile(
    rf"""\b(?:every | each | jede[nrs]? | chaque)\b | \s[-\u2013]\s
      | \b(?:since | until | till | from | by | before | after | between | through | seit | bis | ab | vor | nach
      | depuis | jusqu\w* | avant | apr[eè]s)\s+(?:[^\s.;]+\s+){{0,3}}(?:\d | {"|".join(MONTHS)})""",
    re.VERBOSE,
)


class Told(NamedTuple):
    """What a text says of a time, from `start` to `end`; `days` are those of the month, what it leaves open is None.

    `weekday` (0 is Monday) is a day of the week that it names, which may be one or each.
    """

    start: int
    end: int
    year: int | None
    month: int | None = None
    days: range = range(0)
    weekday: int | None = None

    def is_named(self, asked: DateHint, kept: date) -> bool:
        """Tell whether this may be what parts of a date name, for a text of a day; without a year it is near that."""
        if asked.month is None:
            return self.year == asked.year
        years = {self.year} if self.year is not None else _years_beside(kept)
        return (
            self.month == asked.month
            and (asked.day is None or asked.day in self.days)
            and (asked.year is None or asked.year in years)
        )

    def is_within(self, first: date, behind: date, kept: date) -> bool:
        """Tell whether one of the days may lie between two, or all of a month or year, for a text kept on a day."""
        since, before = _parts_of(first), _parts_of(behind)
        if self.month is None:
            return self.year is not None and since <= (self.year, 1, 1) and (self.year + 1, 1, 1) <= before
        beside = _years_beside(kept) if behind - first <= _SEASON else _years_near(self.month, kept)
        for year in [self.year] if self.year is not None else beside:
            if not self.days:
                # The thirteenth month of a year is none: it begins where the next year does.
                if since <= (year, self.month, 1) and (year, self.month + 1, 1) <= before:
                    return True
            elif since <= (year, self.month, self.days[-1]) and (year, self.month, self.days[0]) < before:
                # Not the 30th of a February.
                last = (year, self.month, min(self.days[-1], monthrange(year, self.month)[1]))
                begins = (year, self.month, max(1, self.days[0]))
                if since <= last >= begins < before:
                    return True
        return False


def _days_of(first: date, behind: date) -> Iterator[date]:
    return (first + timedelta(days=each) for each in range((behind - first).days))


def _parts_of(day: date) -> tuple[int, int, int]:
    return day.year, day.month, day.day


def _years_beside(day: date) -> range:
    return range(day.year - 1, day.year + 2)


def _years_near(month: int, day: date) -> list[int]:
    """Return the years whose month is but a few months from a day."""
    away = month - day.month
    return [year for year in _years_beside(day) if abs((year - day.year) * len(MONTHS) + away) <= _MONTHS_AWAY]


def says(period: Period, text: str, kept: datetime, zone: tzinfo) -> bool:
    """Tell whether a text, kept at a moment, says a day, a month or a year of a period."""
    day = local(kept, zone).date()
    text = with_months_of(with_months(text[:READ]), day)
    parts = [(part, _ends(part, zone)) for part in period.parts or (period,)]
    low = lowered(text)
    if any(each in low for each in _OF_YEARS) and _YEARLY.search(low) is not None and _says_yearly(parts, text):
        return True
    # "On the 22nd" is the next one or the last.
    return any(
        _says(parts, each, day) for each in dict.fromkeys(with_days(text, day, gone=gone) for gone in (False, True))
    )


def _says_yearly(parts: Sequence[tuple[Period, tuple[date, date]]], text: str) -> bool:
    """Tell whether one of some periods has a day or a month of a text, of whatever year, as each year has it."""
    told = [each._replace(year=None) for each in told_in(text) if each.month is not None]
    return any(_is_of(part, ends, each, ends[0]) for part, ends in parts for each in told)


def _says(parts: Sequence[tuple[Period, tuple[date, date]]], text: str, day: date) -> bool:
    """Tell whether a text of a day, whose days all have their months, says a time of one of some periods."""
    dates: list[Told] = []
    # Read in turns, as the rest need not be read where a date says it.
    # What is so each month is no news of one.
    short = any(part.end - part.start <= _WEEK for part, _ in parts)
    others = (_of_units(text, day, dates), _of_feasts(text, day), _of_the_week(text, day, dates))
    for read in (told_in(text), *others, _of_each_month(text) if short else ()):
        told = list(read)
        if any(_is_of(part, ends, each, day) for part, ends in parts for each in told):
            return True
        dates += told
    return False


def _is_of(period: Period, ends: tuple[date, date], told: Told, kept: date) -> bool:
    """Tell whether a time that a text of a day tells of may be of a period."""
    if period.weekday is not None and told.weekday == period.weekday:
        return True
    if period.named is not None and period.named.last is None:
        return told.is_named(period.named, kept)
    return period.end - period.start <= LONGEST and told.is_within(*ends, kept)


def lexemes_of(period: Period, zone: tzinfo) -> dict[str, int]:
    """Return lexemes of which a text that says a day of a period has one, with what each counts.

    Those with a star are how one begins. Of many texts that have the month, those are meant that have the day or the
    year too.
    """
    found: dict[str, int] = {}
    for part in period.parts or (period,):
        if part.named is not None and part.named.month is None:
            found[str(part.named.year)] = _MONTH
        elif part.named is not None or part.end - part.start <= LONGEST:
            found = _lexemes_between(*_ends(part, zone)) | found
        if (part.named is None or part.named.last is not None) and part.end - part.start <= _WEEK:
            of_week = {day.weekday() for day in _days_of(*_ends(part, zone))}
            found |= dict.fromkeys(chain(*map(weekdays.lexemes_of, of_week)), _MONTH)
            found |= dict.fromkeys(["weekend"] if weekdays.WEEKEND in of_week else [], _MONTH)
    return found


def _lexemes_between(first: date, behind: date) -> dict[str, int]:
    """Return lexemes of which a text that says a day or a month between two days has one, with what each counts."""
    days = list(_days_of(first, behind))
    months = {day.month for day in days}
    # Where a whole year lies between, its number says as much as a month.
    whole = {year for year in range(first.year, behind.year) if date(year, 1, 1) >= first}
    found = {str(day.year): _MONTH if day.year in whole else _YEAR for day in days}
    if behind - first <= _SHORT:
        numbered = _DAY if len(days) <= _FEW else 0
        if numbered:
            found |= dict.fromkeys(chain(*map(day_numbers, days)), numbered)
        found |= dict.fromkeys(chain(*map(days_in_digits, days)), numbered + _YEAR)
        found |= dict.fromkeys(chain(*map(day_beginnings, days)), _MONTH)
    else:
        # Amounts begin like days do, so these weigh little.
        found |= dict.fromkeys(NUMBER_BEGINNINGS, _DAY)
        found |= {f"-{month:02}": _MONTH for month in months}
    # "-12" is a month here and the twelfth there.
    found |= dict.fromkeys(chain(*map(month_lexemes, months)), _MONTH)
    found |= dict.fromkeys(chain(*map(lexemes_abroad, months)), _MONTH)
    # "New" is a word of too many texts.
    return found | {each: _YEAR if each == "new" else _MONTH for each in lexemes_on(first, behind)}


def _ends(period: Period, zone: tzinfo) -> tuple[date, date]:
    return local(period.start, zone).date(), local(period.end, zone).date()


def told_in(text: str) -> Iterator[Told]:
    """Give the days, months and years that a text has, whose days all have their months.

    >>> [(each.year, each.month, [*each.days]) for each in told_in("On 3 Dec 2026, and from 24 December to 2 January")]
    [(None, 12, [24, 25, 26, 27, 28, 29, 30, 31]), (None, 1, [1, 2]), (2026, 12, [3])]
    """
    found = sorted(chain(_in_digits(text), _in_words(text), _in_words_abroad(text)), key=lambda each: each.start)
    starts, ends = [each.start for each in found], [*accumulate((each.end for each in found), max, initial=0)]
    for year in YEAR.finditer(text):
        if ends[bisect_right(starts, year.start())] <= year.start():
            yield Told(*year.span(), int(year[1]))
    # With slashes two days may be meant, and of a range of these nobody knows how long it is.
    dates, ranges = [[*those] for _, those in groupby(found, key=lambda each: each.start)], set[int]()
    for ones, others in pairwise(dates):
        if len(ones) == len(others) == 1 and _is_range(text, ones[0], others[0]):
            between = [*_from_to(ones[0], others[0])]
            yield from between
            ranges.update(each.start for each in (ones[0], others[0]) if between)
    # The two ends of a range were given with it, and have its year.
    yield from (each for each in found if each.start not in ranges)


def _is_range(text: str, one: Told, other: Told) -> bool:
    """Tell whether a text says that all between two times is meant: "from 3 May to 7 May", "between 3 and 7 May"."""
    between = _BETWEEN.search(text, max(0, one.start - _NEAR), one.start) or text[one.start :][:8].lower() == "between "
    to = (_AND if between else _TO).match(text, one.end)
    return to is not None and to.end() >= other.start


def _of_the_week(text: str, kept: date, dates: Collection[Told]) -> Iterator[Told]:
    """Give the days of the week that a text names without their dates; for a text of a day they are near that."""
    for said in weekdays.said_in(text):
        if any(each.start - _BESIDE <= said.end and said.start <= each.end + _BESIDE for each in dates if each.days):
            continue
        # "On Friday" may have been, or be to come.
        either = (False,) if said.which or said.weekend else (False, True)
        for gone in () if said.weekly else either:
            day = weekdays.day_of(said.weekday, kept, said.which, weekend=said.weekend, gone=gone, week=said.week)
            for each in (day, day + timedelta(days=1)) if said.weekend else (day,):
                yield Told(said.start, said.end, each.year, each.month, range(each.day, each.day + 1))
        if (said.weekly or not (said.week or said.which in {"last", "past"})) and not said.weekend:
            yield Told(said.start, said.end, None, weekday=said.weekday)


def _of_units(text: str, kept: date, dates: Collection[Told]) -> Iterator[Told]:
    """Give the days of weeks and weekends that a text tells by a day of them: "the week of June 8th"."""
    for each in dates:
        lead = text[each.start : each.start + 2]
        if len(each.days) != 1 or each.month is None or (unit := unit_before(text, each.start, lead)) is None:
            continue
        beside = [each.year] if each.year is not None else _years_beside(kept)
        known = [
            date(year, each.month, each.days[0]) for year in beside if each.days[0] <= monthrange(year, each.month)[1]
        ]
        if not known:
            continue
        day = min(known, key=lambda one: abs(one - kept))
        first = day - timedelta(days=day.weekday()) if unit[0] == "week" else day
        for one in _days_of(first, first + timedelta(days=7 if unit[0] == "week" else 2)):
            yield Told(each.start, each.end, one.year, one.month, range(one.day, one.day + 1))


def _of_each_month(text: str) -> Iterator[Told]:
    """Give the days that a text tells of every month."""
    for found in days_of_each_month(text):
        for month in range(1, len(MONTHS) + 1):
            yield Told(*found.span(), None, month, range(int(found["day"]), int(found["day"]) + 1))


def _of_feasts(text: str, kept: date) -> Iterator[Told]:
    """Give the days of the feasts that a text names; of those that move the ones near the day on which it was kept."""
    for feast in feasts_in(text):
        if _BESIDE_A_FEAST.search(text[max(0, feast.start - _BEFORE) : feast.start]):
            continue
        if feast.month is not None:
            yield Told(feast.start, feast.end, feast.year, feast.month, range(feast.first, feast.last + 1))
            continue
        for year in [feast.year] if feast.year is not None else _years_beside(kept):
            for day in _days_of(*_first_and_behind(feast, year)):
                yield Told(feast.start, feast.end, day.year, day.month, range(day.day, day.day + 1))


def _first_and_behind(feast: Feast, year: int) -> tuple[date, date]:
    first, last = feast.days(year)
    return first, last + timedelta(days=1)


def _in_digits(text: str) -> Iterator[Told]:
    for found in finds(_ISO, text, _ISO_PLACES):
        if 1 <= int(found["month"]) <= len(MONTHS):
            days = range(int(found["day"]), int(found["day"]) + 1) if found["day"] else range(0)
            yield Told(*found.span(), int(found["year"]), int(found["month"]), days)
    for found, month, day in in_digits(text, either=True):
        yield Told(*found.span(), int(found["year"]) if found["year"] else None, month, range(day, day + 1))


def _in_words_abroad(text: str) -> Iterator[Told]:
    for found in finds(NAMED_ABROAD_LOW, lowered(text), PLACES_ABROAD):
        if NAMED.fullmatch(found["month"]) and not (found["day"] and text[found.end("day")] == "."):
            continue  # English has it, but for the point.
        days = range(int(found["day"]), int(found["day"]) + 1) if found["day"] else range(0)
        yield Told(*found.span(), int(found["year"]) if found["year"] else None, month_abroad(found["month"]), days)


def _in_words(text: str) -> Iterator[Told]:
    for found in finds(NAMED_LOW, lowered(text), PLACES):
        day, year = found["before"] or found["after"], found["year"]
        # Lower case, these are words of any text.
        if day or year or found["month"] not in AMBIGUOUS or text[found.start("month")].isupper():
            days = range(int(day), int(day) + 1) if day else range(0)
            month = MONTHS.index(found["month"][:3]) + 1
            if not day and (part := part_before(text, found.start("month"))):
                days = days_of_part(part[0], part[1], month)
            yield Told(*found.span(), int(year) if year else None, month, days)


def _from_to(one: Told, other: Told) -> Iterator[Told]:
    """Give all from one day to another, or from one month: at most a year."""
    if not one.month or not other.month or bool(one.days) is not bool(other.days):
        return
    turns = one.month > other.month
    last = other.year if other.year is not None or one.year is None else one.year + turns
    first = one.year if one.year is not None or last is None else last - turns
    years = last - first if first is not None and last is not None else int(turns)
    months = 12 * years + other.month - one.month
    for each in range(months + 1 if months <= len(MONTHS) else 0):
        ahead, month = divmod(one.month - 1 + each, len(MONTHS))
        from_, behind = one.days.start if not each else 1, other.days.stop if each == months else 32
        days = range(from_, behind) if one.days else range(0)
        yield Told(one.start, other.end, first + ahead if first is not None else None, month + 1, days)


def says_another(hint: DateHint, text: str, names: Collection[str]) -> bool:
    """Tell whether a text names other months or years than the named one of a hint, and none that it may be of.

    It must say them of what is asked for, whose words `names` has in lower case: a thing that was bought in some year
    is there in the next. What says from when or until when something holds may hold in any month, and so may what
    tells of several.

    >>> told = ("Use: 212 kWh in June", "kWh in June: 200, July: 212", "10 kWh more since June", "kWh read in June")
    >>> [says_another(DateHint(month=7), each, {"kwh"}) for each in told]
    [True, False, False, False]
    """
    if _OF_OTHERS_TOO.search(lowered(text)):
        return False
    text = with_months(text)
    told = list(told_in(text))
    if not any(_is_said_of(names, text, each.start) for each in told):
        return False
    months = {each.month for each in told} - {None}
    years = {each.year for each in told} - {None}
    another_month = hint.month is not None and bool(months) and hint.month not in months
    return another_month or (hint.year is not None and bool(years) and hint.year not in years)


def _is_said_of(names: Collection[str], text: str, start: int) -> bool:
    """Tell whether a time that starts there stands behind one of some words."""
    word = _SAID_OF.search(text[max(0, start - _LONGEST_NAME) : start])
    return word is not None and word[1].lower() in names
