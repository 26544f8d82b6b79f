"""In which other words a memory was said: what merges into it leaves its text as it is, and is kept beside it.

Nobody is shown them. They are there to be found in whatever quotes them when their memory is forgotten, and go with it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, Select, delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from memory.ids import among
from memory.models import Wording
from memory.storage.unsynchronised import run_unsynchronised

# The same number as of versions: an agent that says a memory in ever other words must not fill the disk.
MOST_KEPT = 100
_KEY = ("user_id", "memory_id", "text_digest")
_LATEST_FIRST = (Wording.said_at.desc(), Wording.text_digest)


@dataclass(frozen=True, slots=True)
class Merged:
    """A text that was merged into a memory, with the digest of it that exact repeats share."""

    memory_id: UUID
    text_digest: bytes
    text: str
    said_at: datetime


def keep_wordings(session: Session, user_id: UUID, merged: Sequence[Merged]) -> None:
    """Keep what was merged into memories, which the caller has locked and flushed; of each the latest hundred stay."""
    if not merged:
        return
    added = insert(Wording)
    latest = {name: added.excluded[name] for name in ("text", "said_at")}
    said_again = added.on_conflict_do_update(index_elements=_KEY, set_=latest)
    session.execute(said_again, [{"user_id": user_id, **asdict(each)} for each in merged])
    _drop_oldest(session, user_id, {each.memory_id for each in merged})


def _drop_oldest(session: Session, user_id: UUID, memory_ids: Collection[UUID]) -> None:
    place = func.row_number().over(partition_by=Wording.memory_id, order_by=_LATEST_FIRST).label("place")
    placed = select(Wording.memory_id, Wording.text_digest, place).where(*_of(user_id, memory_ids)).subquery()
    old = (placed.c.memory_id == Wording.memory_id, placed.c.text_digest == Wording.text_digest)
    dropped = delete(Wording).where(Wording.user_id == user_id, *old, placed.c.place > MOST_KEPT)
    run_unsynchronised(session, dropped)


def hand_wordings_over(session: Session, user_id: UUID, twins: Mapping[UUID, UUID]) -> None:
    """Give each twin what was merged into its memory."""
    rows = session.execute(_kept(user_id, twins)).all()
    keep_wordings(session, user_id, [Merged(twins[each], digest, text, said) for each, digest, text, said in rows])


def wordings(session: Session, user_id: UUID, memory_ids: Collection[UUID]) -> Mapping[UUID, list[str]]:
    """Return for each memory the texts that were merged into it, the latest first; left out is what has none."""
    found: dict[UUID, list[str]] = defaultdict(list)
    for memory_id, _, text, _ in session.execute(_kept(user_id, memory_ids).order_by(*_LATEST_FIRST)):
        found[memory_id].append(text)
    return found


def _kept(user_id: UUID, memory_ids: Collection[UUID]) -> Select[UUID, bytes, str, datetime]:
    columns = (Wording.memory_id, Wording.text_digest, Wording.text, Wording.said_at)
    return select(*columns).where(*_of(user_id, memory_ids))


def _of(user_id: UUID, memory_ids: Collection[UUID]) -> tuple[ColumnElement[bool], ...]:
    return Wording.user_id == user_id, among(Wording.memory_id, memory_ids)
