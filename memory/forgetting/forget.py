"""Forgetting: out of every read path at once, a tombstone for 24 hours, purged for good when undo has passed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import LargeBinary, delete, insert, select, update
from sqlalchemy.orm import Session

from memory.embedding.cache import drop_cached
from memory.errors import NotFoundError
from memory.forgetting.purge import purge_held, redact_all
from memory.ids import among
from memory.keys import Keys
from memory.lineage.summing_up import places_of_both, sources_of, summaries_of
from memory.models import Forgotten, Memory
from memory.reading.browse import get_memory
from memory.record.journal import record, release_calls
from memory.redaction.forgotten_rows import ALONG, LINKS, Row, forgotten_rows, texts_in, untied_rows
from memory.redaction.tombstones import bury, undo_until
from memory.spaces.spaces import lock_spaces, lock_spaces_of, lock_tied
from memory.storage.unsynchronised import run_unsynchronised

UNDO_WINDOW = timedelta(minutes=10)
# Of a space that is forgotten, up to so many memories are purged at once, while the space is locked.
PURGED_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class Forgetting:
    """What was forgotten; `undo_until` is None when it is gone for good already.

    `replaced` is the memory that it had superseded, if any, which stays so; `summaries` went with it, each out of its
    own space.
    """

    id: UUID
    undo_until: datetime | None
    replaced: UUID | None = None
    summaries: Mapping[UUID, UUID] = field(default_factory=dict)


def forget(
    session: Session,
    user_id: UUID,
    memory_id: UUID,
    *,
    keys: Keys,
    now: datetime,
    actor: str,
    undo: timedelta | None = None,
) -> Forgetting:
    """Take a memory out of every read path; with `undo`, it can be restored that long, or until it expires.

    Deleting the row takes its vectors, scores, versions, links and index entries along. Summaries that name it as a
    source go with it, and come back with it, but for those that are pinned or saved by hand. Raises `NotFoundError`.
    """
    memory = get_memory(session, user_id, memory_id)
    spaces = lock_spaces_of(session, user_id, places_of_both(user_id, [memory_id]))
    # The spaces are locked, so no summary of the memory is written there from here on.
    wanted = {memory_id, *summaries_of(session, user_id, [memory_id])}
    if memory not in lock_tied(session, user_id, wanted, spaces):
        raise NotFoundError("there is no such memory")
    [forgetting], texts = forget_locked(session, user_id, [memory], keys=keys, now=now, actor=actor, undo=undo)
    # Cached vectors come last, after all that tells of the memory, as in a purge.
    drop_cached(session, user_id, texts, keys)
    return forgetting


def forget_locked(
    session: Session,
    user_id: UUID,
    memories: Sequence[Memory],
    *,
    keys: Keys,
    now: datetime,
    actor: str,
    undo: timedelta | None,
) -> tuple[list[Forgetting], list[str]]:
    """Do as `forget` does with memories that the caller has locked with their spaces; return also all texts they said.

    Summaries of them are forgotten along, unless they are among them; the caller has locked these as well. The caller
    drops the texts from the caches, for all that is forgotten in one go: cached vectors are locked last
    (`memory.locks`).
    """
    if not memories:
        return [], []
    # Summaries are looked for before the memories go: after that, nobody could tell which they are.
    along = _along(session, user_id, memories)
    gone = [*along, *memories]
    rows = (untied_rows if undo is None else forgotten_rows)(session, user_id, gone)
    for summary, memory_id in along.items():
        rows[summary.id][LINKS][ALONG] = str(memory_id)
    said = _bury(session, user_id, {memory: memory.space_id for memory in gone}, rows, keys, now)
    if undo is None:
        redact_all(session, user_id, list(rows), said)
    _take_out(session, user_id, gone)
    if undo is not None:
        _hold(session, user_id, rows, now + undo)
    for memory in gone:
        tie = {"with": str(along[memory])} if memory in along else {}
        details = {"undo_seconds": int(undo.total_seconds()) if undo else 0, **tie}
        record(session, user_id, "memory.forgotten", actor=actor, now=now, subject_id=memory.id, details=details)
    session.flush()
    found = []
    for memory in memories:
        until = undo_until(Forgotten(row=rows[memory.id], purge_at=now + undo)) if undo is not None else None
        summaries = {each.id: each.space_id for each, by in along.items() if by == memory.id}
        found.append(Forgetting(memory.id, until, memory.supersedes, summaries))
    return found, said


def _along(session: Session, user_id: UUID, memories: Sequence[Memory]) -> Mapping[Memory, UUID]:
    """Return the summaries that go with memories, each with the first of these that it sums up, however indirectly."""
    goes = {memory.id: memory.id for memory in memories}
    if not (ids := summaries_of(session, user_id, goes)):
        return {}
    mine = (Memory.user_id == user_id, among(Memory.id, ids))
    left = {each: set(sources_of(each)) for each in session.scalars(select(Memory).where(*mine).order_by(Memory.id))}
    found: dict[Memory, UUID] = {}
    while near := {each: by for each, named in left.items() if (by := _first(named, goes)) is not None}:
        found |= near
        goes |= {each.id: by for each, by in near.items()}
        left = {each: named for each, named in left.items() if each not in near}
    return found


def _first(named: Collection[UUID], goes: Mapping[UUID, UUID]) -> UUID | None:
    return min((goes[each] for each in named if each in goes), default=None)


def _bury(
    session: Session, user_id: UUID, places: Mapping[Memory, UUID], rows: Mapping[UUID, Row], keys: Keys, now: datetime
) -> list[str]:
    """Leave tombstones of memories in these spaces; return all that they said."""
    said: dict[UUID, dict[UUID, list[str]]] = defaultdict(dict)
    for memory, space_id in places.items():
        said[space_id][memory.id] = texts_in(rows[memory.id])
    active = {memory.id for memory in places if memory.status == "active"}
    for space_id, texts in said.items():
        bury(session, texts, keys, now, user_id=user_id, space_id=space_id, active=active)
    return [text for texts in said.values() for each in texts.values() for text in each]


def find_twin(session: Session, memory: Memory, space_id: UUID, text_digest: bytes, now: datetime) -> UUID | None:
    """Return the active memory of a locked space, other than `memory`, that has the text of this digest.

    An expired one does not count: it is set aside, as the worker would do within a minute.
    """
    found = find_twins(session, memory.user_id, space_id, [text_digest], now, beside=(memory.id,))
    return found.get(text_digest)


def find_twins(
    session: Session,
    user_id: UUID,
    space_id: UUID,
    digests: Collection[bytes],
    now: datetime,
    *,
    beside: Collection[UUID] = (),
) -> Mapping[bytes, UUID]:
    """Return the active memories of a locked space, but those `beside`, that have one of these texts, by its digest.

    What has expired is set aside, as `find_twin` does.
    """
    twins = session.scalars(
        select(Memory).where(
            Memory.user_id == user_id,
            Memory.space_id == space_id,
            among(Memory.text_digest, digests, LargeBinary),
            Memory.status == "active",
            ~among(Memory.id, beside),
        )
    ).all()
    lapsed = set_aside(session, user_id, twins, now)
    return {twin.text_digest: twin.id for twin in twins if twin.id not in lapsed}


def forget_all(
    session: Session,
    user_id: UUID,
    memories: Sequence[Memory],
    restorable: Collection[UUID],
    *,
    space_id: UUID,
    conversation_ids: Sequence[UUID],
    removed: UUID,
    keys: Keys,
    now: datetime,
) -> None:
    """Take memories out of every read path with no undo, and end the undo of those that are `restorable`.

    The facts of the space `removed` are deleted, and calls that named them blanked. Calls are untied from these
    conversations, which the caller is about to delete.

    The caller has locked all of them and what they are in, and records what was done. Tombstones of what was in the
    space `removed` stand in the space `space_id`, those of others where it was. Up to `PURGED_AT_ONCE` memories are
    purged here. Of more, nothing can be read or brought back either, but `purge` removes them later: looking for all
    that tells of them takes minutes, for which nobody is to wait with the space locked.
    """
    rows = _set_aside(session, user_id, memories, now)
    places = {memory: space_id if memory.space_id == removed else memory.space_id for memory in memories}
    said = _bury(session, user_id, places, rows, keys, now)
    ids = [*rows, *restorable]
    mine = (Forgotten.user_id == user_id, among(Forgotten.id, ids))
    run_unsynchronised(session, update(Forgotten).where(*mine).values(purge_at=now))
    here = select(Forgotten).where(*mine).order_by(Forgotten.id).execution_options(populate_existing=True)
    due = session.scalars(here).all() if len(ids) <= PURGED_AT_ONCE else ()
    purge_held(session, user_id, due, keys=keys, now=now, conversation_ids=conversation_ids, facts_of=removed)
    # Calls come before cached vectors, as in a purge.
    release_calls(session, conversation_ids)
    drop_cached(session, user_id, said, keys)


def set_aside_expired(session: Session, user_id: UUID, *, now: datetime, most: int | None = None) -> int:
    """Make expired memories, `most` at most, forgotten ones that `purge` finds due; returns how many.

    Two steps, as their spaces are locked until the transaction ends, and a purge takes too long for that. Memories in a
    space that another transaction holds are left for the next time.
    """
    return len(set_aside(session, user_id, _expired(session, user_id, now, most), now))


def set_aside(session: Session, user_id: UUID, memories: Sequence[Memory], now: datetime) -> Collection[UUID]:
    """Make those of the memories that have expired forgotten ones that `purge` finds due; returns their ids.

    The caller has locked their spaces. If any memory has expired, all of them are locked here, in the order of their
    ids: the caller may be about to change the others, and locks them in this order too.
    """
    expired = [each for each in memories if each.has_expired(now)]
    if expired:
        rows = select(Memory.id).where(Memory.user_id == user_id, among(Memory.id, [each.id for each in memories]))
        session.execute(rows.order_by(Memory.id).with_for_update())
    return _set_aside(session, user_id, expired, now).keys()


def _set_aside(session: Session, user_id: UUID, memories: Sequence[Memory], now: datetime) -> Mapping[UUID, Row]:
    """Make memories forgotten ones that are due; returns their rows. The caller has locked them and their spaces."""
    if not memories:
        return {}
    rows = untied_rows(session, user_id, memories)
    _take_out(session, user_id, memories)
    _hold(session, user_id, rows, now)
    return rows


def _take_out(session: Session, user_id: UUID, memories: Sequence[Memory]) -> None:
    """Delete memories, in one statement: one for each of thousands takes three times as long."""
    session.flush()
    for memory in memories:
        session.expunge(memory)
    ids = [memory.id for memory in memories]
    run_unsynchronised(session, delete(Memory).where(Memory.user_id == user_id, among(Memory.id, ids)))


def _hold(session: Session, user_id: UUID, rows: Mapping[UUID, Row], until: datetime) -> None:
    """Keep the rows of forgotten memories until a moment."""
    held = [{"user_id": user_id, "id": memory_id, "row": row, "purge_at": until} for memory_id, row in rows.items()]
    session.execute(insert(Forgotten), held)


def _expired(session: Session, user_id: UUID, now: datetime, most: int | None) -> Sequence[Memory]:
    """Return the memories that have expired, `most` at most, locked with their spaces."""
    due = (Memory.user_id == user_id, Memory.expires_at <= now)
    # Spaces before memories, as every writer; then asked again, as an expiry may have been moved meanwhile.
    spaces = session.scalars(select(Memory.space_id).where(*due).distinct()).all()
    if not spaces:
        return ()
    held = lock_spaces(session, user_id, spaces, wait=False)
    rows = select(Memory.id).where(*due, Memory.space_id.in_([space.id for space in held])).order_by(Memory.id)
    ids = set(session.scalars(rows.limit(most)))
    return [memory for memory in lock_tied(session, user_id, ids, held) if memory.id in ids]
