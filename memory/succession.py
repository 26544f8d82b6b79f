"""Which memory replaced which: a line of memories, each of which supersedes the one before it."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.orm import Session

from memory.models import Memory


def reaches(session: Session, user_id: UUID, start: UUID, target: UUID) -> bool:
    """Tell whether a memory is another one, or supersedes it however indirectly."""
    at: UUID | None = start
    while at is not None and at != target:
        at = session.get_one(Memory, (user_id, at)).supersedes
    return at is not None
