"""What forgetting leaves behind, and the check that keeps a forgotten text from coming back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from memory.difference import digest_material
from memory.keys import Keys
from memory.models import Memory, Tombstone
from memory.text import NEAR, from_signed, hamming, normalise

LIFETIME = timedelta(hours=24)
_PUNCTUATION = ".,;:!?\u2026 "


@dataclass(frozen=True, slots=True)
class Graveyard:
    """The live tombstones of one space."""

    stones: Sequence[Tombstone]
    keys: Keys

    def blocks(self, text: str, normalised: str, simhash: int) -> Tombstone | None:
        """Return the tombstone of this text or of a near-duplicate that differs in nothing that matters."""
        if not self.stones:
            return None
        # Both: a tombstone of an earlier version stands for the text with its end.
        digests = {self.keys.digest("tombstone", form) for form in (normalised or text, _material(normalised or text))}
        marks = self.keys.digest("marks", digest_material(text))
        for stone in self.stones:
            near = simhash != 0 and hamming(from_signed(stone.simhash), simhash) <= NEAR
            if stone.digest in digests or (near and stone.marks_digest == marks):
                return stone
        return None


def _material(text: str) -> str:
    """Return a text without the punctuation at its end, which whoever says it again may leave out or add."""
    return text.rstrip(_PUNCTUATION) or text


def graveyard(session: Session, user_id: UUID, space_id: UUID, keys: Keys, now: datetime) -> Graveyard:
    """Load the tombstones of a space that still stand."""
    statement = select(Tombstone).where(
        Tombstone.user_id == user_id, Tombstone.space_id == space_id, Tombstone.expires_at > now
    )
    return Graveyard(session.scalars(statement).all(), keys)


def bury(session: Session, memory: Memory, keys: Keys, now: datetime) -> None:
    """Leave a tombstone for 24 hours."""
    session.add(
        Tombstone(
            user_id=memory.user_id,
            space_id=memory.space_id,
            memory_id=memory.id,
            # A text of nothing but links has no normal form; by that, one would stand for all.
            digest=keys.digest("tombstone", _material(normalise(memory.text) or memory.text)),
            marks_digest=keys.digest("marks", digest_material(memory.text)),
            simhash=memory.simhash,
            created_at=now,
            expires_at=now + LIFETIME,
        )
    )


def lift(session: Session, user_id: UUID, memory_id: UUID) -> None:
    """Remove the tombstone of a memory that is brought back."""
    session.execute(delete(Tombstone).where(Tombstone.user_id == user_id, Tombstone.memory_id == memory_id))
