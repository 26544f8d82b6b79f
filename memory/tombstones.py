"""What forgetting leaves behind, and the check that keeps a forgotten text from coming back."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from unicodedata import category
from uuid import UUID

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from memory.addresses import pages, spelled
from memory.difference import digest_material
from memory.keys import Keys
from memory.models import Forgotten, Memory, Tombstone
from memory.text import NEAR, from_signed, hamming, normalise, simhash64, to_signed
from memory.time_zones import short_name, user_zone

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
        """Return the tombstone of this text or of a near-duplicate that differs in nothing that matters.

        Of several it is the one that stands longest.
        """
        if not self.stones:
            return None
        said = [_said(self.keys, text, normalised, simhash)]
        if (whole := spelled(text, self._addresses())) != text:
            read = normalise(whole)
            said.append(_said(self.keys, whole, read, simhash64(read)))
        found = (stone for stone in self.stones if any(each.repeats(stone) for each in said))
        return max(found, key=lambda stone: stone.expires_at, default=None)

    def bars(self, text: str, simhash: int) -> bool:
        """Tell whether a tombstone keeps a stored text away; `simhash` is signed, as its row has it."""
        return self.blocks(text, normalise(text), from_signed(simhash)) is not None

    def _addresses(self) -> Callable[[str], bool]:
        """Return what tells whether an address is among those that were forgotten here."""
        forgotten = frozenset(address for stone in self.stones for address in _split(stone.marks_digest)[1:])
        return lambda page: bool(forgotten) and self.keys.digest("address", page) in forgotten


@dataclass(frozen=True, slots=True)
class _Said:
    """What is compared of a text with tombstones: digests of its forms, of its marks and of its addresses."""

    digests: frozenset[bytes]
    simhash: int
    marks: bytes
    addresses: frozenset[bytes]

    def repeats(self, stone: Tombstone) -> bool:
        marks, *forgotten = _split(stone.marks_digest)
        # Without any address it is what was forgotten, cut short; with others only, it is another text.
        if self.addresses and not self.addresses.issuperset(forgotten):
            return False
        near = self.simhash != 0 and hamming(from_signed(stone.simhash), self.simhash) <= NEAR
        return stone.digest in self.digests or (near and marks == self.marks)


def _said(keys: Keys, text: str, normalised: str, simhash: int) -> _Said:
    # All: a tombstone of an earlier version stands for the text with its end.
    forms = {normalised or text, _trimmed(normalised or text), _material(text, normalised)}
    marks, *addresses = _split(_marks(keys, text))
    return _Said(frozenset(keys.digest("tombstone", form) for form in forms), simhash, marks, frozenset(addresses))


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


def refusal(session: Session, stone: Tombstone, now: datetime) -> str:
    """Say until when a tombstone keeps its text away, and until when the forgetting can be undone, if it still can.

    Both are told by the clocks of the user's time zone.
    """
    zone = user_zone(session, stone.user_id)
    expiry = stone.expires_at.astimezone(zone)
    said = f"forgotten less than 24 hours ago, and is refused until {expiry:%Y-%m-%d %H:%M} {short_name(expiry)}"
    forgotten = session.get(Forgotten, (stone.user_id, stone.memory_id))
    if forgotten is None or forgotten.purge_at <= now:
        return said
    purge = forgotten.purge_at.astimezone(zone)
    return f"{said}; until {purge:%H:%M} {short_name(purge)} the forgetting can be undone instead"


def bury(session: Session, memory: Memory, keys: Keys, now: datetime) -> None:
    """Leave a tombstone for 24 hours."""
    text = spelled(memory.text, lambda _: False)
    normalised = normalise(text)
    session.add(
        Tombstone(
            user_id=memory.user_id,
            space_id=memory.space_id,
            memory_id=memory.id,
            digest=keys.digest("tombstone", _material(text, normalised)),
            marks_digest=_marks(keys, text),
            simhash=to_signed(simhash64(normalised)),
            created_at=now,
            expires_at=now + LIFETIME,
        )
    )


def lift(session: Session, user_id: UUID, memory_id: UUID) -> None:
    """Remove the tombstone of a memory that is brought back."""
    session.execute(delete(Tombstone).where(Tombstone.user_id == user_id, Tombstone.memory_id == memory_id))
