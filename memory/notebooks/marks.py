"""Marks of right answers: which memory a question was meant to find."""

from __future__ import annotations

import hashlib
from datetime import datetime
from uuid import UUID

from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from memory.errors import NotFoundError
from memory.models import RecallMark
from memory.reading.browse import get_memory
from memory.record.journal import hold
from memory.redaction.telling import begin_to_tell


def mark_right(session: Session, user_id: UUID, question: str, memory_id: UUID, *, now: datetime) -> None:
    """Note that a memory is a right answer to a question; raises `NotFoundError` when there is no such memory."""
    get_memory(session, user_id, memory_id)
    # Where somebody is forgetting the memory at this moment, this waits for them, and the memory is gone then.
    if not hold(session, user_id, [memory_id]):
        raise NotFoundError("there is no such memory")
    begin_to_tell(session)
    values = {"user_id": user_id, "memory_id": memory_id, "question_digest": _digest(question)}
    statement = insert(RecallMark).values(**values, question=question, created_at=now)
    session.execute(statement.on_conflict_do_nothing())


def unmark(session: Session, user_id: UUID, question: str, memory_id: UUID) -> None:
    """Take such a mark back; without one nothing happens."""
    session.execute(
        delete(RecallMark).where(
            RecallMark.user_id == user_id,
            RecallMark.memory_id == memory_id,
            RecallMark.question_digest == _digest(question),
        )
    )


def marked(session: Session, user_id: UUID, question: str) -> frozenset[UUID]:
    """Return the memories that were marked as right for a question."""
    statement = select(RecallMark.memory_id).where(
        RecallMark.user_id == user_id, RecallMark.question_digest == _digest(question)
    )
    return frozenset(session.scalars(statement))


def _digest(question: str) -> bytes:
    return hashlib.sha256(question.strip().encode("utf-8", "surrogatepass")).digest()
