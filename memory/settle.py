"""Settling a possible update: one memory replaces the other, or both stand."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy.orm import Session

from memory.edit import update
from memory.errors import InvalidError, NotFoundError
from memory.forget import get_memory
from memory.journal import record
from memory.keys import Keys
from memory.models import PossibleUpdate
from memory.spaces import lock_space_of

CHOICES = ("this", "other", "both")


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
    ends = ((memory_id, other_id), (other_id, memory_id))
    links = [link for pair in ends if (link := session.get(PossibleUpdate, (user_id, *pair))) is not None]
    if not links:
        raise NotFoundError("there is nothing to decide between these memories")
    for link in links:
        session.delete(link)
    if keep != "both":
        winner, loser = (memory_id, other_id) if keep == "this" else (other_id, memory_id)
        update(session, user_id, winner, {"supersedes": loser}, keys=keys, now=now, actor=actor)
    details = {"other": str(other_id), "keep": CHOICES.index(keep)}
    record(session, user_id, "memory.update_settled", actor=actor, now=now, subject_id=memory_id, details=details)
