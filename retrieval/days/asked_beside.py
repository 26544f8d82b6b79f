"""The past time that a question names beside what it asks for: "What did we decide between March and May?"."""

from __future__ import annotations

import re
from datetime import datetime

from retrieval.days.asked_days import joined, parse, timeless
from retrieval.days.asked_period import ELSEWHERE, TWO, dates_of, in_their_years, period_of, read_asked
from retrieval.days.dates import DateHint, Period, aware, zone_of
from retrieval.days.months import YEAR

# What is asked for is not of the date alone that stands there.
_BESIDE = re.compile(rf"\b(?:{'|'.join(sorted(ELSEWHERE))}|between|from)\b", re.IGNORECASE)


def hint_of(question: str, now: datetime) -> DateHint | None:
    """Return the past time that a question names, by both ends of it or as `parse` reads its first date; or None."""
    ranged = _ranged(question, now)
    return parse(question, now) if ranged is None else ranged[0]


def without_time(question: str, now: datetime) -> str:
    """Return a question without the past time that it names, by both ends of it or as `timeless` knows it.

    >>> without_time("What did we decide between March and May 2025?", datetime(2026, 5, 1))
    'What did we decide?'
    """
    ranged = _ranged(question, now)
    return timeless(question, now) if ranged is None else ranged[1]


def _ranged(question: str, now: datetime) -> tuple[DateHint, str] | None:
    """Return a past time of which a question names both ends, and the rest of the question; None where it does not."""
    if TWO.search(question) is None:
        return None
    asked = read_asked(question, aware(now))
    if asked.since or asked.until or asked.onwards or not (asked.gone or YEAR.search(asked.text)):
        return None
    found, rest = dates_of(asked) or ([], "")
    found = in_their_years(asked, found)
    if len(found) != 2 or not found[0].start < min(found[1].end, asked.now):
        return None
    taken = [place for place, (one, other) in enumerate(zip(rest, asked.text, strict=True)) if one != other]
    hint = DateHint(start=found[0].start, end=found[1].end, zone=zone_of(now))
    return hint, joined(asked.text[: taken[0]], asked.text[taken[-1] + 1 :]) or question


def past_named(question: str, now: datetime) -> Period | None:
    """Return the past time that a question names beside what it asks for; None where it names none, or what is now.

    >>> found = past_named("Where did Ana live in 2024?", datetime(2026, 5, 1))
    >>> str(found.start.date()), str(found.end.date()), past_named("Where does Ana live in May?", datetime(2026, 5, 1))
    ('2024-01-01', '2025-01-01', None)
    """
    asked = read_asked(question, aware(now))
    if (ranged := _ranged(question, now)) is not None:
        return period_of(ranged[0], asked.now, to_come=False)
    if _BESIDE.search(question) is not None or (hint := parse(question, now)) is None:
        return None
    period = period_of(hint, asked.now, to_come=False)
    begun = period is not None and period.start <= asked.now
    return period if begun and (asked.gone or hint.year is not None) else None
