"""Letting a forgotten memory go for good before its undo has passed."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy.orm import Session

from memory.browse import Source, find_source
from memory.journal import record
from memory.keys import Keys
from memory.purge import purge_forgotten


def let_go(session: Session, user_id: UUID, memory_id: UUID, *, keys: Keys, now: datetime, actor: str) -> Source | None:
    """Close the undo window of a forgotten memory and purge it; raises `NotFoundError` when there is none.

    Returns the message that it was said in, which stays with its conversation.
    """
    # It alone: of whatever else is due there may be so much that it takes the worker minutes.
    message_id = purge_forgotten(session, user_id, memory_id, keys=keys, now=now)["source_message_id"]
    record(session, user_id, "memory.let_go", actor=actor, now=now, subject_id=memory_id)
    session.flush()
    return find_source(session, user_id, UUID(message_id)) if message_id else None
