"""Retention: what nobody held on to, changed or asked for in as many days as its space keeps things is archived."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import text, update
from sqlalchemy.orm import Session

from memory.journal import record
from memory.models import Memory
from memory.spaces import lock_spaces
from memory.unsynchronised import run_unsynchronised

BATCH = 200

# By when it was stored here, which its id tells, and not by `created_at`, which an import brings along: what was said
# years ago may have come today. What is to expire has a date of its own; summaries are what is meant to remain.
_OLD = text("""
SELECT id FROM memories
WHERE user_id = :user_id AND space_id = :space_id AND status = 'active'
  AND NOT pinned AND NOT manually_saved AND expires_at IS NULL AND type <> 'summary'
  AND updated_at < :since AND uuid_extract_timestamp(id) < :since AND id > :after AND id < :before
ORDER BY id LIMIT :most FOR UPDATE
""")
_AGED = text("SELECT user_id, space_id FROM spaces_with_aged(:now)")
# A search keeps the scores of what it found; a call by an agent names what it was given.
_WANTED = text("""
SELECT i.id FROM unnest(CAST(:ids AS uuid[])) AS i(id)
WHERE EXISTS (SELECT FROM last_scores s
              WHERE s.user_id = :user_id AND s.memory_id = i.id AND s.relevance > 0 AND s.computed_at >= :since)
   OR EXISTS (SELECT FROM calls_naming(i.id) c WHERE c.created_at >= :since)
""")


@dataclass(frozen=True, slots=True)
class Aged:
    """What one batch archived, and the last id that it looked at; None when there is nothing further."""

    ids: Sequence[UUID]
    last: UUID | None


def spaces_with_aged(session: Session, now: datetime) -> Sequence[tuple[UUID, UUID]]:
    """Return the spaces of all users, (user, space) in order, that may have something to archive.

    Not those that keep for ever, or whose memory is off: what cannot be asked for does not show that nobody wants it.
    """
    return [(row.user_id, row.space_id) for row in session.execute(_AGED, {"now": now})]


def age_out(
    session: Session, user_id: UUID, space_id: UUID, *, now: datetime, after: UUID | None = None, most: int = BATCH
) -> Aged:
    """Archive what is older than the space keeps it, looking at so many memories whose ids come after `after`.

    Never what is pinned, saved by hand, a summary, or has an expiry of its own; nor what was stored, changed, repeated
    or recalled in that time. The space is locked until the transaction ends; one that another transaction holds is left
    for the next time.
    """
    space = next(iter(lock_spaces(session, user_id, {space_id}, wait=False)), None)
    if space is None or not space.retention_days or not space.memory_enabled:
        return Aged((), None)
    since = now - timedelta(days=space.retention_days)
    # Without an end the database would read the space to its end, once an hour, for what it has of the last days.
    reach = {"after": after or _first_id(None), "before": _first_id(since)}
    scope = {"user_id": user_id, "space_id": space_id, "since": since, "most": most, **reach}
    old = session.scalars(_OLD, scope).all()
    wanted = set(session.scalars(_WANTED, {"user_id": user_id, "ids": old, "since": since})) if old else set()
    aged = [memory_id for memory_id in old if memory_id not in wanted]
    if aged:
        mine = update(Memory).where(Memory.user_id == user_id, Memory.id.in_(aged))
        run_unsynchronised(session, mine.values(status="archived", updated_at=now))
        details = {"space": space.slug, "retention_days": space.retention_days, "ids": [str(each) for each in aged]}
        record(session, user_id, "memory.aged_out", actor="system", now=now, count=len(aged), details=details)
    return Aged(aged, old[-1] if len(old) == most else None)


def _first_id(moment: datetime | None) -> UUID:
    """Return what no id is below that was made at this moment or later; None stands for the beginning."""
    milliseconds = max(0, int(moment.timestamp() * 1000)) if moment is not None else 0
    return UUID(int=milliseconds << 80)
