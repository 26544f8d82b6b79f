"""Roll-ups that were made once and are made anew, as what they sum up was corrected since."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.orm import Session

from memory.errors import DomainError
from memory.keys import Keys
from memory.lineage.summing_up import sources_of
from memory.models import Memory, Space
from memory.record.journal import record
from memory.spaces.spaces import lock_space_of
from memory.writing.edit import update
from memory.writing.retention import Aging, read_aging

_OUTDATED = text("SELECT user_id, memory_id FROM outdated_roll_ups()")


@dataclass(frozen=True, slots=True)
class RollUp:
    """A roll-up as it is, and the memories that it sums up, the oldest first, as they are by now.

    `is_private` says that its space is incognito by default.
    """

    id: UUID
    version: int
    text: str
    sources: Sequence[Aging]
    is_private: bool


def outdated(session: Session) -> Sequence[tuple[UUID, UUID]]:
    """Return the roll-ups of all users, (user, memory) in order, of which a source says something else since.

    Not those that anybody has changed by hand, nor any of a space that wants none, or whose memory is off.
    """
    return [(row.user_id, row.memory_id) for row in session.execute(_OUTDATED)]


def roll_up_of(session: Session, user_id: UUID, memory_id: UUID) -> RollUp | None:
    """Return a roll-up with what it sums up; None where it or all of that is gone."""
    summary = session.get(Memory, (user_id, memory_id))
    if summary is None:
        return None
    sources = read_aging(session, user_id, sources_of(summary))
    space = session.get_one(Space, (user_id, summary.space_id))
    return RollUp(summary.id, summary.version, summary.text, sources, space.incognito_default) if sources else None


def say_anew(session: Session, user_id: UUID, roll_up: RollUp, said: str, *, keys: Keys, now: datetime) -> bool:
    """Let a roll-up say something else; tells whether it does. It counts as made `now`, when its sources were read.

    One that somebody has changed or forgotten meanwhile stays so, as does one whose new text is refused.
    """
    memory = session.get(Memory, (user_id, roll_up.id))
    if memory is None:
        return False
    lock_space_of(session, memory)
    if memory.version != roll_up.version:
        return False
    changed = said != memory.text
    try:
        if changed:
            with session.begin_nested():
                update(session, user_id, memory.id, {"text": said}, keys=keys, now=now, actor="system")
    except DomainError:
        changed = False
    details = {"memories": len(roll_up.sources), "again": True}
    record(session, user_id, "memory.rolled_up", actor="system", now=now, subject_id=memory.id, details=details)
    return changed
