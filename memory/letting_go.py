"""Letting a forgotten memory go for good before its undo has passed."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy.orm import Session

from memory.browse import Source, find_source
from memory.errors import NotFoundError
from memory.forget import purge
from memory.journal import record
from memory.keys import Keys
from memory.models import Forgotten


def let_go(session: Session, user_id: UUID, memory_id: UUID, *, keys: Keys, now: datetime, actor: str) -> Source | None:
    """Close the undo window of a forgotten memory and purge it; raises `NotFoundError` when there is none.

    Returns the message that it was said in, which stays with its conversation.
    """
    forgotten = session.get(Forgotten, (user_id, memory_id), with_for_update=True)
    if forgotten is None:
        raise NotFoundError("nothing of it is left")
    message_id = forgotten.row["source_message_id"]
    forgotten.purge_at = now
    record(session, user_id, "memory.let_go", actor=actor, now=now, subject_id=memory_id)
    session.flush()
    purge(session, user_id, keys=keys, now=now)
    return find_source(session, user_id, UUID(message_id)) if message_id else None
