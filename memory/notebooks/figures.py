"""Numbers of a user's memories that charts are drawn of. Days, weeks and months are those of the zone of `now`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import MAXYEAR, MINYEAR, UTC, date, datetime, time, timedelta
from math import exp
from typing import Any
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.orm import Session

MOST_POINTS = 60
MOST_TAGS = 20
AGE_STEPS = 24
_DAY = timedelta(days=1)


_HERE = "user_id = :user_id AND (CAST(:space_id AS uuid) IS NULL OR space_id = :space_id)"
_ACTIVE = f"FROM memories WHERE {_HERE} AND status = 'active' AND (expires_at IS NULL OR expires_at > :now)"


def _rows(session: Session, statement: str, user_id: UUID, **values: Any) -> Sequence[Any]:
    return session.execute(text(statement), {"user_id": user_id, **values}).all()


def _steps(first: datetime, last: datetime, now: datetime) -> list[datetime]:
    """Return where the days, weeks or months from `first` to `last` begin, oldest first, in UTC.

    They are the finest of which at most some `MOST_POINTS` have passed since `first`. They are reckoned here and not
    by the database, which may know other zones than this process, or none but its own.
    """
    # At the ends of the calendar not every zone has the day that UTC has.
    zone = now.tzinfo or UTC if first.year > MINYEAR and last.year < MAXYEAR else UTC
    day, end = first.astimezone(zone).date(), last.astimezone(zone).date()
    length = now - first
    if length <= MOST_POINTS * _DAY:
        days = [day + passed * _DAY for passed in range((end - day).days + 1)]
    elif length <= 7 * MOST_POINTS * _DAY:
        monday = day - day.weekday() * _DAY
        days = [monday + passed * _DAY for passed in range(0, (end - monday).days + 1, 7)]
    else:
        months = range(12 * day.year + day.month - 1, 12 * end.year + end.month)
        days = [date(month // 12, month % 12 + 1, 1) for month in months]
    return [datetime.combine(each, time(), zone).astimezone(UTC) for each in days]


def _by_step(session: Session, user_id: UUID, what: str, where: str, now: datetime, **values: Any) -> list[Any]:
    """Return a row for each step of time in which there is something: (start of the step, what was asked of it)."""
    first, last = _rows(session, f"SELECT min(created_at), max(created_at) {where}", user_id, now=now, **values)[0]
    if first is None:
        return []
    starts = _steps(first, last, now)
    statement = f"""SELECT width_bucket(created_at, CAST(:starts AS timestamptz[])) AS place, {what}
        {where} GROUP BY place ORDER BY place"""
    rows = _rows(session, statement, user_id, now=now, starts=starts, **values)
    # What came meanwhile and is older than the first counts with it.
    return [(starts[max(place, 1) - 1], *counted) for place, *counted in rows]


def growth(session: Session, user_id: UUID, space_id: UUID | None, *, now: datetime) -> list[tuple[datetime, int, int]]:
    """Return (start of the step, memories made in it, memories in all since), of those that are active now."""
    total, points = 0, []
    for step, made in _by_step(session, user_id, "count(*)", _ACTIVE, now, space_id=space_id):
        total += made
        points.append((step, made, total))
    return points


def ages(
    session: Session, user_id: UUID, space_id: UUID | None, *, tau_days: float, now: datetime
) -> list[tuple[float, int, float, float]]:
    """Return (days, memories, their mean importance, recency at that age), in equal steps up to the oldest."""
    here = {"space_id": space_id, "now": now}
    first = _rows(session, f"SELECT min(created_at) {_ACTIVE}", user_id, **here)[0][0]
    oldest = max(0.0, (now - first) / _DAY) if first is not None else 0.0
    step = max(oldest / AGE_STEPS, 1 / 24)
    # What is extracted is a decimal number of any length, with which ten thousand divisions take as long as all else.
    age = "greatest(CAST(extract(epoch FROM CAST(:now AS timestamptz) - created_at) AS float8) / 86400, 0)"
    statement = f"SELECT floor({age} / CAST(:step AS float8)) AS place, count(*), avg(importance) {_ACTIVE}"
    rows = _rows(session, f"{statement} GROUP BY place ORDER BY place", user_id, step=step, **here)
    middles = [(float(place) * step + step / 2, count, float(mean)) for place, count, mean in rows]
    return [(days, count, mean, exp(-days / tau_days)) for days, count, mean in middles]


def tags(
    session: Session, user_id: UUID, space_id: UUID | None, *, now: datetime, closed: Collection[UUID] = ()
) -> list[tuple[str, int]]:
    """Return the tags that most active memories have, each with their number; those in `closed` spaces left out."""
    inner = f"SELECT unnest(tags) AS tag {_ACTIVE} AND tags <> '{{}}' AND space_id <> ALL(CAST(:closed AS uuid[]))"
    statement = f"SELECT tag, count(*) FROM ({inner}) t GROUP BY tag ORDER BY count(*) DESC, tag LIMIT :most"  # noqa: S608 - our own words
    rows = _rows(session, statement, user_id, space_id=space_id, now=now, most=MOST_TAGS, closed=list(closed))
    return [(tag, count) for tag, count in rows]


def repeats(session: Session, user_id: UUID, *, now: datetime) -> list[tuple[datetime, int, int, int]]:
    """Return (start of the step, writes that made a memory, that were merged, that were refused)."""
    # In their numbers the events of one write are one; a batch counts each of its memories.
    written = """FROM audit_events WHERE user_id = :user_id
        AND (action IN ('memory.created', 'memory.merged') OR action LIKE 'memory.refused%')"""
    what = """coalesce(sum(count) FILTER (WHERE action = 'memory.created'), 0),
        coalesce(sum(count) FILTER (WHERE action = 'memory.merged'), 0),
        coalesce(sum(count) FILTER (WHERE action LIKE 'memory.refused%'), 0)"""
    rows = _by_step(session, user_id, what, written, now)
    return [(step, int(made), int(merged), int(refused)) for step, made, merged, refused in rows]


def backlog(session: Session, user_id: UUID, *, now: datetime) -> list[tuple[str, int]]:
    """Return how many memories have their vector, wait for it, and failed to get it."""
    # Few wait, so their vectors' states alone are looked up.
    statement = f"""SELECT (SELECT count(*) {_ACTIVE} AND NOT needs_embedding),
        count(*) FILTER (WHERE e.state IS DISTINCT FROM 'error'),
        count(*) FILTER (WHERE e.state = 'error')
        FROM (SELECT user_id, id {_ACTIVE} AND needs_embedding) m
        LEFT JOIN embedding_models a ON a.user_id = m.user_id AND a.state = 'active'
        LEFT JOIN embeddings e ON e.user_id = m.user_id AND e.memory_id = m.id AND e.model_id = a.id"""  # noqa: S608 - our own words
    ready, waiting, failed = _rows(session, statement, user_id, space_id=None, now=now)[0]
    return [("ready", ready), ("waiting", waiting), ("failed", failed)]


def latency(session: Session, user_id: UUID, *, now: datetime) -> list[tuple[datetime, int, float, float]]:
    """Return (start of the step, searches by tools, their median, their 95th percentile) in milliseconds."""
    searched = "FROM tool_calls WHERE user_id = :user_id AND operation = 'search' AND origin = 'server'"
    what = """count(*), percentile_cont(0.5) WITHIN GROUP (ORDER BY duration_ms),
        percentile_cont(0.95) WITHIN GROUP (ORDER BY duration_ms)"""
    rows = _by_step(session, user_id, what, searched, now)
    return [(step, count, float(p50), float(p95)) for step, count, p50, p95 in rows]
