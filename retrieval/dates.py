"""Dates named in a question, as a soft signal for memories of that time. Days are those of the zone of `now`.

A question names either parts of a date ("May 2023", "7 May", "2023-05-07") or a span relative to now ("last
week", "3 days ago", "last summer"). Named parts win where both occur: "last week of May 2023" means that May.

Days are counted as dates and turned into moments of UTC last, because a day of a zone may have 23 hours or 25.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo


@dataclass(frozen=True, slots=True)
class DateHint:
    """Either some of year, month (1-12) and day (1-31) of a zone, or the half-open span [start, end)."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    start: datetime | None = None
    end: datetime | None = None
    zone: tzinfo = UTC


@dataclass(frozen=True, slots=True)
class Period:
    """The half-open span [start, end), and the parts of a date that name it, unless it is told from now.

    `parts` are the periods that are meant where what lies between them is not. `to_come` says that what will be then is
    asked for.
    """

    start: datetime
    end: datetime
    named: DateHint | None = None
    to_come: bool = False
    parts: tuple[Period, ...] = ()

    def __contains__(self, moment: datetime) -> bool:
        if self.parts:
            return any(moment in part for part in self.parts)
        return self.start <= _aware(moment) < self.end


def midnight(day: date, zone: tzinfo) -> datetime:
    """Return the moment at which a day of a zone begins, in UTC; where clocks skip midnight, that at which they do.

    Raises `OverflowError` beyond the calendar.
    """
    # In a zone that knows daylight saving, times are compared and subtracted as the clocks show them, not as they pass.
    return datetime.combine(day, time(), zone).astimezone(UTC)


def local(moment: datetime, zone: tzinfo) -> datetime:
    """Return a moment as clocks of a zone show it; in UTC where that is beyond the calendar."""
    try:
        return _aware(moment).astimezone(zone)
    except OverflowError:
        return _aware(moment).astimezone(UTC)


_WEIGHTS = {"year": 1, "month": 2, "day": 1}
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# Also everyday words: they name a month only beside a preposition, a day or a year.
AMBIGUOUS = {"may", "mar", "march"}
# Northern hemisphere, by the first month of three.
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_STEPS = {"a": 1, "an": 1} | {word: number for number, word in enumerate(_NUMBERS)}

YEAR_TEXT = r"(?:19|20)\d\d"
_ISO = re.compile(rf"\b({YEAR_TEXT})-(0[1-9]|1[0-2])(?:-(0[1-9]|[12]\d|3[01]))?(?!\d|-\d)")
# Not a year: an amount ("$2000"), a decimal ("1.2023", "2000.5") or a longer number ("2,000,000").
YEAR = re.compile(rf"(?<![\w$€£.,:/-])({YEAR_TEXT})(?![\w%]|[.,:]\d)")
_MONTH = (
    "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b"
)
NAMED = re.compile(
    rf"""\b(?:(?P<lead>in|during|since|until|till|by|before|after|around|of|last|early|late|mid|between
       |from(?=\s+{_MONTH}\s+(?:to|until|till|through)\s)|(?:planned|scheduled|due)\s+for)[\s-]+)?
    (?:(?<![\w:.])(?P<before>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?)?
    \b(?P<month>{_MONTH})\.?
    (?:\s+(?:the\s+)?(?P<after>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:))?
    (?:,?\s+(?:of\s+)?(?P<year>(?:19|20)\d\d)\b)?""",
    re.IGNORECASE | re.VERBOSE,
)
# Two days of a month that is named once: "19 to 26 December", "December 24 and 25".
_NUMBER = r"\d{1,2}(?:st|nd|rd|th)?"
_WITH = r"\s*(?:[\u2013/&-]|to|till|until|through|and|or)\s*(?:the\s+)?"
_SHARED = re.compile(
    rf"\b(?:(?P<first>(?<![.,:/-]){_NUMBER})(?={_WITH}{_NUMBER}\s+(?:of\s+)?(?P<of>{_MONTH}))"
    rf"|(?P<month>{_MONTH})(?P<day>\.?\s+(?:the\s+)?{_NUMBER}{_WITH})"
    rf"(?={_NUMBER}(?!\w|[.,:]\d|\s?[ap]m\b|\s+(?:of\s+)?{_MONTH})))",
    re.IGNORECASE,
)
_STEP = rf"(\d{{1,4}}|{'|'.join(_STEPS)})\s+(day|week|month|year)s?"
_AGO = re.compile(rf"\b{_STEP}\s+ago\b", re.IGNORECASE)
_AHEAD = re.compile(rf"\bin\s+{_STEP}\b", re.IGNORECASE)
# As many as people mean by these, and a little more.
_COUNTS = {word: number for number, word in enumerate(_NUMBERS) if number > 1} | {"couple of": 2, "few": 5}
_COUNT = rf"(?P<count>\d{{1,4}}|{'|'.join(_COUNTS)})"
_WITHIN = re.compile(
    rf"\b(?:(?:over|within)\s+(?:the\s+)?)?(?:(?:last|past|(?P<ahead>next|coming))\s+(?:{_COUNT})"
    r"\s+(?P<units>day|week|month|year)s|past\s+(?P<unit>week|month|year))\b(?!\s+(?:ago|of)\b)",
    re.IGNORECASE,
)
_RECENT = re.compile(
    r"\b(?:(?:the\s+)?(?P<day>(?:day\s+before\s+)?yesterday|today|(?:day\s+after\s+)?tomorrow)"
    r"|(?P<which>last|this|next)\s+(?P<unit>week|month|year))\b",
    re.IGNORECASE,
)
_BACK = {"day before yesterday": 2, "yesterday": 1, "last": 1, "tomorrow": -1, "next": -1, "day after tomorrow": -2}
_SEASON = re.compile(rf"\blast\s+({'|'.join(_SEASONS)})\b", re.IGNORECASE)
# A question of these and a date asks for whatever there is of that time.
_WHATEVER = frozenset(
    """
    what which who when how did do does is are was were be been have has had i we you my our me us the user a an of in
    on at from for to by during around about that this it there and any anything everything something all every thing
    s things else happen happens happened happening will planned due scheduled
    coming go going went come came up new news note notes noted memory memories remember
    remembered recall store stored save saved write wrote written record recorded add added say said tell told talk
    talked speak spoke discuss discussed mention mentioned learn learned learnt show list give find look summary
    summarise summarize sum recap overview please can could
    """.split()  # noqa: SIM905  # A list of a hundred quoted words cannot be read.
)
# With one of these a day or a month is the next: what was kept in the last is not meant.
_TO_COME = frozenset({"happens", "happening", "will", "planned", "due", "scheduled", "coming"})
# Not with one of these: "What was due in May?"
_GONE = frozenset({"was", "were", "did", "had", "happened"})
# What may stand between two dates; one of the second makes all that lies between them meant.
_BETWEEN_DATES = frozenset({"or", "both", "between", "through", "until", "till"})
_RANGE = re.compile(
    rf"\b(?:between|to|through|until|till)\b|\s[-\u2013]\s|{_MONTH}[-\u2013]\d|\d[-\u2013]{_MONTH}", re.IGNORECASE
)
# So many dates of one question are looked at.
_MOST_DATES = 4
_WEEK_OF = re.compile(rf"\b(?:last|this)\s+(?:{_COUNT}\s+)?(?:day|week)s?\s*\Z", re.IGNORECASE)
# Behind one of these stands somebody: "What did June say?"
_AUXILIARY = re.compile(r"\b(?:do|does|did|can|could|will|would|shall|should|must|is|was|has|had)\s+\Z", re.IGNORECASE)
# Characters that are looked at before a month.
_NEAR = 16
_ELSEWHERE = frozenset({"since", "until", "till", "by", "before", "after"})
_WORD = re.compile(r"[^\W_]+")


def with_months(text: str) -> str:
    """Return a text in which each day has its month, where two share one.

    >>> with_months("from 19 to 26 December, and on May 3rd and 4th")
    'from 19 December to 26 December, and on May 3rd and May 4th'
    """
    return _SHARED.sub(
        lambda found: f"{found['first']} {found['of']}" if found["of"] else f"{found[0]}{found['month']} ", text
    )


def parse(question: str, now: datetime) -> DateHint | None:
    """The first date that `question` names, or None.

    Relative dates count back from `now` in whole calendar units of its zone: "2 weeks ago" is all of that week, and
    "the last 2 weeks" are the 14 days before today, and today.
    """
    hint = _taken(with_months(question), _aware(now))[0]
    # Of a span that is to come nothing was kept yet.
    return None if hint is not None and hint.start is not None and hint.start >= _aware(now) else hint


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
    fitting = sum(weight for part, weight in named.items() if getattr(hint, part) == getattr(moment, part))
    return fitting / sum(named.values()) if named else 0.0


def alone(question: str, now: datetime) -> Period | None:
    """Return the time of a question that asks for nothing else, None where it asks for more or names no date.

    A day or a month without its year is the latest that has begun by `now`, or the next where the question speaks of
    what is to come. Of several dates each is meant, and what lies between where the question says so.
    """
    question, moment = with_months(question), _aware(now)
    named = _named_month(question)
    if named is not None and (named["lead"] or "").lower() in _ELSEWHERE:
        return None
    found: list[Period] = []
    words = frozenset(_WORD.findall(question.casefold()))
    to_come = not _TO_COME.isdisjoint(words) and _GONE.isdisjoint(words)
    hint, rest = _taken(question, moment)
    while hint is not None:
        if len(found) == _MOST_DATES or (period := _period(hint, moment, to_come=to_come)) is None:
            return None
        found.append(period)
        hint, rest = _taken(rest, moment)
    closed = _RANGE.search(question) is not None
    if closed and len(found) == 2 and len(YEAR.findall(question)) < 2:
        found = _in_turn(found[0], found[1], moment)
    left = _WORD.findall(rest.casefold())
    # "What did June say?" asks for a person, "What is planned for June?" for a month.
    bare = not to_come and named is not None and not any(named[part] for part in ("lead", "before", "after", "year"))
    whatever = _WHATEVER if len(found) < 2 else _WHATEVER | _BETWEEN_DATES
    if not found or not whatever.issuperset(left) or (bare and left):
        return None
    return replace(_joined(found, closed=closed), to_come=to_come)


def _in_turn(first: Period, last: Period, now: datetime) -> list[Period]:
    """Return the ends of a range, of which that without its year is next to the other: 30 December to 2 January.

    None are returned where no year near the other's has such a day.
    """
    if first.named is None or last.named is None:
        return [first, last]
    follows = first.named.year is not None and last.named.year is None
    near, moved = (first, last.named) if follows else (last, first.named)
    year = local(near.start, _zone(now)).year
    for beside in (year, year + (1 if follows else -1)):
        found = _period(replace(moved, year=beside), now, to_come=False)
        if found is not None and (first.start <= found.start if follows else found.start <= last.start):
            return [first, found] if follows else [found, last]
    return []


def _period(hint: DateHint, now: datetime, *, to_come: bool) -> Period | None:
    if hint.start is not None and hint.end is not None:
        return Period(hint.start, hint.end)
    try:
        return _nearest(hint, now, to_come=to_come)
    except (OverflowError, ValueError):  # 31 June, or beyond the calendar
        return None


def _joined(periods: list[Period], *, closed: bool) -> Period:
    """Return one period of several: of all that lies between the first and the last where it is `closed`."""
    if len(periods) == 1:
        return periods[0]
    ordered = sorted(periods, key=lambda each: (each.start, each.end))
    start, end = ordered[0].start, max(each.end for each in ordered)
    return Period(start, end, parts=() if closed else tuple(ordered))


def _taken(question: str, now: datetime) -> tuple[DateHint | None, str]:
    """Return the first date that a question names, and the question without it."""
    zone = _zone(now)
    if found := _ISO.search(question):
        return _iso(found, zone), _without(question, found)
    if named := _named_month(question):
        # "The last week of May 2023" means that May.
        rest = f"{_WEEK_OF.sub(' ', question[: named.start()])} {question[named.end() :]}"
        year, apart = _year_of(named, rest)
        return _parts(named, year[1] if year else None, zone), _without(rest, year) if year and apart else rest
    if year := YEAR.search(question):
        return DateHint(year=int(year[1]), zone=zone), _without(question, year)
    ways = ((_AGO, _ago), (_WITHIN, _within), (_RECENT, _recent), (_SEASON, _season), (_AHEAD, _ahead))
    for pattern, read in ways:
        if (found := pattern.search(question)) and (hint := read(found, now)):
            return hint, _without(question, found)
    return None, question


def _without(question: str, found: re.Match[str]) -> str:
    return f"{question[: found.start()]} {question[found.end() :]}"


def _year_of(named: re.Match[str], rest: str) -> tuple[re.Match[str] | None, bool]:
    """Return the year that a month without one is of, and whether it is said of that alone.

    It is in "In 2023, on 3 June", and not in "in May and June 2023".
    """
    year, other = None if named["year"] else YEAR.search(rest), _named_month(rest)
    return year, year is None or other is None or not other.start() <= year.start() < other.end()


def _nearest(hint: DateHint, now: datetime, *, to_come: bool) -> Period | None:
    """Return the latest span that has the parts of a hint and has begun, or the first that has not ended."""
    step = 1 if to_come else -1
    # 29 February is in every eighth year at least.
    years = [hint.year] if hint.year is not None else [now.year + step * each for each in range(9)]
    zone = _zone(now)
    for year in years:
        if hint.month is None:
            return Period(midnight(_month(year, 1), zone), midnight(_month(year + 1, 1), zone), hint)
        start, end = _month(year, hint.month), _month(year, hint.month + 1)
        if hint.day is not None:
            start += timedelta(days=hint.day - 1)
            if start >= end:
                continue  # 29 February is not in every year.
            end = start + timedelta(days=1)
        if hint.year is not None or (end > now.date() if to_come else start <= now.date()):
            span = _between(start, end, zone)
            # What notes say of other years is to come no more.
            return Period(*span, replace(hint, year=year) if to_come else hint) if span else None
    return None


def _between(first: date, behind: date, zone: tzinfo) -> tuple[datetime, datetime] | None:
    """Return the span from a day to the one behind it; None where a zone that crossed the date line had no such day."""
    start, end = midnight(first, zone), midnight(behind, zone)
    return (start, end) if start < end else None


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


def _named_month(question: str) -> re.Match[str] | None:
    for found in NAMED.finditer(question):
        if any(found[part] for part in ("lead", "before", "after", "year")):
            return found
        before, after = question[max(0, found.start() - _NEAR) : found.start()], question[found.end() : found.end() + 2]
        somebody = _AUXILIARY.search(before) is not None or after in {"'s", "\u2019s"}
        if found["month"].lower() not in AMBIGUOUS and not somebody:
            return found
    return None


def _ago(found: re.Match[str], now: datetime) -> DateHint | None:
    return _span(now, found[2].lower(), _steps(found[1]))


def _ahead(found: re.Match[str], now: datetime) -> DateHint | None:
    return _span(now, found[2].lower(), -_steps(found[1]))


def _steps(said: str) -> int:
    return int(said) if said.isdigit() else _STEPS[said.lower()]


def _within(found: re.Match[str], now: datetime) -> DateHint | None:
    """The days since the one that was so many units before that of `now`, both included; ahead, from now on."""
    count, today = (found["count"] or "1").lower(), now.date()
    number = _COUNTS[" ".join(count.split())] if not count.isdigit() else int(count)
    unit, ahead = (found["units"] or found["unit"]).lower(), found["ahead"] is not None
    steps = number if ahead else -number
    try:
        if unit in {"day", "week"}:
            other = today + timedelta(days=steps * (1 if unit == "day" else 7))
        else:
            month = _month(today.year, today.month + steps * (1 if unit == "month" else 12))
            # A month may lack the last days of this one.
            other = min(month + timedelta(days=today.day - 1), _month(month.year, month.month + 1) - timedelta(days=1))
        first, last = sorted((today, other))
        span = _hint(first, last + timedelta(days=1), _zone(now))
        return replace(span, start=now.astimezone(UTC)) if span is not None and ahead else span
    except (OverflowError, ValueError):
        return None


def _recent(found: re.Match[str], now: datetime) -> DateHint | None:
    said = (found["day"] or found["which"]).lower()
    back = _BACK.get(" ".join(said.split()), 0)
    return _span(now, (found["unit"] or "day").lower(), back)


def _span(now: datetime, unit: str, back: int) -> DateHint | None:
    """The calendar day, week (from Monday), month or year, `back` of them before that of `now`, or behind it."""
    today = now.date()
    try:
        if unit in {"day", "week"}:
            length = timedelta(days=1 if unit == "day" else 7)
            first = today - (timedelta(days=today.weekday()) if unit == "week" else timedelta(0)) - back * length
            return _hint(first, first + length, _zone(now))
        months = 1 if unit == "month" else 12
        first = _month(today.year, (today.month if unit == "month" else 1) - back * months)
        return _hint(first, _month(first.year, first.month + months), _zone(now))
    except (OverflowError, ValueError):  # before year 1: "9999 years ago" names no date
        return None


def _hint(first: date, behind: date, zone: tzinfo) -> DateHint | None:
    span = _between(first, behind, zone)
    return DateHint(start=span[0], end=span[1]) if span else None


def _season(found: re.Match[str], now: datetime) -> DateHint | None:
    """The latest such season that is over: in July, "last summer" is the one of the year before."""
    first = _SEASONS[found[1].lower()]
    try:
        ends = (_month(year, first + 3) for year in (now.year, now.year - 1, now.year - 2))
        end = next(each for each in ends if each <= now.date())
        return _hint(_month(end.year, end.month - 3), end, _zone(now))
    except (OverflowError, ValueError):  # before year 1, or after year 9999
        return None


def _month(year: int, month: int) -> date:
    """The first day of a month; months outside 1-12 roll over into other years."""
    years, index = divmod(month - 1, 12)
    return date(year + years, index + 1, 1)


def _aware(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def _zone(moment: datetime) -> tzinfo:
    return moment.tzinfo or UTC
