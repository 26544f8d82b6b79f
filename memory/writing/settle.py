"""Settling a possible update: one memory replaces the other, or both stand."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, get_args
from uuid import UUID

from sqlalchemy.orm import Session

from memory.errors import ConflictError, InvalidError, NotFoundError
from memory.keys import Keys
from memory.models import PossibleUpdate
from memory.reading.browse import get_memory
from memory.record.journal import record
from memory.spaces.spaces import lock_space_of
from memory.writing.edit import update

Keep = Literal["this", "other", "both"]
CHOICES = get_args(Keep)


def settle_update(
    session: Session,
    user_id: UUID,
    memory_id: UUID,
    other_id: UUID,
    keep: str,
    *,
    keys: Keys,
    now: datetime,
    actor: str,
) -> None:
    """Let `this` memory supersede the `other` or the other way round, or keep `both`; the link between them goes.

    Raises `InvalidError` on `keep`, `NotFoundError` when they are no possible update of one another.
    """
    if keep not in CHOICES:
        raise InvalidError("keep", f"must be one of {', '.join(CHOICES)}")
    lock_space_of(session, get_memory(session, user_id, memory_id), other_id)
    if not _unlink(session, user_id, memory_id, other_id):
        raise NotFoundError("there is nothing to decide between these memories")
    if keep != "both":
        winner, loser = (memory_id, other_id) if keep == "this" else (other_id, memory_id)
        update(session, user_id, winner, {"supersedes": loser}, keys=keys, now=now, actor=actor)
    details = {"other": str(other_id), "keep": CHOICES.index(keep)}
    record(session, user_id, "memory.update_settled", actor=actor, now=now, subject_id=memory_id, details=details)


def _unlink(session: Session, user_id: UUID, one: UUID, other: UUID) -> bool:
    """Let two memories be no possible updates of one another; tells whether one of them was."""
    ends = ((one, other), (other, one))
    links = [link for pair in ends if (link := session.get(PossibleUpdate, (user_id, *pair))) is not None]
    for link in links:
        session.delete(link)
    return bool(links)


def replace(
    session: Session, user_id: UUID, memory_id: UUID, older_id: UUID, *, keys: Keys, now: datetime, actor: str
) -> None:
    """Let a memory that replaces none yet replace another of its space.

    Raises `ConflictError` where one of them replaces or is replaced already, and what `update` raises.
    """
    memory, older = get_memory(session, user_id, memory_id), get_memory(session, user_id, older_id)
    lock_space_of(session, memory, older_id)
    if memory.supersedes is not None or {memory.status, older.status} != {"active"}:
        raise ConflictError("one of these memories replaces another, or is replaced, already")
    _unlink(session, user_id, memory_id, older_id)
    update(session, user_id, memory_id, {"supersedes": older_id}, keys=keys, now=now, actor=actor)


def bring_back_replaced(
    session: Session, user_id: UUID, memory_id: UUID, older_id: UUID, *, keys: Keys, now: datetime, actor: str
) -> bool:
    """Undo that a memory replaces another; tell whether both are active now.

    They are not if a third one replaces the other, too. Raises `ConflictError` where the memory does not replace the
    other, or where the same text was stored again since.
    """
    memory, older = get_memory(session, user_id, memory_id), get_memory(session, user_id, older_id)
    lock_space_of(session, memory, older_id)
    if memory.supersedes != older_id or older.status != "superseded":
        raise ConflictError("this memory does not replace the other one")
    update(session, user_id, memory_id, {"supersedes": None}, keys=keys, now=now, actor=actor)
    return older.status == "active"
