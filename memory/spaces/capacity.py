"""The soft cap of a space: what has the lowest scores goes, and nothing that the user holds on to."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import Interval, bindparam, func, select, text
from sqlalchemy.orm import Session

from memory.models import Memory, Space
from memory.record.journal import record

STALE_AFTER = timedelta(hours=24)
DEFAULT_TAU_DAYS = 7.0

# Scores of a space that are missing or old. Recency is as in retrieval.ranking.scoring, exp(-age / tau); relevance is
# 0, as there is no question. PostgreSQL refuses an exponential that is too small to hold instead of making it 0, so
# beyond 700 tau (1e-304) age makes no difference. Rows are written in the order of their ids, as a search writes them.
# `old` is read from indexes alone, or each write would read the wide rows of a whole space for a few of them.
_REFRESH = text("""
WITH old AS MATERIALIZED (
    SELECT m.id FROM memories m LEFT JOIN last_scores s ON s.user_id = m.user_id AND s.memory_id = m.id
    WHERE m.user_id = :user_id AND m.space_id = :space_id AND m.status = 'active'
      AND NOT m.pinned AND NOT m.manually_saved
      AND (s.computed_at IS NULL OR s.computed_at < :now - :stale)
)
INSERT INTO last_scores (user_id, memory_id, relevance, recency, importance, total, computed_at)
SELECT m.user_id, m.id, 0, r.recency, m.importance, r.recency + m.importance, :now
FROM memories m JOIN old ON old.id = m.id,
LATERAL (SELECT extract(epoch FROM :now - m.created_at)::double precision / :tau AS age) a,
LATERAL (SELECT exp(-least(greatest(a.age, 0), 700)) AS recency) r
WHERE m.user_id = :user_id
ORDER BY m.id
ON CONFLICT (user_id, memory_id) DO UPDATE SET
    relevance = 0, recency = excluded.recency, importance = excluded.importance,
    total = excluded.total, computed_at = excluded.computed_at
""").bindparams(bindparam("stale", type_=Interval()))

# Where the importance was changed since the score was written, the score gets the new one and keeps its other parts.
_REWEIGH = text("""
INSERT INTO last_scores (user_id, memory_id, relevance, recency, importance, total, computed_at)
SELECT s.user_id, s.memory_id, s.relevance, s.recency, m.importance, s.total, s.computed_at
FROM memories m JOIN last_scores s ON s.user_id = m.user_id AND s.memory_id = m.id
WHERE m.user_id = :user_id AND m.space_id = :space_id AND m.status = 'active'
  AND NOT m.pinned AND NOT m.manually_saved AND s.importance <> m.importance
ORDER BY m.id
ON CONFLICT (user_id, memory_id) DO UPDATE SET
    importance = excluded.importance,
    total = last_scores.relevance + last_scores.recency + excluded.importance
""")

# `scored`: the sum of the parts and not the total, which each search weighs by its own policy: by a policy of small
# weights, what a search has found would total less than what none has looked at, and go first.
# `lowest`: only the rows that the scores leave in question are read, for the age of each.
# `is_outdated`: where one of them was scored with another importance than it has by now, nothing goes; the caller
# reweighs all and asks again. Comparing every row each time would read a full space at each write.
# `locked`: what another transaction holds stays for a later write to trim. This transaction may have changed other
# memories, so waiting could end in a deadlock: the embedder and the recorder lock memories by their ids.
_TRIM = text("""
WITH scored AS (
    SELECT m.id, s.relevance + s.recency + s.importance AS score, s.importance
    FROM memories m JOIN last_scores s ON s.user_id = m.user_id AND s.memory_id = m.id
    WHERE m.user_id = :user_id AND m.space_id = :space_id AND m.status = 'active'
      AND NOT m.pinned AND NOT m.manually_saved AND (m.expires_at IS NULL OR m.expires_at > :now)
      AND m.id <> ALL(:spared)
    ORDER BY score FETCH FIRST :overage ROWS WITH TIES
), lowest AS (
    SELECT m.id, m.importance <> scored.importance AS is_outdated
    FROM memories m JOIN scored ON scored.id = m.id WHERE m.user_id = :user_id
    ORDER BY scored.score, m.created_at, m.id LIMIT :overage
), locked AS (
    SELECT id FROM memories WHERE user_id = :user_id AND id IN (SELECT id FROM lowest)
      AND NOT EXISTS (SELECT FROM lowest WHERE is_outdated) FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM memories WHERE user_id = :user_id AND id IN (SELECT id FROM locked) RETURNING id
)
SELECT lowest.id, is_outdated, gone.id IS NOT NULL AS is_gone FROM lowest LEFT JOIN gone ON gone.id = lowest.id
""")


def enforce_capacity(
    session: Session, space: Space, *, now: datetime, actor: str, spared: Collection[UUID] = ()
) -> tuple[UUID, ...]:
    """Delete memories beyond the soft cap, by the lowest sum of relevance, recency and importance; return their ids.

    Scores that are missing or older than 24 hours are computed first, with relevance 0, and where an importance was
    changed since, its score follows. Pinned and manually saved memories are never touched: if they alone exceed the
    cap, an audit event says so. Expired memories do not count, and are left to the worker; those that another
    transaction holds are left to a later write. Those that are `spared` were just made active or brought back: old as
    they are, they would be the first to go. The caller holds the space's lock.
    """
    # The trigger has counted what was just flushed; the loaded object has not seen it.
    active = session.scalar(select(Space.documents).where(Space.user_id == space.user_id, Space.id == space.id))
    overage = (active or 0) - space.soft_cap
    if overage > 0:
        overage -= expired_in(session, space, now)
    if overage <= 0:
        return ()
    scope = {"user_id": space.user_id, "space_id": space.id}
    tau = float(space.policy.get("tau_days", DEFAULT_TAU_DAYS)) * 86_400
    session.execute(_REFRESH, {**scope, "now": now, "tau": tau, "stale": STALE_AFTER})
    trim = {**scope, "overage": overage, "now": now, "spared": list(spared)}
    lowest = session.execute(_TRIM, trim).all()
    while any(row.is_outdated for row in lowest):
        session.execute(_REWEIGH, scope)
        lowest = session.execute(_TRIM, trim).all()
    trimmed = tuple(row.id for row in lowest if row.is_gone)
    if trimmed:
        details = {"space": space.slug, "ids": [str(memory_id) for memory_id in trimmed]}
        record(session, space.user_id, "memory.trimmed", actor=actor, now=now, count=len(trimmed), details=details)
    if len(lowest) < overage:
        held = {"space": space.slug, "over_cap": overage - len(lowest)}
        record(session, space.user_id, "memory.trim_blocked", actor=actor, now=now, details=held)
    return trimmed


def beyond(session: Session, space: Space, soft_cap: int, now: datetime) -> int:
    """Return how many memories the next write would trim for good if this were the soft cap of the space."""
    mine = (Memory.user_id == space.user_id, Memory.space_id == space.id, Memory.status == "active")
    loose = func.count().filter(~Memory.pinned, ~Memory.manually_saved)
    active, free = session.execute(select(func.count(), loose).where(*mine, Memory.unexpired(now))).one()
    return max(0, min(active - soft_cap, free))


def make_room(session: Session, spaces: Iterable[Space], woken: Collection[UUID], *, now: datetime, actor: str) -> None:
    """Enforce the soft caps of spaces where memories were made active or brought back; with memory off all stays."""
    for space in spaces if woken else ():
        if space.memory_enabled:
            enforce_capacity(session, space, now=now, actor=actor, spared=woken)


def expired_in(session: Session, space: Space, now: datetime) -> int:
    """Return how many active memories of a space have expired: for what nobody sees, nothing that is seen shall go."""
    mine = (Memory.user_id == space.user_id, Memory.space_id == space.id, Memory.status == "active")
    return session.scalar(select(func.count()).select_from(Memory).where(*mine, Memory.expires_at <= now)) or 0
