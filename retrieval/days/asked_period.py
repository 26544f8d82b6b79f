"""The time that a question asks for where it asks for nothing else, of one date in it or of several.

Days are those of the zone of `now`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import MAXYEAR, datetime, timedelta, tzinfo

from retrieval.days.asked_days import (
    GONE,
    WORD,
    feast_hint,
    place_of,
    take_date,
    words_of,
)
from retrieval.days.asked_plainly import said_plainly
from retrieval.days.calendar_parts import with_days
from retrieval.days.dates import DateHint, Period, aware, local, midnight, span_of, zone_of
from retrieval.days.feasts import NAME as FEAST
from retrieval.days.feasts import Feast, asked_in
from retrieval.days.months import MONTH, YEAR, YEAR_TEXT, with_months
from retrieval.days.namesakes import named_month
from retrieval.days.tense import asks_what_was_done
from retrieval.days.weekdays import NAME

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
# What stands beside a time where whatever was said then is meant: "all plans of May" are not, nor what is to be done.
SAID_THEN = frozenset(
    re.findall(
        r"\w+",
        """
        what everything anything whatever all any both each every single of the my your our those these that things note
        notes memory memories fact facts entry entries it i we you ve have ever just said told mentioned talked spoke
        discussed about wrote know remember recall stored saved noted remembered heard learned got to earlier later so
        far in on at from for during since and
        """,
    )
)
# With one of these a day or a month is the next: what was kept in the last is not meant.
_TO_COME = frozenset({"happens", "happening", "will", "planned", "due", "scheduled", "coming"})
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
TWO = re.compile(r"\bbetween\b|\bfrom\b.*\b(?:to|till|until|through)\b", re.IGNORECASE)
_NOW = re.compile(r"\b(between|from)\s+now\b", re.IGNORECASE)
# All from then to today.
_SINCE = re.compile(r"\bsince\b", re.IGNORECASE)
# All from today to then: "What is due by Friday?", and not "planned by June".
_UNTIL = re.compile(r"\bby\b|\buntil\b|\btill\b|\bbefore\b|\bnot?\s+later\s+than\b", re.IGNORECASE)
# Without that day itself; but what is due "before the end of the week" is due in it.
_BEFORE = re.compile(r"\bbefore\b(?!\s+(?:the\s+)?(?:very\s+)?end\b)", re.IGNORECASE)
# All behind a day, or from it on, to today, or of the year to come.
_AFTER = re.compile(r"(?<!day\s)(?<!week\s)(?<!weekend\s)(?<!month\s)(?<!quarter\s)(?<!year\s)\bafter\b", re.IGNORECASE)
_FROM_ON = re.compile(r"\bfrom\b(.+)\s(?:on|onwards?)(?=\W*\Z)", re.IGNORECASE)
_YEAR = timedelta(days=366)
_TO_DO = re.compile(
    r"\b(?:due|deadlines?|to\s+do|must|(?:have|has|got|need|needs|ought|supposed)\s+to|should)\b", re.IGNORECASE
)
# Behind another month or a feast "May" is one too, and "March": "in April and May", "from Easter to May".
_MONTH_BEFORE = re.compile(
    rf"((?:\b(?:in|during|between|from|of)|,)\s+(?:{MONTH}\.?|{FEAST})(?:\s+{YEAR_TEXT})?,?\s+(?:and|or|to|through)\s+)(?=(?-i:May|Mar(?:ch)?)\b(?!['\u2019]))",
    re.IGNORECASE,
)
# So many dates of one question are looked at.
_MOST_DATES = 4
_FROM = re.compile(
    rf"\bfrom\s+(?:the\s+|last\s+)?(?:{NAME}|weekend)\b(?!.*\b(?:to|till|until|through)\b)", re.IGNORECASE
)
# The "new" of these asks for nothing new.
_NEW_YEAR = re.compile(r"\bnew\s+year", re.IGNORECASE)
_BY = re.compile(r"\bby\s+(?:the\s+)?(?:early|mid|late|beginning|start|middle|end|first|last)\b", re.IGNORECASE)
ELSEWHERE = frozenset({"since", "until", "till", "by", "before", "after"})


@dataclass(frozen=True, slots=True)
class AskedTime:
    """A question in words that the dates of it can be read from, asked at `now`, and what it says of their time.

    `since`: it asks for what has been from its date to today; `until`: for what is to be done from today to its date;
    `onwards`: for what will be from its date on. `without`: for that, but without what is on the date itself.
    `to_come`, `gone` and `present`: it speaks of what is to come, of what has been, or of neither.
    """

    text: str
    now: datetime
    since: bool
    until: bool
    onwards: bool
    without: bool
    to_come: bool
    gone: bool
    present: bool


def alone(question: str, now: datetime, *, beside: frozenset[str] = _WHATEVER) -> Period | None:
    """Return the time of a question that asks for nothing else, None where it asks for more or names no date.

    Of words there may be those `beside` the time.

    A day or a month without its year is the latest that has begun by `now`; the next where the question speaks of what
    is to come; the nearer of both where it speaks of what is. A day of the week is the next, or the last where the
    question speaks of what has been.

    Of several dates each is meant, and what lies between them where the question says so. From one date to today is
    meant where it asks for what has been since then; from today to one where it asks for what is to be done by then.
    """
    asked = read_asked(question, aware(now))
    month = named_month(asked.text)
    lead = (month["lead"] or "").lower() if month is not None else ""
    if (lead in ELSEWHERE and not asked.until) or _BY.search(asked.text):
        return None
    dates = dates_of(asked)
    if dates is None:
        return None
    found, rest = dates
    closed = _RANGE.search(asked.text) is not None
    if closed:
        found = in_their_years(asked, found)
    if not found or _lacks_one(asked, len(found)) or not (found := _reached(asked, found)):
        return None
    # "What did June say?" asks for a person, "What is planned for June?" for a month.
    bare = month is not None and not any(month[part] for part in ("lead", "before", "after", "year"))
    left = WORD.findall(rest.casefold())
    if left and bare and not asked.to_come and not (closed and len(found) == 2):
        return None
    if not (beside if len(found) < 2 else beside | _BETWEEN_DATES).issuperset(left):
        return None
    # The weekday of a day that is over does not count: what a note says of every such weekday is no news of that one.
    told = [replace(each, weekday=None) if each.start <= asked.now else each for each in found]
    period = _joined(told, closed=closed)
    coming = asked.to_come or period.start > asked.now or (asked.present and period.end > asked.now)
    return replace(period, to_come=coming)


def read_asked(question: str, now: datetime) -> AskedTime:
    """Return a question as its dates are read; `now` has a zone."""
    question = said_plainly(question, now)
    after = _FROM_ON.sub(r"after\1", question)
    onwards = not _is_gone(after) and _AFTER.search(after) is not None and TWO.search(after) is None
    without = _AFTER.search(question) is not None
    question = _AFTER.sub("from" if onwards else "since", after)
    since = _SINCE.search(question) is not None
    text = f"{_SINCE.sub('from', question).rstrip(' ?!.')} to today" if since else question
    until = _is_until(text)
    without |= until and _BEFORE.search(text) is not None
    text = _UNTIL.sub("from today until", text) if until else text
    words = words_of(text)
    to_come = (_is_to_come(words) and not since) or until or onwards
    gone = _is_gone(text) or since
    text = with_days(with_months(text), now.date(), gone=gone)
    text = _NOW.sub(r"\1 today", _MONTH_BEFORE.sub(r"\1in ", text))
    present = not to_come and not gone and not _PRESENT.isdisjoint(words)
    reach = {"since": since, "until": until, "onwards": onwards, "without": without}
    return AskedTime(text, now, **reach, to_come=to_come, gone=gone, present=present)


def dates_of(asked: AskedTime) -> tuple[list[Period], str] | None:
    """Return the times of a question in their order and the rest of its text, None where one or more are not read."""
    placed: list[tuple[int, Period]] = []
    before = asked.text
    hint, rest = take_date(before, asked.now, gone=asked.gone)
    while hint is not None:
        if len(placed) == _MOST_DATES:
            return None
        period = _read(hint, asked.now, to_come=asked.to_come, present=asked.present)
        if period is None:
            return None
        placed.append((place_of(rest, before), period))
        before = rest
        hint, rest = take_date(before, asked.now, gone=asked.gone)
    return [period for _, period in sorted(placed, key=lambda each: each[0])], rest


def in_their_years(asked: AskedTime, found: list[Period]) -> list[Period]:
    """Return the dates of a range, each in its year."""
    return _range_of(asked, *found) if len(found) == 2 and len(YEAR.findall(asked.text)) < 2 else found


def _range_of(asked: AskedTime, first: Period, last: Period) -> list[Period]:
    """Return both ends of a range, at least one of which has no year; none where the year of that cannot be told."""
    found = _in_turn(first, last, asked_in(asked.text), asked.now)
    if not asked.to_come or YEAR.search(asked.text) or last.named is None:
        return found
    if not _is_mostly_over(found, first, asked.now):
        return found
    # Its last month is then that of next year: in November, "from March to December".
    year = local(last.start, zone_of(asked.now)).year + 1
    on = period_of(replace(last.named, year=year), asked.now, to_come=False)
    return [first, on] if on is not None else []


def _reached(asked: AskedTime, found: list[Period]) -> list[Period]:
    """Return what is meant by the dates of a question that reaches to one of them or from it; none where no time is."""
    if asked.onwards:
        start = found[0].end if asked.without else found[0].start
        # Nothing is planned beyond the calendar.
        return [Period(start, start + _YEAR)] if len(found) == 1 and start.year < MAXYEAR - 1 else []
    if not asked.without or len(found) < 2:
        return found
    first, last = found[0], found[1]
    start, end = (first.start, last.start) if asked.until else (first.end, last.end)
    return [replace(first, start=start), replace(last, end=end)] if start < end else []


def _lacks_one(asked: AskedTime, dates: int) -> bool:
    """Tell whether a question speaks of two dates, of which not both were read."""
    return dates != 2 if asked.since else dates < 2 and TWO.search(asked.text) is not None


def _is_until(question: str) -> bool:
    """Tell whether a question asks for what is to be done from today to some day."""
    asked = _UNTIL.search(question) is not None and _TO_DO.search(question) is not None
    return asked and not _is_gone(question) and TWO.search(question) is None


def _is_to_come(words: frozenset[str]) -> bool:
    return not _TO_COME.isdisjoint(words) and GONE.isdisjoint(words)


def _is_gone(question: str) -> bool:
    """Tell whether a question speaks of what has been, or was kept."""
    words = words_of(_NEW_YEAR.sub(" ", question))
    said = not (GONE | _KEPT).isdisjoint(words) or asks_what_was_done(question)
    return not _is_to_come(words) and (said or _FROM.search(question) is not None)


def _in_turn(first: Period, last: Period, feast: Feast | None, now: datetime) -> list[Period]:
    """Return the ends of a range, each in the year, or the week, in which it is next to the other.

    So are 30 December to 2 January, Monday to Friday, and a `feast` that moves, wherever it stands. None are returned
    where no year near the other's has such a day.
    """
    moves = feast if feast is not None and feast.month is None else None
    if moves is not None and first.named is not None and last.start < first.start:
        return _to_feast(first, moves, now)
    if moves is not None and last.named is not None:
        dated = moves.year is not None and last.named.year is None
        if dated or last.start < first.start:
            return _from_feast(first, last, last.named, moves, now)
    if first.weekday is not None and last.weekday is not None and last.start < first.start:
        if first.start > now:
            return [first, _a_week_on(last, zone_of(now))]
        return [_a_week_on(first, zone_of(now), -1), last]
    if first.named is None or last.named is None:
        # Today is in the last days of a month already.
        return [first, replace(last, start=max(first.start, last.start))] if first.start < last.end else []
    return _in_years(first, last, first.named, last.named, now)


def _to_feast(first: Period, feast: Feast, now: datetime) -> list[Period]:
    """Return the ends of a range that ends with a movable feast: the one after its beginning is meant."""
    after = feast_hint(feast, first.start.astimezone(zone_of(now)), gone=False)
    found = period_of(after, now, to_come=False) if after is not None else None
    return [first, found] if found is not None else []


def _from_feast(first: Period, last: Period, day: DateHint, feast: Feast, now: datetime) -> list[Period]:
    """Return the ends of a range that begins with a movable feast and ends on a named `day`, which `last` is so far.

    With a year the feast is of that year, and so is the day; without one it is the feast before the day.
    """
    if feast.year is not None:
        behind = period_of(replace(day, year=feast.year), now, to_come=False)
        return [first, behind] if behind is not None else []
    before = feast_hint(feast, last.start.astimezone(zone_of(now)), gone=True)
    found = period_of(before, now, to_come=False) if before is not None else None
    return [found, last] if found is not None else []


def _in_years(first: Period, last: Period, begins: DateHint, ends: DateHint, now: datetime) -> list[Period]:
    """Return the ends of a range between two named days, the one without its year moved next to the other."""
    follows = begins.year is not None and ends.year is None
    near, moved = (first, ends) if follows else (last, begins)
    year = local(near.start, zone_of(now)).year
    for beside in (year, year + (1 if follows else -1)):
        found = period_of(replace(moved, year=beside), now, to_come=False)
        if found is not None and (first.start <= found.start if follows else found.start <= last.start):
            return [first, found] if follows else [found, last]
    return []


def _is_mostly_over(ends: Sequence[Period], first: Period, now: datetime) -> bool:
    """Tell whether more of a range is over than to come, where it begins before its `first` day as that was read."""
    return bool(ends) and ends[0].start < first.start and now - ends[0].start > ends[1].end - now


def _read(hint: DateHint, now: datetime, *, to_come: bool, present: bool) -> Period | None:
    """Return the time that a hint means, at `present` the nearer of the next and the last."""
    last = period_of(hint, now, to_come=to_come)
    if not present or hint.year is not None or last is None:
        return last
    coming = period_of(hint, now, to_come=True)
    return coming if coming is not None and coming.start - now <= now - last.end else last


def _a_week_on(period: Period, zone: tzinfo, weeks: int = 1) -> Period:
    start, end = (local(each, zone).date() + timedelta(weeks=weeks) for each in (period.start, period.end))
    return replace(period, start=midnight(start, zone), end=midnight(end, zone))


def period_of(hint: DateHint, now: datetime, *, to_come: bool) -> Period | None:
    """Return the latest time that fits a hint and has begun, or the next one `to_come`; None where there is none."""
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
    """Return several periods as one: as all between the first and the last if `closed`, or else with each as a part."""
    if len(periods) == 1:
        return periods[0]
    ordered = sorted(periods, key=lambda each: (each.start, each.end))
    start, end = ordered[0].start, max(each.end for each in ordered)
    return Period(start, end, parts=() if closed else tuple(ordered))


def _nearest(hint: DateHint, now: datetime, *, to_come: bool) -> Period | None:
    """Return the latest span that fits a hint and has begun; with `to_come` the first that fits and is not over."""
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
            # What is to come has its year, so that a note which names another year does not tell of it.
            return Period(*span, replace(hint, year=year) if to_come else hint) if span else None
    return None
