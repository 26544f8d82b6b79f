"""What forgetting leaves behind, and the check that keeps a forgotten text from coming back."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import NamedTuple
from unicodedata import category
from urllib.parse import unquote
from uuid import UUID

from sqlalchemy import ColumnElement, Integer, LargeBinary, delete, func, insert, or_, select
from sqlalchemy.orm import Session

from memory.drafts.drafts import without_unseen
from memory.ids import among
from memory.keys import Keys
from memory.models import Forgotten, Memory, Tombstone
from memory.storage.driver import fetch
from memory.storage.unsynchronised import run_unsynchronised
from memory.texts.addresses import pages, spelled
from memory.texts.caseless import bare, caseless, trimmed
from memory.texts.distinguishing_marks import digest_material
from memory.texts.fingerprints import NEAR, bands, from_signed, hamming, normalise, simhash64, text_digest, to_signed
from memory.texts.needles import decoded
from memory.texts.scripts import UNSPACED
from memory.time_zones import short_name, user_zone

LIFETIME = timedelta(hours=24)
# Matched from the beginning of a run alone: otherwise a text of dots would take the square of its length.
_PAUSE = re.compile(r"(?<![.,;:!?\u2026])[.,;:!?\u2026]++(?=\s)")
_DIGEST = 32  # bytes
# What has no ink and may part words: the blank of no width, and fillers of Braille and Korean.
_UNSEEN_BLANKS = dict.fromkeys(map(ord, "\u200b\u115f\u1160\u2800\u3164\uffa0"), " ")
_GAP = re.compile(f"(?<={UNSPACED.pattern}) (?={UNSPACED.pattern})")
_WORD = re.compile(r"\w")
_CODED = re.compile("%[0-9a-fA-F]{2}")
_STANDING = """
SELECT user_id, space_id, memory_id, digest, marks_digest, simhash, created_at, expires_at FROM tombstones
WHERE user_id = %(user_id)s AND expires_at > %(now)s"""
_HERE = " AND space_id = %(space_id)s"
_FINAL = " AND NOT EXISTS (SELECT FROM forgotten WHERE user_id = %(user_id)s AND id = tombstones.memory_id)"
# A digest, or a band of a hash with its number.
_Trait = bytes | tuple[int, int]


class Stone(NamedTuple):
    """A tombstone without its id: of thousands, as rows of the session they take ten times as long to read."""

    user_id: UUID
    space_id: UUID
    memory_id: UUID
    digest: bytes
    marks_digest: bytes
    simhash: int
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True)
class Graveyard:
    """Live tombstones, mostly those of one space.

    A text is compared with those that it shares a digest or a band of its hash with, as many as a space may have.
    """

    stones: Sequence[Stone]
    keys: Keys

    def blocks(self, text: str, normalised: str, simhash: int) -> Stone | None:
        """Return the tombstone of this text or of a near-duplicate that differs in nothing that matters.

        Of several it is the one that stands longest.
        """
        return max(self.repeated(text, normalised, simhash), key=lambda stone: stone.expires_at, default=None)

    def repeated(self, text: str, normalised: str, simhash: int) -> Iterator[Stone]:
        """Yield each tombstone that `blocks` may return, some of them more than once."""
        if not self.stones:
            return
        said = {text: _Said(self.keys, text, normalised, simhash)}
        for whole in _spellings(text, self._knows):
            if whole not in said:
                read = normalise(whole)
                said[whole] = _Said(self.keys, whole, read, simhash64(read))
        yield from (stone for each in said.values() for stone in self._like(each) if each.repeats(stone))

    def bars(self, text: str, simhash: int) -> bool:
        """Tell whether a tombstone keeps a stored text away; `simhash` is signed, as its row has it."""
        return self.blocks(text, normalise(text), from_signed(simhash)) is not None

    def _like(self, said: _Said) -> Iterator[Stone]:
        """Return what a text may repeat, some of it more than once."""
        for trait in said.traits():
            yield from self._by_trait.get(trait, ())

    @cached_property
    def _by_trait(self) -> Mapping[_Trait, Sequence[Stone]]:
        found: dict[_Trait, list[Stone]] = defaultdict(list)
        for stone in self.stones:
            traits: list[_Trait] = [stone.digest, *enumerate(bands(from_signed(stone.simhash)))]
            for trait in traits:
                found[trait].append(stone)
        return found

    def _knows(self, page: str) -> bool:
        """Tell whether an address is among those that were forgotten here."""
        return bool(self._addresses) and self.keys.digest("address", page) in self._addresses

    @cached_property
    def _addresses(self) -> frozenset[bytes]:
        return frozenset(address for stone in self.stones for address in _split(stone.marks_digest)[1:])


@dataclass(frozen=True)
class _Said:
    """What is compared of a text with tombstones: digests of its forms, of its marks and of its addresses.

    Its marks and addresses are looked for only where its words are like those of a tombstone: they take by far the
    longest, and few texts are like one.
    """

    keys: Keys
    text: str
    normalised: str
    simhash: int

    def traits(self) -> Iterator[_Trait]:
        """Return what its tombstone is found by: the digests of its forms, and the bands of its hash."""
        yield from self._digests
        if self.simhash:
            yield from enumerate(bands(self.simhash))

    def repeats(self, stone: Stone) -> bool:
        near = self.simhash != 0 and hamming(from_signed(stone.simhash), self.simhash) <= NEAR
        same = stone.digest in self._digests
        if not (near or same):
            return False
        marks, *addresses = self._marks
        forgotten_marks, *forgotten = _split(stone.marks_digest)
        # A text without any address is what was forgotten, cut short; one with other addresses alone is another text.
        if addresses and not set(addresses).issuperset(forgotten):
            return False
        return same or marks == forgotten_marks

    @cached_property
    def _digests(self) -> frozenset[bytes]:
        read = self.normalised or self.text
        material = _material(self.text, self.normalised)
        # All of these forms, as tombstones of earlier versions were made of the text with its end, its commas, its case
        # or its letters.
        forms = {read, trimmed(read), material, caseless(material), _bare(material)}
        # They left digits and unseen signs in it as well.
        forms.add(caseless(_material(self.text, caseless(self.text))))
        return frozenset(self.keys.digest("tombstone", form) for form in forms)

    @cached_property
    def _marks(self) -> list[bytes]:
        return _split(_marks(self.keys, self.text))


def _spellings(text: str, known: Callable[[str], bool] = lambda _: False) -> Sequence[str]:
    """Return the forms of a text that are compared, its addresses spelled out in each.

    These are the text itself and what it says where JSON or an address codes all of it, and each of them once more
    without invisible characters and with blanks for them, if it has any: such a character may stand in a word or
    between two.
    """
    said = (text, *_meant(text))
    forms = dict.fromkeys(
        form for each in said for form in (each, without_unseen(each) or each, each.translate(_UNSEEN_BLANKS))
    )
    return [spelled(each, known) for each in forms]


def _meant(text: str) -> Sequence[str]:
    """Return what a text says that is coded as a whole; none for one with an address, which is meant as it is typed."""
    said = [text, *decoded(text)]
    said += [unquote(each) for each in said if _CODED.search(each)]
    return said[1:] if len(said) > 1 and not pages(text) else ()


def _material(text: str, normalised: str) -> str:
    """Return what of a text must come again beside its addresses: its words, or the pictures where it has none.

    Where one pauses between the words is not part of it.
    """
    if pages(text) and not _WORD.search(normalised):
        return "".join(sign for sign in normalised if category(sign) == "So")
    return " ".join(_PAUSE.sub("", trimmed(normalised or text)).split())


def _bare(material: str) -> str:
    """Return what is the same for all ways to write a text; where a script has no blanks, any of them means nothing."""
    return _GAP.sub("", bare(material))


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
    values = {"user_id": user_id, "space_id": space_id, "now": now}
    return Graveyard([Stone(*row) for row in fetch(session, _STANDING + _HERE, values)], keys)


def final_graveyard(session: Session, user_id: UUID, keys: Keys, now: datetime) -> Graveyard:
    """Load the tombstones, of all spaces, of what cannot be brought back any more."""
    values = {"user_id": user_id, "now": now}
    return Graveyard([Stone(*row) for row in fetch(session, _STANDING + _FINAL, values)], keys)


def refusal(session: Session, stone: Stone, now: datetime) -> str:
    """Say until when a tombstone keeps its text away, and until when the forgetting can be undone, if it still can.

    Both are told by the clocks of the user's time zone.
    """
    zone = user_zone(session, stone.user_id)
    expiry = stone.expires_at.astimezone(zone)
    said = f"forgotten less than 24 hours ago, and is refused until {expiry:%Y-%m-%d %H:%M} {short_name(expiry)}"
    forgotten = session.get(Forgotten, (stone.user_id, stone.memory_id))
    if forgotten is None or (until := undo_until(forgotten)) <= now:
        return said
    until = until.astimezone(zone)
    return f"{said}; until {until:%H:%M} {short_name(until)} the forgetting can be undone instead"


def undo_until(forgotten: Forgotten) -> datetime:
    """Return until when a forgetting can be undone: what expires before its undo has passed does not come back."""
    expires_at = forgotten.row["expires_at"]
    return forgotten.purge_at if expires_at is None else min(forgotten.purge_at, datetime.fromisoformat(expires_at))


def undo_ends() -> ColumnElement[datetime]:
    """Return what reads `undo_until` in a statement."""
    return func.least(Forgotten.purge_at, Forgotten.row["expires_at"].astext.cast(Forgotten.purge_at.type))


def bury(
    session: Session,
    said: Mapping[UUID, Sequence[str]],
    keys: Keys,
    now: datetime,
    *,
    user_id: UUID,
    space_id: UUID,
    active: Collection[UUID] = (),
) -> None:
    """Leave tombstones in a space for 24 hours: of what memories or facts say, and of each text that they said before.

    `said` has by id the text of each, followed by its earlier texts. These are refused as well, as whoever told the
    memory may say it again as it was at first; but not one that another active memory of the space says, or that would
    merge into such a memory. Nor one that another of these says that was `active`: the tombstone of that one keeps it
    away, and is lifted if that one is brought back.
    """
    stones: list[Stone] = []
    said_now: set[bytes] = set()
    former: list[tuple[Stone, str]] = []
    for memory_id, texts in said.items():
        mine: set[bytes] = set()
        for place, words, text in ((n, each, form) for n, each in enumerate(texts) for form in _spellings(each)):
            normalised = normalise(text)
            stone = Stone(
                user_id=user_id,
                space_id=space_id,
                memory_id=memory_id,
                digest=keys.digest("tombstone", _bare(_material(text, normalised))),
                marks_digest=_marks(keys, text),
                simhash=to_signed(simhash64(normalised)),
                created_at=now,
                expires_at=now + LIFETIME,
            )
            if (key := stone.digest + stone.marks_digest) not in mine:
                mine.add(key)
                stones.append(stone)
                if place:
                    former.append((stone, words))
                elif memory_id in active:
                    said_now.add(key)
    free = _said_by_others(session, said.keys(), former, keys, now)
    free |= {stone for stone, _ in former if stone.digest + stone.marks_digest in said_now}
    if kept := [stone._asdict() for stone in stones if stone not in free]:
        session.execute(insert(Tombstone), kept)


def _said_by_others(
    session: Session, buried: Collection[UUID], former: Sequence[tuple[Stone, str]], keys: Keys, now: datetime
) -> set[Stone]:
    """Return those of the `former` tombstones, all of one space, that would keep away what another memory there says.

    Only memories that are active, not expired and not among the `buried` count.
    """
    if not former:
        return set()
    stones = [stone for stone, _ in former]
    digests = {text_digest(words) for _, words in former}
    per_band = zip(*(bands(from_signed(stone.simhash)) for stone in stones if stone.simhash), strict=True)
    columns = (Memory.band0, Memory.band1, Memory.band2, Memory.band3)
    # As arrays, each in one parameter: of a forgotten space there are more than the protocol has room for.
    others = select(Memory.text, Memory.simhash).where(
        Memory.user_id == stones[0].user_id,
        Memory.space_id == stones[0].space_id,
        Memory.status == "active",
        Memory.unexpired(now),
        ~among(Memory.id, buried),
        or_(
            among(Memory.text_digest, digests, LargeBinary),
            *(among(column, set(one), Integer) for column, one in zip(columns, per_band, strict=False)),
        ),
    )
    graves = Graveyard(stones, keys)
    return {
        stone
        for text, simhash in session.execute(others)
        for stone in graves.repeated(text, normalise(text), from_signed(simhash))
    }


def lift(session: Session, user_id: UUID, memory_ids: Collection[UUID]) -> None:
    """Remove the tombstones of memories that are brought back."""
    mine = (Tombstone.user_id == user_id, among(Tombstone.memory_id, memory_ids))
    run_unsynchronised(session, delete(Tombstone).where(*mine))
