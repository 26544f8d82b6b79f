"""Numbers of a user's memories that charts are drawn of."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
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


def _unit(first: datetime | None, now: datetime) -> str:
    """Return the finest unit of time of which at most some `MOST_POINTS` have passed since `first`."""
    length = now - first if first is not None and first < now else _DAY
    if length <= MOST_POINTS * _DAY:
        return "day"
    return "week" if length <= 7 * MOST_POINTS * _DAY else "month"


def growth(session: Session, user_id: UUID, space_id: UUID | None, *, now: datetime) -> list[tuple[datetime, int, int]]:
    """Return (start of the step, memories made in it, memories in all since), of those that are active now."""
    here = {"space_id": space_id, "now": now}
    first = _rows(session, f"SELECT min(created_at) {_ACTIVE}", user_id, **here)[0][0]
    statement = f"SELECT date_trunc('{_unit(first, now)}', created_at) AS step, count(*) {_ACTIVE}"
    total, points = 0, []
    for step, made in _rows(session, f"{statement} GROUP BY step ORDER BY step", user_id, **here):
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


def tags(session: Session, user_id: UUID, space_id: UUID | None, *, now: datetime) -> list[tuple[str, int]]:
    """Return the tags that most active memories have, each with their number."""
    inner = f"SELECT unnest(tags) AS tag {_ACTIVE} AND tags <> '{{}}'"
    statement = f"SELECT tag, count(*) FROM ({inner}) t GROUP BY tag ORDER BY count(*) DESC, tag LIMIT :most"  # noqa: S608 - our own words
    return [
        (tag, count) for tag, count in _rows(session, statement, user_id, space_id=space_id, now=now, most=MOST_TAGS)
    ]


def repeats(session: Session, user_id: UUID, *, now: datetime) -> list[tuple[datetime, int, int, int]]:
    """Return (start of the step, writes that made a memory, that were merged, that were refused)."""
    # In their numbers the events of one write are one; a batch counts each of its memories.
    written = """FROM audit_events WHERE user_id = :user_id
        AND (action IN ('memory.created', 'memory.merged') OR action LIKE 'memory.refused%')"""
    first = _rows(session, f"SELECT min(created_at) {written}", user_id)[0][0]
    statement = f"""SELECT date_trunc('{_unit(first, now)}', created_at) AS step,
        coalesce(sum(count) FILTER (WHERE action = 'memory.created'), 0),
        coalesce(sum(count) FILTER (WHERE action = 'memory.merged'), 0),
        coalesce(sum(count) FILTER (WHERE action LIKE 'memory.refused%'), 0)
        {written} GROUP BY step ORDER BY step"""
    rows = _rows(session, statement, user_id)
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
    first = _rows(session, f"SELECT min(created_at) {searched}", user_id)[0][0]
    statement = f"""SELECT date_trunc('{_unit(first, now)}', created_at) AS step, count(*),
        percentile_cont(0.5) WITHIN GROUP (ORDER BY duration_ms),
        percentile_cont(0.95) WITHIN GROUP (ORDER BY duration_ms)
        {searched} GROUP BY step ORDER BY step"""
    return [(step, count, float(p50), float(p95)) for step, count, p50, p95 in _rows(session, statement, user_id)]
