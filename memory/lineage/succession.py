"""Which memory replaced which: a line of memories, each of which supersedes the one before it."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.orm import Session

from memory.models import Memory


def reaches(session: Session, user_id: UUID, start: UUID, target: UUID) -> bool:
    """Tell whether a memory is another one, or supersedes it however indirectly."""
    at: UUID | None = start
    # An earlier version restored memories into circles, in which whoever follows them would go on for ever.
    passed: set[UUID] = set()
    while at is not None and at != target and at not in passed:
        passed.add(at)
        at = session.get_one(Memory, (user_id, at)).supersedes
    return at == target
