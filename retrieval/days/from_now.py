"""Times that are told from now: "yesterday", "3 days ago", "last summer", "on Monday".

In a question that is the moment at which it is asked, in a note that at which it was kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import chain

from retrieval.days import weekdays
from retrieval.days.closely import finds
from retrieval.days.dates import DateHint, hint_of, month_start, moved, unit_days, zone_of
from retrieval.days.months import YEAR_TEXT

# Northern hemisphere, by the first month of three.
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_STEPS = {"a": 1, "an": 1} | {word: number for number, word in enumerate(_NUMBERS)}
STEPS = rf"\d{{1,4}}|{'|'.join(_STEPS)}"
# "In a quarter of an hour" is today.
_STEP = rf"({STEPS})\s+(day|week|fortnight|month|quarter(?!\s+of\b)|year)s?"
_AGO = re.compile(rf"(?<!\bhalf\s)\b{_STEP}\s+ago\b", re.IGNORECASE)
_AHEAD = re.compile(rf"\b(?:in\s+{_STEP}(?:['\u2019]?\s+time)?|{_STEP}\s+from\s+(?:now|today))\b", re.IGNORECASE)
# The numbers that people mean by these words, and a little more.
_COUNTS = {word: number for number, word in enumerate(_NUMBERS) if number > 1} | {"couple of": 2, "few": 5}
COUNT = rf"(?P<count>\d{{1,4}}|{'|'.join(_COUNTS)})".replace(" ", r"\s+")
_WITHIN = re.compile(
    rf"""\b(?:(?:over|within)\s+(?:the\s+)?)?(?:
        (?:last|past|(?P<ahead>next|coming))\s+(?:{COUNT}\s+(?P<units>day|week|month|quarter|year)s|(?P<two>fortnight))
      | past\s+(?P<unit>week|month|quarter|year))\b(?!\s+(?:ago|of)\b)""",
    re.IGNORECASE | re.VERBOSE,
)
# From now on: "in the coming days", "over the next week", "within a month".
_SOON = re.compile(
    rf"""\b(?:
        (?:(?:in|over|within|during)\s+)?(?:the\s+)?(?:next|coming)\s+(?:(?P<several>day|week|month)s
          | (?P<hours>{STEPS})\s+hours?)
      | (?:over\s+the\s+(?:next|coming)|within\s+the(?:\s+next|\s+coming)?)\s+(?P<one>week|month|quarter|year)
      | within\s+(?P<count>{STEPS})\s+(?P<units>day|week|fortnight|month|quarter|year)s?
      )\b(?!\s+(?:ago|of|after|before)\b)""",
    re.IGNORECASE | re.VERBOSE,
)
_SEVERAL = 5
# Notes tell no other day by minutes and hours.
_CLOCK = re.compile(
    rf"""\b(?:(?:(?:over|within|in)\s+(?:the\s+)?)?(?:last|past)\s+(?:{COUNT}\s+)?(?P<unit>hour|minute)s?
      | (?P<ago>half\s+an|{STEPS})\s+(?P<units>hour|minute)s?\s+ago)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_HALVES_AGO = re.compile(
    rf"""\b(?:half\s+a\s+year|(?P<years>{STEPS})\s+(?:years?\s+and\s+a\s+half|and\s+a\s+half\s+years))
    \s+ago\b""",
    re.IGNORECASE | re.VERBOSE,
)
_RECENT = re.compile(
    r"\b(?:(?:the\s+)?(?P<day>(?:day\s+before\s+)?yesterday|today|(?:day\s+after\s+)?tomorrow)"
    r"(?:\s+(?:morning|afternoon|evening|night))?"
    # "My last year" is the last of all.
    r"|(?<!\bmy\s)(?<!\bour\s)(?<!\byour\s)(?<!\bhis\s)(?<!\bher\s)(?<!\btheir\s)"
    r"(?P<which>last|this|next|coming)\s+(?P<unit>week|month|quarter(?!\s+of\b)|year))\b",
    re.IGNORECASE,
)
_BACK = {"day before yesterday": 2, "yesterday": 1, "last": 1}
_BACK |= {"tomorrow": -1, "next": -1, "coming": -1, "day after tomorrow": -2}
# In a note these mean the day on which it was kept: "Slept badly last night".
_CLOSE = re.compile(
    r"\b(?:this\s+(?:morning|afternoon|evening)|tonight|(?P<night>last\s+night)"
    r"|the\s+(?P<unit>week|month|quarter|year)\s+(?P<beyond>before\s+last|after\s+next))\b",
    re.IGNORECASE,
)
_NAME_OF_SEASON = rf"(?P<name>{'|'.join(SEASONS)})\b"
_SEASON = re.compile(rf"\b(?P<which>last|this|next)\s+{_NAME_OF_SEASON}", re.IGNORECASE)
_IN_SEASON = re.compile(
    rf"\b(?:(?:in|during|over)(?:\s+the)?|(?:from|to|between|and|until)(?!\s+fall))\s+{_NAME_OF_SEASON}"
    rf"(?:,?\s+(?:of\s+)?(?P<year>{YEAR_TEXT})\b)?",
    re.IGNORECASE,
)
# So many units ago at most, and at least.
_ABOUT = {"few": (5, 2), "couple of": (3, 1)}
_ABOUT_AGO = re.compile(r"\b(?:a\s+)?(few|couple\s+of)\s+(day|week|month|year)s\s+ago\b", re.IGNORECASE)
# A day of the week alone is one where nothing follows that it may be of: "the Monday meeting".
_WEEKDAY = re.compile(
    rf"""(?<![\w-])(?P<at>(?:on|at|over(?=.*weekend))\s+(?:the\s+)?)?(?:the\s+)?(?:(?P<which>{weekdays.WHICH})\s+)?
    (?P<day>{weekdays.NAME}|weekend)(?:\s+(?P<beyond>before\s+last|after\s+next)|,?\s+(?:of\s+)?(?P<week>last|this|next)\s+week)?
    (?:\s+(?:morning|afternoon|evening|night))?
    (?![\w-]|['\u2019]s|\s+(?:of|before|after)\b)
    (?(at)|(?(which)|(?(beyond)|(?(week)|(?=\s*(?:\Z|[?!.,;:\u2013-]|(?:and|or|to|till|until|through)\b))))))""",
    re.IGNORECASE | re.VERBOSE,
)
# Behind one of these it is any such day, or one that is counted from elsewhere.
_ANY_SUCH = re.compile(
    r"""\b(?:an? | each | every | any | most | some | all | other | alternate | first | second | third | fourth | fifth
      | [1-5](?:st|nd|rd|th) | since | by | before | after)\s+(?:on\s+|the\s+)?\Z""",
    re.IGNORECASE | re.VERBOSE,
)
_THE_LAST = re.compile(r"(?:(?:on|at|over)\s+)?the\s+(?:last|past)\b(?!\s+weekend)", re.IGNORECASE)
# Characters that are looked at before one.
_NEAR = 16
# Any time but a day of the week is told with one of these words.
_PLACES = re.compile("|".join(("yesterday|today|tomorrow|day|week|fortnight|month|quarter|year", *SEASONS)))


def told_from(now: datetime, question: str, *, gone: bool, coming: bool) -> tuple[DateHint, tuple[int, int]] | None:
    """Return a span that a question tells from now, and where it does; None where it tells none.

    `gone` says that the question asks for what has been: a day of the week is one of the last seven then. Days
    of the week that are not over are read only where what is `coming` may be asked for.
    """
    for found in _WEEKDAY.finditer(question):
        counted = _ANY_SUCH.search(question[max(0, found.start() - _NEAR) : found.start()]) or _THE_LAST.match(found[0])
        hint = _weekday(found, now, gone=gone) if counted is None else None
        if hint is not None and (coming or hint.end is None or hint.end <= now):
            return hint, found.span()
    for pattern, read in _WAYS:
        first = pattern.search(question)
        if first is not None and (hint := read(first, now)) is not None:
            return hint, first.span()
    if (season := _SEASON.search(question)) and (coming or season["which"].lower() == "last"):
        hint = _season(season, now, gone=gone)
        return (hint, season.span()) if hint is not None else None
    return None


def season_told(now: datetime, question: str, *, gone: bool) -> tuple[DateHint, tuple[int, int]] | None:
    """Return a season that a question names without "last" and the like, with its year or none, and where it does."""
    found = _IN_SEASON.search(question)
    hint = _season(found, now, gone=gone) if found is not None else None
    return (hint, found.span()) if found is not None and hint is not None else None


def words_for(question: str) -> list[str]:
    """Return the names of the seasons of a question: a note may have one that tells no year of it.

    >>> words_for("What happens tomorrow, this winter and in spring, and on 3 May?")
    ['winter', 'spring']
    """
    return [each["name"].casefold() for each in chain(_SEASON.finditer(question), _IN_SEASON.finditer(question))]


def every_told(kept: datetime, text: str) -> Iterator[tuple[DateHint, re.Match[str]]]:
    """Give the spans that a text tells from the moment at which it was kept, and where; days of the week are none.

    A season without its year is that before and that behind.
    """
    for pattern, read in _WAYS_OF_NOTES:
        for found in finds(pattern, text, _PLACES):
            if (hint := read(found, kept)) is not None:
                yield hint, found
    for pattern, ways in ((_SEASON, (False,)), (_IN_SEASON, (False, True))):
        for found in finds(pattern, text, _PLACES):
            for gone in ways:
                if (hint := _season(found, kept, gone=gone)) is not None:
                    yield hint, found


def _ago(found: re.Match[str], now: datetime) -> DateHint | None:
    return _span(now, found[2].lower(), steps_of(found[1]))


def _about_ago(found: re.Match[str], now: datetime) -> DateHint | None:
    most, least = _ABOUT[" ".join(found[1].lower().split())]
    first, last = (_span(now, found[2].lower(), back) for back in (most, least))
    return replace(first, end=last.end) if first is not None and last is not None else None


def _ahead(found: re.Match[str], now: datetime) -> DateHint | None:
    return _span(now, (found[2] or found[4]).lower(), -steps_of(found[1] or found[3]))


def _halves_ago(found: re.Match[str], now: datetime) -> DateHint | None:
    return _span(now, "month", 12 * steps_of(found["years"] or "zero") + 6)


def _clock(found: re.Match[str], now: datetime) -> DateHint | None:
    """What lies so many minutes or hours back; "ago" from half as much again to half of that."""
    unit, ago = (found["unit"] or found["units"]).lower(), (found["ago"] or "").lower()
    of_one, moment = timedelta(**{f"{unit}s": 1}), now.astimezone(UTC)
    try:
        if not ago:
            return DateHint(start=moment - _count(found["count"]) * of_one, end=moment)
        back = (0.5 if ago.startswith("half") else steps_of(ago)) * of_one
        return DateHint(start=moment - 1.5 * back, end=moment - 0.5 * back) if back else None
    except OverflowError:  # before year 1
        return None


def _count(said: str | None) -> int:
    count = " ".join((said or "1").lower().split())
    return int(count) if count.isdigit() else _COUNTS[count]


def steps_of(said: str) -> int:
    """Return the number that one of `STEPS` says."""
    return int(said) if said.isdigit() else _STEPS[said.lower()]


def _within(found: re.Match[str], now: datetime) -> DateHint | None:
    """The days since the one that was so many units before that of `now`, both included; ahead, from now on."""
    unit, ahead, today = (
        (found["units"] or found["two"] or found["unit"]).lower(),
        found["ahead"] is not None,
        now.date(),
    )
    steps = _count(found["count"]) * (1 if ahead else -1)
    if unit == "fortnight":
        unit, steps = "week", 2 * steps
    try:
        first, last = sorted((today, moved(today, unit, steps)))
        span = hint_of(first, last + timedelta(days=1), zone_of(now))
        return replace(span, start=now.astimezone(UTC)) if span is not None and ahead else span
    except (OverflowError, ValueError):
        return None


def _soon(found: re.Match[str], now: datetime) -> DateHint | None:
    """The days from now to that in so many units, it included; in a day of hours the day of the last."""
    unit = (found["several"] or found["one"] or found["units"] or "day").lower()
    steps = steps_of(found["count"]) if found["count"] else _SEVERAL if found["several"] else 1
    if unit == "fortnight":
        unit, steps = "week", 2 * steps
    try:
        hours = steps_of(found["hours"]) if found["hours"] else 0
        last = (now + timedelta(hours=hours)).date() if hours else moved(now.date(), unit, steps)
        span = hint_of(now.date(), last + timedelta(days=1), zone_of(now))
        return replace(span, start=now.astimezone(UTC)) if span is not None else None
    except (OverflowError, ValueError):
        return None


def _recent(found: re.Match[str], now: datetime) -> DateHint | None:
    said = (found["day"] or found["which"]).lower()
    back = _BACK.get(" ".join(said.split()), 0)
    return _span(now, (found["unit"] or "day").lower(), back)


def _close(found: re.Match[str], now: datetime) -> DateHint | None:
    """The unit before the last or after the next; today; or of a night the evening and the morning after."""
    if found["unit"] is not None:
        return _span(now, found["unit"].lower(), 2 if found["beyond"].lower().startswith("before") else -2)
    today, before = _span(now, "day", 0), _span(now, "day", 1)
    return replace(today, start=before.start) if found["night"] and today and before else today


def _span(now: datetime, unit: str, back: int) -> DateHint | None:
    """The calendar unit `back` of them before that of `now`, or behind it; of fortnights a week."""
    if unit == "fortnight":
        unit, back = "week", 2 * back
    try:
        return hint_of(*unit_days(now.date(), unit, back), zone_of(now))
    except (OverflowError, ValueError):  # before year 1: "9999 years ago" names no date
        return None


def _season(found: re.Match[str], now: datetime, *, gone: bool) -> DateHint | None:
    """The latest such season that is over: in July, "last summer" is the one of the year before.

    This one is that of the year, or the winter that is not over, and the next has not begun. Without such a word, and
    without its year, it is the one that is not over, or what is `gone` the latest that has begun.
    """
    said = found.groupdict(default="")
    which, year, first, today = (
        said.get("which", "").lower(),
        said.get("year"),
        SEASONS[said["name"].lower()],
        now.date(),
    )
    try:
        years = [int(year)] if year else range(now.year - 2, now.year + 3)
        spans = [(month_start(year, first), month_start(year, first + 3)) for year in years]
        if year:
            span = spans[0]
        elif which == "last":
            span = max(each for each in spans if each[1] <= today)
        elif which == "next":
            span = min(each for each in spans if each[0] > today)
        elif gone:
            span = max(each for each in spans if each[0] <= today)
        else:
            span = min(each for each in spans if each[1] > today or (which and each[0].year == today.year))
        return hint_of(*span, zone_of(now))
    except (OverflowError, ValueError):  # before year 1, or after year 9999
        return None


def _weekday(found: re.Match[str], now: datetime, *, gone: bool) -> DateHint | None:
    name, which, today = found["day"].lower(), (found["which"] or "").lower(), now.date()
    weekend = name == "weekend"
    if weekend and not (which or found["at"] or found["beyond"]):
        return None
    weekday = weekdays.WEEKEND if weekend else weekdays.DAYS.index(name)
    try:
        if found["week"]:
            first = weekdays.day_of(weekday, today, found["week"].lower(), week=True)
        else:
            beyond = (found["beyond"] or "").split()
            which = beyond[1].lower() if beyond else which
            first = weekdays.day_of(weekday, today, which, weekend=weekend, gone=gone)
            first += timedelta(weeks={"last": -1, "next": 1}[which]) if beyond else timedelta(0)
        hint = hint_of(first, first + timedelta(days=2 if weekend else 1), zone_of(now))
    except OverflowError:
        return None
    return replace(hint, weekday=weekday) if hint is not None and not weekend else hint


# "Slept badly for the last three days" tells of each of them, and of none alone.
_WAYS_OF_NOTES = (
    (_AGO, _ago),
    (_ABOUT_AGO, _about_ago),
    (_HALVES_AGO, _halves_ago),
    (_AHEAD, _ahead),
    (_RECENT, _recent),
)
_WAYS = (
    (_SOON, _soon),
    *_WAYS_OF_NOTES[:3],
    (_WITHIN, _within),
    *_WAYS_OF_NOTES[3:],
    (_CLOSE, _close),
    (_CLOCK, _clock),
)
