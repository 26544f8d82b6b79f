"""Dates named in a question: the time it asks for, or a soft signal. Days are those of the zone of `now`.

A question names either parts of a date ("May 2023", "7 May", "2023-05-07") or a span relative to now ("last
week", "3 days ago", "last summer", "on Monday"). Named parts win where both occur: "last two weeks of May 2023" means
that May.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta, tzinfo

from retrieval.calendar_parts import part_told
from retrieval.dates import DateHint, Period, aware, hint_of, local, midnight, span_of, zone_of
from retrieval.feasts import NAME as FEAST
from retrieval.feasts import Feast, asked_in, year_of
from retrieval.from_now import COUNT, season_told, told_from
from retrieval.months import ISO, MONTH, MONTHS, YEAR, YEAR_TEXT, in_digits, part_before, with_months
from retrieval.namesakes import named_month
from retrieval.weekdays import NAME

# A question of these and a date asks for whatever there is of that time.
_WHATEVER = frozenset(
    """
    what which who when how did do does is are was were be been have has had i we you my our me us the user a an of in
    on at from for to by during around about that this it there and any anything everything something all every thing
    s things else happen happens happened happening will planned due scheduled am doing
    coming go going went come came up new news note notes noted memory memories remember
    remembered recall store stored save saved write wrote written record recorded add added say said tell told talk
    talked speak spoke discuss discussed mention mentioned learn learned learnt show list give find look summary
    summarise summarize sum recap overview please can could
    plan plans calendar agenda diary schedule appointment appointments deadline deadlines must done
    earlier later so far got just
    """.split()  # noqa: SIM905  # A list of a hundred quoted words cannot be read.
)
# With one of these a day or a month is the next: what was kept in the last is not meant.
_TO_COME = frozenset({"happens", "happening", "will", "planned", "due", "scheduled", "coming"})
# Not with one of these: "What was due in May?"
_GONE = frozenset({"was", "were", "did", "had", "happened"})
# With one of these a day of the week is the last: what was kept or said then is asked for.
_KEPT = frozenset(
    """
    went came new news note notes noted memory memories remembered recall store stored save saved write wrote written
    record recorded added said told talked spoke discussed mentioned learned learnt summary summarise summarize sum
    recap been
    """.split()  # noqa: SIM905  # A list of quoted words cannot be read.
)
# With one of these alone a day or a month is the nearer of the next and the last: "Anything in December?"
_PRESENT = frozenset(
    """
    is are am s any anything something do have plan plans calendar agenda diary schedule appointment appointments
    deadline deadlines
    """.split()  # noqa: SIM905  # As above.
)
# What may stand between two dates; one of the second makes all that lies between them meant.
_BETWEEN_DATES = frozenset({"or", "both", "between", "through", "until", "till"})
_RANGE = re.compile(
    rf"\b(?:between|to|through|until|till)\b|\s[-\u2013]\s|{MONTH}[-\u2013]\d|\d[-\u2013]{MONTH}", re.IGNORECASE
)
# Here two dates are meant, and one that is not read makes the other mean nothing.
_TWO = re.compile(r"\bbetween\b|\bfrom\b.*\b(?:to|till|until|through)\b", re.IGNORECASE)
_NOW = re.compile(r"\b(between|from)\s+now\b", re.IGNORECASE)
# All from then to today.
_SINCE = re.compile(r"\bsince\b", re.IGNORECASE)
# All from today to then: "What is due by Friday?", and not "planned by June".
_UNTIL = re.compile(r"\bby\b|\buntil\b|\btill\b", re.IGNORECASE)
_TO_DO = re.compile(r"\b(?:due|deadlines?|to\s+do|must\s+be\s+done)\b", re.IGNORECASE)
# Behind another month or a feast "May" is one too, and "March": "in April and May", "from Easter to May".
_MONTH_BEFORE = re.compile(
    rf"((?:\b(?:in|during|between|from|of)|,)\s+(?:{MONTH}\.?|{FEAST})(?:\s+{YEAR_TEXT})?,?\s+(?:and|or|to|through)\s+)(?=(?-i:May|Mar(?:ch)?)\b(?!['\u2019]))",
    re.IGNORECASE,
)
# So many dates of one question are looked at.
_MOST_DATES = 4
_WEEK_OF = re.compile(rf"\b(?:last|this)\s+(?:{COUNT}\s+)?(?:day|week)s?\s*\Z", re.IGNORECASE)
# Who says so names the first of two days: "the weekend of 21 November".
_WEEKEND_OF = re.compile(r"\b(?:(?:on|at|over)\s+)?(?:the\s+)?weekend\s*\Z", re.IGNORECASE)
# And the week of it: "in the week of 5 May".
_WEEK_WITH = re.compile(r"\b(?:the\s+)?week\s*\Z", re.IGNORECASE)
# What stands before a day says which day of the week it is.
_OF_WEEKDAY = re.compile(rf"\b(?:on\s+)?{NAME}\s*,?\s*(?:the\s+)?\Z", re.IGNORECASE)
_FROM = re.compile(
    rf"\bfrom\s+(?:the\s+|last\s+)?(?:{NAME}|weekend)\b(?!.*\b(?:to|till|until|through)\b)", re.IGNORECASE
)
# It is nothing new.
_NEW_YEAR = re.compile(r"\bnew\s+year", re.IGNORECASE)
_BY = re.compile(r"\bby\s+(?:the\s+)?(?:early|mid|late|beginning|start|middle|end|first|last)\b", re.IGNORECASE)
_WHICH = frozenset({"last", "next", "coming", "this"})
_ELSEWHERE = frozenset({"since", "until", "till", "by", "before", "after"})
_WORD = re.compile(r"[^\W_]+")
# What leads to a date, and would lead nowhere without it; and the blank that a date leaves before a sign.
_LEADS = re.compile(
    r"""(?:[\s,]*\b(?:in|on|at|of|for|from|by|over|around|about|during|since|the|beginning|start|middle|end))*[\s,]*\Z""",
    re.IGNORECASE,
)
_GAP = re.compile(r"\s+(?=[?!.,;:])")


def parse(question: str, now: datetime) -> DateHint | None:
    """The first date that `question` names, or None.

    Relative dates count back from `now` in whole calendar units of its zone: "2 weeks ago" is all of that week, and
    "the last 2 weeks" are the 14 days before today, and today.
    """
    hint = _first(question, now)[0]
    # Of a span that is to come nothing was kept yet.
    return None if hint is not None and hint.start is not None and hint.start >= aware(now) else hint


def timeless(question: str, now: datetime) -> str:
    """Return a question without the date that it names; as it is where that is none, or not the only one.

    >>> [timeless(each, datetime(2026, 5, 1)) for each in ("What did Ada read in January 2026?", "In May, who came?")]
    ['What did Ada read?', 'who came?']
    """
    hint, rest = _first(question, now)
    if hint is None or _first(rest, now)[0] is not None:
        return question
    place = _place_of(rest, with_months(question))
    left = f"{_LEADS.sub('', rest[:place])} {rest[place:]}"
    return _GAP.sub("", " ".join(left.split())).strip(" ,") or question


def _first(question: str, now: datetime) -> tuple[DateHint | None, str]:
    """Return the first date that a question names, and the question with blanks in its place."""
    gone = not _GONE.isdisjoint(_words_of(question))
    # A season without "last" is of whatever year.
    return _taken(with_months(question), aware(now), gone=gone, coming=gone, seasons=False)


def alone(question: str, now: datetime) -> Period | None:
    """Return the time of a question that asks for nothing else, None where it asks for more or names no date.

    A day or a month without its year is the latest that has begun by `now`, or the next where the question speaks of
    what is to come; the nearer of both where it speaks of what is. A day of the week is the next, or the last where the
    question speaks of what has been. Of several dates each is meant, and what lies between where the question says so,
    or from one to today where it asks for what has been since then, or from today where for what is to be done by it.
    """
    since, moment = _SINCE.search(question) is not None, aware(now)
    question = f"{_SINCE.sub('from', question).rstrip(' ?!.')} to today" if since else question
    until = _is_until(question)
    question = _UNTIL.sub("from today until", question) if until else question
    question = _NOW.sub(r"\1 today", _MONTH_BEFORE.sub(r"\1in ", with_months(question)))
    named = named_month(question)
    elsewhere = named is not None and (named["lead"] or "").lower() in _ELSEWHERE and not until
    if elsewhere or _BY.search(question):
        return None
    placed: list[tuple[int, Period]] = []
    before = question
    words = _words_of(question)
    to_come, gone = (_is_to_come(words) and not since) or until, _is_gone(question) or since
    present = not to_come and not gone and not _PRESENT.isdisjoint(words)
    hint, rest = _taken(question, moment, gone=gone)
    while hint is not None:
        if len(placed) == _MOST_DATES or (period := _read(hint, moment, to_come=to_come, present=present)) is None:
            return None
        placed.append((_place_of(rest, before), period))
        before = rest
        hint, rest = _taken(rest, moment, gone=gone)
    found = [period for _, period in sorted(placed, key=lambda each: each[0])]
    closed = _RANGE.search(question) is not None
    if closed and len(found) == 2 and len(YEAR.findall(question)) < 2:
        first, last = found
        found = _in_turn(first, last, asked_in(question), moment)
        if to_come and not YEAR.search(question) and last.named is not None and _is_mostly_over(found, first, moment):
            # Then the next is meant: in November, from March to December.
            on = _period(replace(last.named, year=local(last.start, zone_of(moment)).year + 1), moment, to_come=False)
            found = [first, on] if on is not None else []
    left = _WORD.findall(rest.casefold())
    # "What did June say?" asks for a person, "What is planned for June?" for a month.
    bare = not to_come and named is not None and not any(named[part] for part in ("lead", "before", "after", "year"))
    whatever = _WHATEVER if len(found) < 2 else _WHATEVER | _BETWEEN_DATES
    half = len(found) != 2 if since else len(found) < 2 and _TWO.search(question) is not None
    if not found or half or not whatever.issuperset(left) or (bare and left and not (closed and len(found) == 2)):
        return None
    # What is so each week is no news of a day that is over.
    period = _joined([replace(each, weekday=None) if each.start <= moment else each for each in found], closed=closed)
    return replace(period, to_come=to_come or period.start > moment or (present and period.end > moment))


def _is_until(question: str) -> bool:
    """Tell whether a question asks for what is to be done from today to some day."""
    asked = _UNTIL.search(question) is not None and _TO_DO.search(question) is not None
    return asked and not _is_gone(question) and _TWO.search(question) is None


def _place_of(rest: str, question: str) -> int:
    """Return where the first date of a question stood, which the rest of it has blanks for."""
    return next((at for at, (one, other) in enumerate(zip(rest, question, strict=True)) if one != other), 0)


def _words_of(question: str) -> frozenset[str]:
    return frozenset(_WORD.findall(question.casefold()))


def _is_to_come(words: frozenset[str]) -> bool:
    return not _TO_COME.isdisjoint(words) and _GONE.isdisjoint(words)


def _is_gone(question: str) -> bool:
    """Tell whether a question speaks of what has been, or was kept."""
    words = _words_of(_NEW_YEAR.sub(" ", question))
    return not _is_to_come(words) and (not (_GONE | _KEPT).isdisjoint(words) or _FROM.search(question) is not None)


def _in_turn(first: Period, last: Period, feast: Feast | None, now: datetime) -> list[Period]:
    """Return the ends of a range, of which that without its year is next to the other: 30 December to 2 January.

    So is the last day of the week next to the first: Monday to Friday; and a `feast` that moves, if that is the first.
    None are returned where no year near the other's has such a day.
    """
    if feast is not None and feast.month is None and first.named is not None and last.start < first.start:
        # That moves and is the last.
        after = _feast(feast, first.start.astimezone(zone_of(now)), gone=False)
        found = _period(after, now, to_come=False) if after is not None else None
        return [first, found] if found is not None else []
    dated = feast is not None and feast.year is not None and last.named is not None and last.named.year is None
    if feast is not None and feast.month is None and last.named is not None and (dated or last.start < first.start):
        if feast.year is not None:
            behind = _period(replace(last.named, year=feast.year), now, to_come=False)
            return [first, behind] if behind is not None else []
        before = _feast(feast, last.start.astimezone(zone_of(now)), gone=True)
        found = _period(before, now, to_come=False) if before is not None else None
        return [found, last] if found is not None else []
    if first.weekday is not None and last.weekday is not None and last.start < first.start:
        return (
            [first, _a_week_on(last, zone_of(now))]
            if first.start > now
            else [_a_week_on(first, zone_of(now), -1), last]
        )
    if first.named is None or last.named is None:
        # Today is in the last days of a month already.
        return [first, replace(last, start=max(first.start, last.start))] if first.start < last.end else []
    follows = first.named.year is not None and last.named.year is None
    near, moved = (first, last.named) if follows else (last, first.named)
    year = local(near.start, zone_of(now)).year
    for beside in (year, year + (1 if follows else -1)):
        found = _period(replace(moved, year=beside), now, to_come=False)
        if found is not None and (first.start <= found.start if follows else found.start <= last.start):
            return [first, found] if follows else [found, last]
    return []


def _is_mostly_over(ends: Sequence[Period], first: Period, now: datetime) -> bool:
    """Tell whether more of a range is over than to come, which begins before the `first` day that is to come."""
    return bool(ends) and ends[0].start < first.start and now - ends[0].start > ends[1].end - now


def _read(hint: DateHint, now: datetime, *, to_come: bool, present: bool) -> Period | None:
    """Return the time that a hint means, at `present` the nearer of the next and the last."""
    last = _period(hint, now, to_come=to_come)
    if not present or hint.year is not None or last is None:
        return last
    coming = _period(hint, now, to_come=True)
    return coming if coming is not None and coming.start - now <= now - last.end else last


def _a_week_on(period: Period, zone: tzinfo, weeks: int = 1) -> Period:
    start, end = (local(each, zone).date() + timedelta(weeks=weeks) for each in (period.start, period.end))
    return replace(period, start=midnight(start, zone), end=midnight(end, zone))


def _period(hint: DateHint, now: datetime, *, to_come: bool) -> Period | None:
    if hint.start is not None and hint.end is not None:
        return Period(hint.start, hint.end, weekday=hint.weekday)
    try:
        found = _nearest(hint, now, to_come=to_come)
        return _week_of(found, zone_of(now)) if found is not None and hint.week else found
    except (OverflowError, ValueError):  # 31 June, or beyond the calendar
        return None


def _week_of(period: Period, zone: tzinfo) -> Period | None:
    """Return the week, from Monday, in which a day is. Raises `OverflowError` beyond the calendar."""
    day = local(period.start, zone).date()
    monday = day - timedelta(days=day.weekday())
    span = span_of(monday, monday + timedelta(weeks=1), zone)
    return Period(*span) if span else None


def _joined(periods: list[Period], *, closed: bool) -> Period:
    """Return one period of several: of all that lies between the first and the last where it is `closed`."""
    if len(periods) == 1:
        return periods[0]
    ordered = sorted(periods, key=lambda each: (each.start, each.end))
    start, end = ordered[0].start, max(each.end for each in ordered)
    return Period(start, end, parts=() if closed else tuple(ordered))


def _taken(
    question: str, now: datetime, *, gone: bool, coming: bool = True, seasons: bool = True
) -> tuple[DateHint | None, str]:
    """Return the first date that a question names, and the question with blanks in its place."""
    zone = zone_of(now)
    if found := ISO.search(question):
        return _iso(found, zone), _without(_weekday_before(question, found.start()), *found.span())
    if digits := next(in_digits(question, either=False), None):
        written, month, day = digits
        year_told = int(written["year"]) if written["year"] else None
        rest = _without(_weekday_before(question, written.start()), *written.span())
        return DateHint(year_told, month, day, zone=zone), rest
    if coming and (feast := asked_in(question)) and (hint := _feast(feast, now, gone=gone)):
        return hint, _without(question, feast.start, feast.end)
    if named := named_month(question):
        part = part_before(question, named.start("month")) if not (named["before"] or named["after"]) else None
        # "The last two weeks of May 2023" mean that May.
        start = part[3] if part else named.start()
        rest = _weekday_before(_without(question, start, named.end()), start)
        if of := _WEEK_OF.search(rest[:start]):
            rest = _without(rest, of.start(), start)
        year, apart = _year_of(named, rest)
        hint = _parts(named, year[1] if year else None, zone)
        if part:
            hint = replace(hint, day=part[0], last=part[1], weekday=part[2])
        hint, rest = _with_weekend(hint, rest, start)
        hint, rest = _with_week(hint, rest, start, named)
        if hint.year is None and (named["lead"] or "").lower() in _WHICH:
            hint = replace(hint, year=_year_meant(hint, named["lead"].lower(), now.date()))
        return hint, _without(rest, *year.span()) if year and apart else rest
    season = season_told(now, question, gone=gone) if seasons else None
    told = season or part_told(now, question, gone=gone, coming=coming)
    if told is None and (year := YEAR.search(question)):
        return DateHint(year=int(year[1]), zone=zone), _without(question, *year.span())
    if told := told or told_from(now, question, gone=gone, coming=coming):
        return told[0], _without(question, *told[1])
    return None, question


def _without(question: str, start: int, end: int) -> str:
    return f"{question[:start]}{' ' * (end - start)}{question[end:]}"


def _with_weekend(hint: DateHint, rest: str, place: int) -> tuple[DateHint, str]:
    """Return a day as two where the weekend of it is meant, by what stands before it, and the question without that."""
    of = _WEEKEND_OF.search(rest[:place]) if hint.day is not None and hint.last is None else None
    if hint.day is None or of is None:
        return hint, rest
    return replace(hint, last=hint.day + 1), _without(rest, of.start(), place)


def _with_week(hint: DateHint, rest: str, place: int, named: re.Match[str]) -> tuple[DateHint, str]:
    """Return a day as its week, from Monday, where "the week of" stands before it, and the question without that."""
    of = _WEEK_WITH.search(rest[:place]) if (named["lead"] or "").lower() == "of" and hint.day is not None else None
    return (replace(hint, week=True), _without(rest, of.start(), place)) if of else (hint, rest)


def _weekday_before(question: str, place: int) -> str:
    """Return a question without the day of the week that stands before a date, which it is of."""
    found = _OF_WEEKDAY.search(question[:place])
    return _without(question, found.start(), place) if found else question


def _feast(feast: Feast, now: datetime, *, gone: bool) -> DateHint | None:
    """Return a feast as the days of its month, of no year unless one is told; of one that moves the days."""
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
    """Return the year that a month without one is of, and whether it is said of that alone.

    It is in "In 2023, on 3 June", and not in "in May and June 2023".
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


def _nearest(hint: DateHint, now: datetime, *, to_come: bool) -> Period | None:
    """Return the latest span that has the parts of a hint and has begun, or the first that has not ended."""
    step = 1 if to_come else -1
    # 29 February is in every eighth year at least.
    years = [hint.year] if hint.year is not None else [now.year + step * each for each in range(9)]
    zone = zone_of(now)
    for year in years:
        if (days := hint.days(year)) is None:
            continue
        start, end = days
        if hint.year is not None or (end > now.date() if to_come else start <= now.date()):
            span = span_of(start, end, zone)
            # What notes say of other years is to come no more.
            return Period(*span, replace(hint, year=year) if to_come else hint) if span else None
    return None


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
