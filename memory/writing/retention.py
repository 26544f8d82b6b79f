"""Retention: what nobody held on to, changed or asked for in as many days as its space keeps things is archived.

A space may want it summed up before. That is done once a month, or there would be too few at a time to sum up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import select, text, update
from sqlalchemy.orm import Session

from memory.drafts.drafts import Draft
from memory.ids import among, first_id
from memory.keys import Keys
from memory.models import Memory, Space, Theme
from memory.record.journal import record
from memory.spaces.spaces import lock_space_by_id
from memory.storage.unsynchronised import run_unsynchronised
from memory.writing.remember import remember

BATCH = 200
# Of a space whose old memories are summed up, as many are looked at in one go, and none as long as the oldest is due
# for less than this.
MOST_SUMMED_UP = 2000
SUMMED_UP_EVERY = timedelta(days=30)

# By when it was stored here, which its id tells, and not by `created_at`, which an import brings along: what was said
# years ago may have come today. What is to expire has a date of its own; summaries are what is meant to remain.
_OLD = text("""
SELECT id FROM memories
WHERE user_id = :user_id AND space_id = :space_id AND status = 'active'
  AND NOT pinned AND NOT manually_saved AND expires_at IS NULL AND type <> 'summary'
  AND updated_at < :since AND uuid_extract_timestamp(id) < :since AND id > :after AND id < :before
ORDER BY id LIMIT :most FOR UPDATE
""")
# The same of some, as they were when they were read.
_STILL_OLD = text("""
SELECT m.id FROM unnest(CAST(:ids AS uuid[]), CAST(:versions AS int[])) w(id, version)
JOIN memories m ON m.user_id = :user_id AND m.id = w.id AND m.version = w.version
WHERE m.space_id = :space_id AND m.status = 'active'
  AND NOT m.pinned AND NOT m.manually_saved AND m.expires_at IS NULL AND m.type <> 'summary' AND m.updated_at < :since
ORDER BY m.id FOR UPDATE OF m
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
class Aging:
    """A memory that is about to be archived, as it is."""

    id: UUID
    version: int
    text: str
    tags: Sequence[str]
    theme: str | None
    importance: float
    created_at: datetime
    updated_at: datetime


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
    space = _keeping(session, user_id, space_id)
    if space is None:
        return Aged((), None)
    old, aged = _old(session, space, now, after, most)
    _archive(session, space, aged, now)
    return Aged(aged, old[-1] if len(old) == most else None)


def aging(session: Session, user_id: UUID, space_id: UUID, *, now: datetime) -> Sequence[Aging] | None:
    """Return what is to be archived, the oldest first, in a space that wants it summed up before; None in others.

    Nothing while the oldest of it is due for less than `SUMMED_UP_EVERY`, and there is not more than is done at once.
    """
    space = session.get(Space, (user_id, space_id))
    if space is None or not space.roll_up:
        return None
    if not space.retention_days or not space.memory_enabled:
        return ()
    old, aged = _old(session, space, now, None, MOST_SUMMED_UP)
    memories = read_aging(session, user_id, aged)
    due = now - timedelta(days=space.retention_days) - SUMMED_UP_EVERY
    is_time = len(old) == MOST_SUMMED_UP or any(each.updated_at < due for each in memories)
    return memories if is_time else ()


def read_aging(session: Session, user_id: UUID, ids: Iterable[UUID]) -> Sequence[Aging]:
    """Return memories as they are by now, the oldest first; those that are not there are left out."""
    columns = (Memory.id, Memory.version, Memory.text, Memory.tags, Theme.slug, Memory.importance)
    themed = (Theme.user_id == Memory.user_id) & (Theme.id == Memory.theme_id)
    mine = (Memory.user_id == user_id, among(Memory.id, ids))
    rows = select(*columns, Memory.created_at, Memory.updated_at).outerjoin(Theme, themed).where(*mine)
    return [Aging(*row) for row in session.execute(rows.order_by(Memory.created_at, Memory.id))]


def put_away(
    session: Session,
    user_id: UUID,
    space_id: UUID,
    memories: Sequence[Aging],
    summary: Draft | None = None,
    *,
    keys: Keys,
    now: datetime,
) -> Sequence[UUID]:
    """Archive those of the memories that are still due and were not changed since they were read; return them.

    With a `summary` all of them or none, and it is stored in their place, unless its text is refused there.
    """
    space = _keeping(session, user_id, space_id)
    if space is None:
        return ()
    aged = still_aging(session, space, memories, now=now)
    if summary is not None and len(aged) < len(memories):
        return ()
    made = None
    # Archived first: there is room for the summary by then, and nothing has to go for it.
    _archive(session, space, aged, now)
    if summary is not None:
        session.flush()
        made = remember(session, user_id, space.slug, summary, keys=keys, now=now, actor="system").id
    if made is not None:
        details = {"space": space.slug, "memories": len(aged)}
        record(session, user_id, "memory.rolled_up", actor="system", now=now, subject_id=made, details=details)
    return aged


def still_aging(session: Session, space: Space, memories: Sequence[Aging], *, now: datetime) -> Sequence[UUID]:
    """Return those of the memories, locked, that are due as they were when they were read, and to be summed up."""
    if not space.roll_up or not space.retention_days or not space.memory_enabled:
        return ()
    since = now - timedelta(days=space.retention_days)
    values = {"ids": [each.id for each in memories], "versions": [each.version for each in memories]}
    scope = {"user_id": space.user_id, "space_id": space.id, "since": since}
    still = session.scalars(_STILL_OLD, {**scope, **values}).all()
    return _unwanted(session, space.user_id, still, since)


def _keeping(session: Session, user_id: UUID, space_id: UUID) -> Space | None:
    """Return a space, locked, that keeps things for a time; None where it does not, or another transaction holds it."""
    space = lock_space_by_id(session, user_id, space_id, wait=False)
    return space if space is not None and space.retention_days and space.memory_enabled else None


def _old(
    session: Session, space: Space, now: datetime, after: UUID | None, most: int
) -> tuple[Sequence[UUID], Sequence[UUID]]:
    """Return the first memories that are older than their space keeps them, and those of them that nobody wanted."""
    since = now - timedelta(days=space.retention_days)
    # Without an end the database would read the space to its end, once an hour, for what it has of the last days.
    reach = {"after": after or UUID(int=0), "before": first_id(since)}
    scope = {"user_id": space.user_id, "space_id": space.id, "since": since, "most": most, **reach}
    old = session.scalars(_OLD, scope).all()
    return old, _unwanted(session, space.user_id, old, since)


def _unwanted(session: Session, user_id: UUID, ids: Sequence[UUID], since: datetime) -> Sequence[UUID]:
    wanted = set(session.scalars(_WANTED, {"user_id": user_id, "ids": ids, "since": since})) if ids else set()
    return [memory_id for memory_id in ids if memory_id not in wanted]


def _archive(session: Session, space: Space, ids: Sequence[UUID], now: datetime) -> None:
    if not ids:
        return
    mine = update(Memory).where(Memory.user_id == space.user_id, Memory.id.in_(ids))
    run_unsynchronised(session, mine.values(status="archived", updated_at=now))
    details = {"space": space.slug, "retention_days": space.retention_days, "ids": [str(each) for each in ids]}
    record(session, space.user_id, "memory.aged_out", actor="system", now=now, count=len(ids), details=details)
