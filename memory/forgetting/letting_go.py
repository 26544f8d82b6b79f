"""Letting a forgotten memory go for good before its undo has passed."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from memory.forgetting.purge import purge_forgotten
from memory.keys import Keys
from memory.models import Forgotten
from memory.reading.browse import Source, find_sources
from memory.record.journal import record
from memory.redaction.forgotten_rows import went_with


def let_go(session: Session, user_id: UUID, memory_id: UUID, *, keys: Keys, now: datetime, actor: str) -> Source | None:
    """Close the undo window of a forgotten memory and purge it; raises `NotFoundError` when there is none.

    So are the summaries that went with it. Returns the message that it was said in, which stays with its conversation.
    """
    along = session.scalars(select(Forgotten.id).where(Forgotten.user_id == user_id, went_with([memory_id]))).all()
    # Only these are purged here: what else is due may take the worker minutes. In the order of their ids, as everybody
    # locks them.
    rows = {each: purge_forgotten(session, user_id, each, keys=keys, now=now) for each in sorted({memory_id, *along})}
    for each in rows:
        record(session, user_id, "memory.let_go", actor=actor, now=now, subject_id=each)
    session.flush()
    said = rows[memory_id]["source_message_id"]
    message_id = UUID(said) if said else None
    return find_sources(session, user_id, {message_id} - {None}).get(message_id)
