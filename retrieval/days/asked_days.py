"""The dates that a question names, first of all a soft signal of what it asks for. Days are those of the zone of `now`.

A question names either parts of a date ("May 2023", "7 May", "2023-05-07") or a span relative to now ("last
week", "3 days ago", "last summer", "on Monday"). Named parts win where both occur: "last two weeks of May 2023" means
that May.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, datetime, timedelta, tzinfo

from retrieval.days.calendar_parts import day_told, part_told
from retrieval.days.counted_from import counted_told
from retrieval.days.dates import DateHint, aware, hint_of, zone_of
from retrieval.days.feasts import Feast, asked_in, year_of
from retrieval.days.from_now import COUNT, season_told, told_from
from retrieval.days.months import ISO, MONTHS, YEAR, in_digits, part_before, unit_before, with_months
from retrieval.days.namesakes import named_month
from retrieval.days.tense import asks_what_was_done
from retrieval.days.weekdays import NAME

# With one of these a question speaks of what has been, whatever else it says: "What was due in May?"
GONE = frozenset({"was", "were", "did", "had", "happened"})
_WEEK_OF = re.compile(rf"\b(?:last|this)\s+(?:{COUNT}\s+)?(?:day|week)s?\s*\Z", re.IGNORECASE)
# What stands before a day says which day of the week it is.
_OF_WEEKDAY = re.compile(rf"\b(?:on\s+)?{NAME}\s*,?\s*(?:the\s+)?\Z", re.IGNORECASE)
_WHICH = frozenset({"last", "next", "coming", "this"})
WORD = re.compile(r"[^\W_]+")
# What leads to a date, and would lead nowhere without it; and the blank that a date leaves before a sign.
_LEADS = re.compile(
    r"""(?:[\s,]*\b(?:in|on|at|of|for|from|by|over|around|about|during|since|between|the|beginning|start|middle|end))*[\s,]*\Z""",
    re.IGNORECASE,
)
_GAP = re.compile(r"\s+(?=[?!.,;:])")


def parse(question: str, now: datetime) -> DateHint | None:
    """The first date that `question` names, or None.

    Relative dates count back from `now` in whole calendar units of its zone: "2 weeks ago" is all of that week, and
    "the last 2 weeks" are the 14 days before today, and today.
    """
    hint = _first(question, now)[0]
    # Nothing was kept yet in a span that is to come.
    return None if hint is not None and hint.start is not None and hint.start >= aware(now) else hint


def timeless(question: str, now: datetime) -> str:
    """Return a question without the date that it names; as it is where that is none, or not the only one.

    >>> [timeless(each, datetime(2026, 5, 1)) for each in ("What did Ada read in January 2026?", "In May, who came?")]
    ['What did Ada read?', 'who came?']
    """
    hint, rest = _first(question, now)
    if hint is None or _first(rest, now)[0] is not None:
        return question
    place = place_of(rest, with_months(question))
    return joined(rest[:place], rest[place:]) or question


def joined(before: str, behind: str) -> str:
    """Return what stands before and behind a date as one question, "" if that has no word, without what leads to it."""
    left = f"{_LEADS.sub('', before)} {behind}"
    return _GAP.sub("", " ".join(left.split())).strip(" ,") if WORD.search(left) else ""


def _first(question: str, now: datetime) -> tuple[DateHint | None, str]:
    """Return the first date that a question names, and the question with blanks in its place."""
    gone = not GONE.isdisjoint(words_of(question)) or asks_what_was_done(question)
    # A season without "last" is of any year, so it is no hint.
    hint, rest = take_date(with_months(question), aware(now), gone=gone, coming=gone, seasons=False)
    # A day without its month is a reason to prefer what was kept on it, if it is over.
    if hint is None and gone and (day := day_told(now, question)) is not None:
        return day[0], _without(question, *day[1])
    return hint, rest


def place_of(rest: str, question: str) -> int:
    """Return where the first date of a question stood, which the rest of it has blanks for."""
    return next((at for at, (one, other) in enumerate(zip(rest, question, strict=True)) if one != other), 0)


def words_of(question: str) -> frozenset[str]:
    """Return the words of a question, without their case."""
    return frozenset(WORD.findall(question.casefold()))


def take_date(
    question: str, now: datetime, *, gone: bool, coming: bool = True, seasons: bool = True
) -> tuple[DateHint | None, str]:
    """Return the first date that a question names, and the question with blanks in its place.

    `gone` says that the question speaks of what has been: a day of the week, or a feast, is the last one then. Without
    `coming` no feast is a date and no day of the week that is not over, without `seasons` no season.
    """
    zone = zone_of(now)
    if found := ISO.search(question):
        return _iso(found, zone), _without(_weekday_before(question, found.start()), *found.span())
    if digits := next(in_digits(question, either=False), None):
        written, month, day = digits
        year_told = int(written["year"]) if written["year"] else None
        rest = _without(_weekday_before(question, written.start()), *written.span())
        return DateHint(year_told, month, day, zone=zone), rest
    if coming and (feast := asked_in(question)) and (hint := feast_hint(feast, now, gone=gone)):
        return hint, _without(question, feast.start, feast.end)
    if named := named_month(question):
        return _take_month(question, named, now)
    season = season_told(now, question, gone=gone) if seasons else None
    told = season or part_told(now, question, gone=gone, coming=coming)
    if told is None and (year := YEAR.search(question)):
        return DateHint(year=int(year[1]), zone=zone), _without(question, *year.span())
    if told := told or counted_told(now, question) or told_from(now, question, gone=gone, coming=coming):
        return told[0], _without(question, *told[1])
    return None, question


def _take_month(question: str, named: re.Match[str], now: datetime) -> tuple[DateHint, str]:
    """Return the date that a `named` month is of, with its day, part, week and year, and the question without these."""
    part = part_before(question, named.start("month")) if not (named["before"] or named["after"]) else None
    # "The last two weeks of May 2023" mean that May.
    start = part[3] if part else named.start()
    rest = _weekday_before(_without(question, start, named.end()), start)
    if of := _WEEK_OF.search(rest[:start]):
        rest = _without(rest, of.start(), start)
    year, apart = _year_of(named, rest)
    hint = _parts(named, year[1] if year else None, zone_of(now))
    if part:
        hint = replace(hint, day=part[0], last=part[1], weekday=part[2])
    lead = (named["lead"] or "").lower()
    hint, rest = _with_unit(hint, rest, start, lead)
    if hint.year is None and lead in _WHICH:
        hint = replace(hint, year=_year_meant(hint, lead, now.date()))
    return hint, _without(rest, *year.span()) if year and apart else rest


def _without(question: str, start: int, end: int) -> str:
    return f"{question[:start]}{' ' * (end - start)}{question[end:]}"


def _with_unit(hint: DateHint, rest: str, place: int, lead: str) -> tuple[DateHint, str]:
    """Return a day as its week, from Monday, or as the weekend from it on, where the question says so before it.

    That is returned with the question without these words.
    """
    if hint.day is None or hint.last is not None or (unit := unit_before(rest, place, lead)) is None:
        return hint, rest
    meant = replace(hint, week=True) if unit[0] == "week" else replace(hint, last=hint.day + 1)
    return meant, _without(rest, unit[1], place)


def _weekday_before(question: str, place: int) -> str:
    """Return a question without the name of the weekday that stands before a date and belongs to it."""
    found = _OF_WEEKDAY.search(question[:place])
    return _without(question, found.start(), place) if found else question


def feast_hint(feast: Feast, now: datetime, *, gone: bool) -> DateHint | None:
    """Return a feast as the days of its month, without a year unless one is told; a movable one as days of a year."""
    zone, year = zone_of(now), feast.year
    try:
        of_one_month = feast.month is not None and feast.first > 0
        if year is None and (feast.which or not of_one_month):
            year = year_of(feast, now.date(), gone=gone)
        if of_one_month:
            return DateHint(year, feast.month, feast.first, zone=zone, last=feast.last)
        first, last = feast.days(year or now.year)
        return hint_of(first, last + timedelta(days=1), zone)
    except (OverflowError, ValueError):
        return None


def _year_of(named: re.Match[str], rest: str) -> tuple[re.Match[str] | None, bool]:
    """Return the match of the year that belongs to a month named without one, and whether the year belongs to it alone.

    It does in "In 2023, on 3 June", and not in "in May and June 2023".
    """
    year, other = None if named["year"] else YEAR.search(rest), named_month(rest)
    return year, year is None or other is None or not other.start() <= year.start() < other.end()


def _year_meant(hint: DateHint, which: str, today: date) -> int | None:
    """Return the year of "last March": the latest that is over. "Next March" has not begun."""
    if which == "this":
        return today.year
    try:
        years = {year: days for year in range(today.year - 1, today.year + 2) if (days := hint.days(year))}
    except (OverflowError, ValueError):
        return None
    if which == "last":
        return max((year for year, days in years.items() if days[1] <= today), default=None)
    return min((year for year, days in years.items() if days[0] > today), default=None)


def _iso(found: re.Match[str], zone: tzinfo) -> DateHint:
    year, month, day = found.groups()
    return DateHint(int(year), int(month), int(day) if day else None, zone=zone)


def _parts(named: re.Match[str], year: str | None, zone: tzinfo) -> DateHint:
    own_year = named["year"] or year
    day = int(named["before"] or named["after"] or 0)
    return DateHint(
        year=int(own_year) if own_year else None,
        month=MONTHS.index(named["month"][:3].lower()) + 1,
        day=day if 1 <= day <= 31 else None,
        zone=zone,
    )
