"""Forgetting: out of every read path at once, a tombstone for 24 hours, purged for good when undo has passed."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import delete, select
from sqlalchemy.inspection import inspect
from sqlalchemy.orm import Session

from memory.embedding.queue import enqueue
from memory.errors import ConflictError, NotFoundError
from memory.journal import record, redact
from memory.keys import Keys
from memory.models import Forgotten, Memory, Space, Tombstone
from memory.spaces import lock_space_of
from memory.tombstones import bury, lift

UNDO_WINDOW = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Forgetting:
    """What was forgotten; `undo_until` is None when it is gone for good already."""

    id: UUID
    undo_until: datetime | None


def get_memory(session: Session, user_id: UUID, memory_id: UUID) -> Memory:
    """Return the user's memory; raises `NotFoundError` for anyone else's as for none."""
    memory = session.get(Memory, (user_id, memory_id))
    if memory is None:
        raise NotFoundError("there is no such memory")
    return memory


def forget(
    session: Session,
    user_id: UUID,
    memory_id: UUID,
    *,
    keys: Keys,
    now: datetime,
    actor: str,
    undo: timedelta | None = None,
) -> Forgetting:
    """Take a memory out of every read path; with `undo`, it can be restored that long.

    Deleting the row takes its vectors, scores, links and index entries along. Raises `NotFoundError`.
    """
    memory = get_memory(session, user_id, memory_id)
    lock_space_of(session, memory)
    bury(session, memory, keys, now)
    if undo is not None:
        session.add(Forgotten(user_id=user_id, id=memory.id, row=_to_row(memory), purge_at=now + undo))
    else:
        redact(session, [memory.id], [memory.text])
    session.delete(memory)
    details = {"undo_seconds": int(undo.total_seconds()) if undo else 0}
    record(session, user_id, "memory.forgotten", actor=actor, now=now, subject_id=memory_id, details=details)
    session.flush()
    return Forgetting(memory_id, now + undo if undo else None)


def restore(session: Session, user_id: UUID, memory_id: UUID, *, now: datetime, actor: str) -> Memory:
    """Undo a forgetting inside its window.

    Raises `NotFoundError` when the window has closed, `ConflictError` when the same text was stored since.
    """
    forgotten = session.get(Forgotten, (user_id, memory_id), with_for_update=True)
    if forgotten is None or forgotten.purge_at <= now:
        raise NotFoundError("there is nothing to restore: the undo window has closed")
    memory = _from_row(forgotten.row)
    space = session.get(Space, (user_id, memory.space_id), with_for_update=True)
    if space is None:
        raise ConflictError("the space of this memory is gone")
    twin = select(Memory.id).where(
        Memory.user_id == user_id,
        Memory.space_id == memory.space_id,
        Memory.text_digest == memory.text_digest,
        Memory.status == "active",
    )
    if session.scalar(twin) is not None:
        raise ConflictError("the same text was stored again since")
    lift(session, user_id, memory_id)
    session.delete(forgotten)
    memory.needs_embedding, memory.updated_at = True, now
    if memory.supersedes and session.get(Memory, (user_id, memory.supersedes)) is None:
        memory.supersedes = None
    session.add(memory)
    session.flush()
    enqueue(session, user_id, [memory_id], now)
    record(session, user_id, "memory.restored", actor=actor, now=now, subject_id=memory_id)
    return memory


def purge(session: Session, user_id: UUID, *, now: datetime) -> int:
    """Remove for good what is due: forgotten rows, old tombstones, expired memories. Returns how many rows."""
    due = session.scalars(
        select(Forgotten).where(Forgotten.user_id == user_id, Forgotten.purge_at <= now).with_for_update()
    ).all()
    redact(session, [row.id for row in due], [row.row["text"] for row in due])
    for row in due:
        session.delete(row)
    stones = session.execute(delete(Tombstone).where(Tombstone.user_id == user_id, Tombstone.expires_at <= now))
    expired = _expire(session, user_id, now)
    if due or expired:
        details = {"forgotten": len(due), "expired": len(expired)}
        total = len(due) + len(expired)
        record(session, user_id, "memory.purged", actor="system", now=now, count=total, details=details)
    return len(due) + len(expired) + int(stones.rowcount)  # type: ignore[attr-defined]


def _expire(session: Session, user_id: UUID, now: datetime) -> Sequence[Memory]:
    memories = session.scalars(select(Memory).where(Memory.user_id == user_id, Memory.expires_at <= now)).all()
    for memory in memories:
        lock_space_of(session, memory)
        session.delete(memory)
    redact(session, [memory.id for memory in memories], [memory.text for memory in memories])
    return memories


def _columns() -> list[str]:
    # Generated columns are worked out again, the rest is kept as it was.
    return [column.key for column in inspect(Memory).columns if column.computed is None]


def _to_row(memory: Memory) -> dict[str, Any]:
    return {name: _to_json(getattr(memory, name)) for name in _columns()}


def _to_json(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value


def _from_row(row: dict[str, Any]) -> Memory:
    columns = inspect(Memory).columns
    return Memory(**{name: _from_json(value, columns[name].type.python_type) for name, value in row.items()})


def _from_json(value: Any, kind: type) -> Any:
    if value is None:
        return None
    if kind is bytes:
        return base64.b64decode(value)
    if kind is datetime:
        return datetime.fromisoformat(value)
    return UUID(value) if kind is UUID else value
