"""What forgetting leaves behind, and the check that keeps a forgotten text from coming back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from unicodedata import category
from uuid import UUID

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from memory.addresses import pages
from memory.difference import digest_material
from memory.keys import Keys
from memory.models import Memory, Tombstone
from memory.text import NEAR, from_signed, hamming, normalise

LIFETIME = timedelta(hours=24)
_PUNCTUATION = ".,;:!?\u2026 "
_DIGEST = 32  # bytes
_WORD = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class Graveyard:
    """The live tombstones of one space."""

    stones: Sequence[Tombstone]
    keys: Keys

    def blocks(self, text: str, normalised: str, simhash: int) -> Tombstone | None:
        """Return the tombstone of this text or of a near-duplicate that differs in nothing that matters."""
        if not self.stones:
            return None
        # All: a tombstone of an earlier version stands for the text with its end.
        forms = {normalised or text, _trimmed(normalised or text), _material(text, normalised)}
        digests = {self.keys.digest("tombstone", form) for form in forms}
        marks, *named = _split(_marks(self.keys, text))
        for stone in self.stones:
            near = simhash != 0 and hamming(from_signed(stone.simhash), simhash) <= NEAR
            their_marks, *forgotten = _split(stone.marks_digest)
            # Without any address it is what was forgotten, cut short; with others only, it is another text.
            apart = named and not set(forgotten) <= set(named)
            if not apart and (stone.digest in digests or (near and their_marks == marks)):
                return stone
        return None


def _material(text: str, normalised: str) -> str:
    """Return what of a text must come again beside its addresses: its words, or the pictures where it has none."""
    if pages(text) and not _WORD.search(normalised):
        return "".join(sign for sign in normalised if category(sign) == "So")
    return _trimmed(normalised or text)


def _trimmed(text: str) -> str:
    """Return a text without the punctuation at its end, which whoever says it again may leave out or add."""
    return text.rstrip(_PUNCTUATION) or text


def _marks(keys: Keys, text: str) -> bytes:
    """Return the digest of a text's marks, and behind it one of each of its addresses, whatever their order.

    Tombstones of earlier versions know nothing of addresses, and refuse the text with any.
    """
    addresses = sorted(keys.digest("address", page) for page in pages(text))
    return b"".join([keys.digest("marks", digest_material(text)), *addresses])


def _split(digests: bytes) -> list[bytes]:
    return [digests[start : start + _DIGEST] for start in range(0, len(digests), _DIGEST)]


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
            digest=keys.digest("tombstone", _material(memory.text, normalise(memory.text))),
            marks_digest=_marks(keys, memory.text),
            simhash=memory.simhash,
            created_at=now,
            expires_at=now + LIFETIME,
        )
    )


def lift(session: Session, user_id: UUID, memory_id: UUID) -> None:
    """Remove the tombstone of a memory that is brought back."""
    session.execute(delete(Tombstone).where(Tombstone.user_id == user_id, Tombstone.memory_id == memory_id))
