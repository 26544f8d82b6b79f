"""Forgetting: out of every read path at once, a tombstone for 24 hours, purged for good when undo has passed."""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Select, Uuid, delete, insert, or_, select, update
from sqlalchemy.inspection import inspect
from sqlalchemy.orm import Session

from memory.capacity import make_room
from memory.embedding.cache import drop_cached
from memory.embedding.queue import enqueue
from memory.errors import ConflictError, NotFoundError, RefusedError
from memory.ids import among
from memory.journal import record, release_calls
from memory.keys import Keys
from memory.models import Forgotten, Memory, Message, PossibleUpdate, RecallMark, Space, Theme
from memory.purge import purge_held, redact_all
from memory.revisions import LINKS, MARKS, VERSIONS, WORDINGS, packed, packed_by_memory, texts_in, texts_of, unpacked
from memory.spaces import lock_space_of, lock_spaces, lock_spaces_of, lock_tied
from memory.succession import reaches
from memory.text import text_digest
from memory.tombstones import bury, lift, undo_ends, undo_until
from memory.wordings import Merged, keep_wordings, wordings

UNDO_WINDOW = timedelta(minutes=10)
# What a forgotten row has beside its columns: see `_links`.
_NEWER, _UPDATES = "superseded_by", "possible_updates"
_UNTIED: dict[str, list[Any]] = {_NEWER: [], _UPDATES: [], MARKS: []}
# So many are looked for in what else tells of them while their space is locked.
PURGED_AT_ONCE = 1000
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Forgetting:
    """What was forgotten; `undo_until` is None when it is gone for good already.

    `replaced` is the memory that it had superseded, if any, which stays so.
    """

    id: UUID
    undo_until: datetime | None
    replaced: UUID | None = None


@dataclass(frozen=True, slots=True)
class Restorable:
    """A forgotten memory that can still be brought back, without a word of it."""

    id: UUID
    space_id: UUID
    type: str
    forgotten_at: datetime
    undo_until: datetime


def get_memory(session: Session, user_id: UUID, memory_id: UUID) -> Memory:
    """Return the user's memory; raises `NotFoundError` for anyone else's as for none."""
    memory = session.get(Memory, (user_id, memory_id))
    if memory is None:
        raise NotFoundError("there is no such memory")
    return memory


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

    Deleting the row takes its vectors, scores, versions, links and index entries along. Raises `NotFoundError`.
    """
    memory = get_memory(session, user_id, memory_id)
    space = lock_space_of(session, memory)
    forgetting, texts = forget_locked(session, memory, space, keys=keys, now=now, actor=actor, undo=undo)
    # After what tells of it, as whoever purges locks them.
    drop_cached(session, user_id, texts, keys)
    return forgetting


def forget_locked(
    session: Session, memory: Memory, space: Space, *, keys: Keys, now: datetime, actor: str, undo: timedelta | None
) -> tuple[Forgetting, Sequence[str]]:
    """Do as `forget` does with a memory that the caller has locked, with its space; return what it said as well.

    The caller drops what was cached of that, of all that is forgotten in one go: it has an order of its own.
    """
    user_id, memory_id, replaced = memory.user_id, memory.id, memory.supersedes
    others = texts_of(session, user_id, [memory_id])
    bury(session, {memory: others}, keys, now, user_id=user_id, space_id=space.id)
    texts = [memory.text, *others]
    until = None
    if undo is not None:
        row = {**_to_row(memory), LINKS: _links(session, memory)}
        forgotten = Forgotten(user_id=user_id, id=memory_id, row=row, purge_at=now + undo)
        session.add(forgotten)
        until = undo_until(forgotten)
    else:
        redact_all(session, user_id, [memory_id], texts)
    session.delete(memory)
    details = {"undo_seconds": int(undo.total_seconds()) if undo else 0}
    record(session, user_id, "memory.forgotten", actor=actor, now=now, subject_id=memory_id, details=details)
    session.flush()
    return Forgetting(memory_id, until, replaced), texts


def restore(session: Session, user_id: UUID, memory_id: UUID, *, now: datetime, actor: str) -> Memory:
    """Undo a forgetting inside its window, and make room for what comes back in a space that is full by now.

    Raises what `restore_held` does, and `ConflictError` as `lock_spaces_of` does.
    """
    spaces = hold_forgotten(session, user_id, [memory_id])
    memory = restore_held(session, user_id, memory_id, spaces, now=now, actor=actor)
    make_room(session, spaces, [memory_id], now=now, actor=actor)
    return memory


def restore_held(
    session: Session, user_id: UUID, memory_id: UUID, spaces: Sequence[Space], *, now: datetime, actor: str
) -> Memory:
    """Undo a forgetting that the caller holds, as one of those that `hold_forgotten` gave these spaces for.

    The caller makes room for all that comes back. Raises `NotFoundError` when the window has closed or the memory has
    expired, `ConflictError` when the same text was stored since, `RefusedError` when memory is off in its space: to
    forget is possible there, to store again is not until it is on.
    """
    forgotten = session.get(Forgotten, (user_id, memory_id), with_for_update=True, populate_existing=True)
    row = dict(forgotten.row) if forgotten is not None else {}
    space = next((space for space in spaces if str(space.id) == row.get("space_id")), None)
    if space is None or forgotten is None or undo_until(forgotten) <= now:
        raise NotFoundError("there is nothing to restore: the undo window has closed")
    links = row.pop(LINKS)
    memory = _from_row(row)
    if not space.memory_enabled:
        raise RefusedError(
            "memory_off", f"memory is off in the space {space.slug!r}: turn it on to bring anything back"
        )
    _refuse_twin(session, memory, now)
    _keep_source(session, memory)
    _keep_theme(session, memory)
    lift(session, user_id, memory_id)
    session.delete(forgotten)
    memory.needs_embedding, memory.updated_at = True, now
    if memory.enriched_version is not None:
        # The sentences that name entities went with it, and are looked for again; its importance has its share.
        memory.enriched_version = 0
    session.add(memory)
    _relink(session, memory, links)
    session.add_all(unpacked(user_id, memory_id, links.get(VERSIONS, ())))
    session.flush()
    # When each was said is not known any more: all of them before what is said from now on.
    merged = [Merged(memory_id, text_digest(each), each, now) for each in links.get(WORDINGS, ())]
    keep_wordings(session, user_id, merged)
    enqueue(session, user_id, [memory_id], now)
    record(session, user_id, "memory.restored", actor=actor, now=now, subject_id=memory_id)
    return memory


def hold_forgotten(session: Session, user_id: UUID, ids: Collection[UUID]) -> Sequence[Space]:
    """Lock what `restore_held` brings back, with the spaces that it comes back to; return these.

    What it is tied to is locked as well, forgotten or not, and what says the same: each in the order of the ids.
    """
    spaces = lock_spaces_of(session, user_id, _places_of(user_id, ids))
    mine = Forgotten.user_id == user_id
    rows = session.scalars(select(Forgotten.row).where(mine, Forgotten.id.in_(ids))).all()
    tied = {memory_id for row in rows for memory_id in _tied_to(row)}
    both = select(Forgotten.id).where(mine, Forgotten.id.in_({*ids, *tied})).order_by(Forgotten.id)
    session.execute(both.with_for_update())
    lock_tied(session, user_id, tied, spaces, [_from_json(row["text_digest"], bytes) for row in rows])
    return spaces


def _places_of(user_id: UUID, ids: Collection[UUID]) -> Select[UUID]:
    """Return what reads the spaces that these forgotten memories come back to; none for those that went with theirs."""
    space_id = Forgotten.row["space_id"].astext.cast(Uuid)
    there = space_id.in_(select(Space.id).where(Space.user_id == user_id))
    return select(space_id).where(Forgotten.user_id == user_id, Forgotten.id.in_(ids), there).distinct()


def _tied_to(row: Row) -> Iterator[UUID]:
    """Yield the ids that a forgotten row names as tied to it."""
    links = row[LINKS]
    ends = (memory_id for link in links[_UPDATES] for memory_id in link[:2])
    return (UUID(each) for each in (row["supersedes"], *links[_NEWER], *ends) if each is not None)


def list_restorable(
    session: Session, user_id: UUID, ids: Collection[UUID] | None = None, *, now: datetime
) -> Sequence[Restorable]:
    """Return what `restore` can bring back, of these ids or of all; what was forgotten last comes first."""
    space_id, kind = Forgotten.row["space_id"].astext, Forgotten.row["type"].astext
    until = undo_ends()
    statement = select(Forgotten.id, space_id, kind, Forgotten.purge_at - UNDO_WINDOW, until).where(
        Forgotten.user_id == user_id, until > now
    )
    if ids is not None:
        statement = statement.where(Forgotten.id.in_(ids))
    statement = statement.order_by(Forgotten.purge_at.desc(), Forgotten.id.desc())
    return [Restorable(memory_id, UUID(space), *rest) for memory_id, space, *rest in session.execute(statement)]


def _keep_source(session: Session, memory: Memory) -> None:
    """Leave a restored memory its source, unless the conversation was deleted meanwhile; it stays until the commit."""
    if memory.source_message_id is not None:
        key = (memory.user_id, memory.source_message_id)
        if session.get(Message, key, with_for_update={"read": True, "key_share": True}) is None:
            memory.source_message_id = None


def _keep_theme(session: Session, memory: Memory) -> None:
    """Leave a restored memory its theme, unless that was deleted meanwhile, as whoever does that locks its space."""
    if memory.theme_id is not None and session.get(Theme, (memory.user_id, memory.theme_id)) is None:
        memory.theme_id = None


def _refuse_twin(session: Session, memory: Memory, now: datetime) -> None:
    if memory.status == "active" and find_twin(session, memory, memory.space_id, memory.text_digest, now) is not None:
        raise ConflictError("the same text was stored again since")


def find_twin(session: Session, memory: Memory, space_id: UUID, text_digest: bytes, now: datetime) -> UUID | None:
    """Return the active memory of a locked space that has this text, beside the one that is to have it there.

    One that has expired keeps nobody away: it is set aside, as the worker would in a minute.
    """
    twin = session.scalar(
        select(Memory).where(
            Memory.user_id == memory.user_id,
            Memory.space_id == space_id,
            Memory.text_digest == text_digest,
            Memory.status == "active",
            Memory.id != memory.id,
        )
    )
    if twin is None or set_aside(session, memory.user_id, [twin], now):
        return None
    return twin.id


def _links(session: Session, memory: Memory) -> dict[str, Any]:
    """Return what points at a memory or comes from it, and goes with the row.

    Ids, kinds, the questions that it was marked as right for, what it said before, and what was merged into it.
    """
    mine = select(PossibleUpdate).where(
        PossibleUpdate.user_id == memory.user_id,
        or_(PossibleUpdate.memory_id == memory.id, PossibleUpdate.older_id == memory.id),
    )
    newer = select(Memory.id).where(Memory.user_id == memory.user_id, Memory.supersedes == memory.id)
    marks = select(RecallMark).where(RecallMark.user_id == memory.user_id, RecallMark.memory_id == memory.id)
    return {
        _NEWER: [str(memory_id) for memory_id in session.scalars(newer)],
        _UPDATES: [
            [str(link.memory_id), str(link.older_id), link.differs_in, link.created_at.isoformat()]
            for link in session.scalars(mine)
        ],
        MARKS: [
            [_to_json(mark.question_digest), mark.question, _to_json(mark.created_at)]
            for mark in session.scalars(marks.order_by(RecallMark.created_at, RecallMark.question_digest))
        ],
        VERSIONS: packed(session, memory.user_id, memory.id),
        WORDINGS: wordings(session, memory.user_id, [memory.id]).get(memory.id, []),
    }


def _relink(session: Session, memory: Memory, links: dict[str, Any]) -> None:
    """Tie a restored memory to those of its neighbours that are still there, in its space. They are locked.

    One that has gone to another space since is a stranger there, what was made active meanwhile holds beside it, and
    nothing is to supersede itself in the end.
    """
    older_id, memory.supersedes = memory.supersedes, None
    session.flush()
    if older_id is not None:
        older = session.get(Memory, (memory.user_id, older_id))
        if older is None:
            _leave_word(session, memory, older_id, _NEWER, str(memory.id))
        elif older.space_id == memory.space_id and older.status != "active":
            memory.supersedes = older_id
    for newer_id in links[_NEWER]:
        newer = session.get(Memory, (memory.user_id, UUID(newer_id)))
        if newer is None:
            _leave_word(session, memory, UUID(newer_id), "supersedes", str(memory.id))
        elif (newer.space_id, newer.supersedes) == (memory.space_id, None) and not reaches(
            session, memory.user_id, memory.id, newer.id
        ):
            newer.supersedes = memory.id
    for link in links[_UPDATES]:
        _link_again(session, memory, link)
    # Rows that an earlier version forgot have none.
    for digest, question, created_at in links.get(MARKS, ()):
        values = {"question_digest": base64.b64decode(digest), "created_at": datetime.fromisoformat(created_at)}
        session.add(RecallMark(user_id=memory.user_id, memory_id=memory.id, question=question, **values))


def _link_again(session: Session, memory: Memory, link: list[str]) -> None:
    """Make a restored memory and another one possible updates of each other again."""
    memory_id, older_id, differs_in, created_at = link
    ends = {"memory_id": UUID(memory_id), "older_id": UUID(older_id)}
    (other_id,) = set(ends.values()) - {memory.id}
    other = session.get(Memory, (memory.user_id, other_id))
    if other is None:
        _leave_word(session, memory, other_id, _UPDATES, link)
    elif other.space_id == memory.space_id:
        moment = datetime.fromisoformat(created_at)
        session.add(PossibleUpdate(user_id=memory.user_id, **ends, differs_in=differs_in, created_at=moment))


def _leave_word(session: Session, memory: Memory, other_id: UUID, name: str, tie: str | list[str]) -> None:
    """Note a tie in the row of a memory that is forgotten too, in case it is restored."""
    other = session.get(Forgotten, (memory.user_id, other_id), with_for_update=True, populate_existing=True)
    if other is None:
        return
    links = other.row[LINKS]
    # A column holds one; the lists of links hold many.
    added = {LINKS: {**links, name: [*links[name], tie]}} if name in links else {name: tie}
    other.row = {**other.row, **added}
    session.flush()


def forget_all(
    session: Session,
    user_id: UUID,
    memories: Sequence[Memory],
    restorable: Collection[UUID],
    *,
    space_id: UUID,
    conversation_ids: Sequence[UUID],
    facts_of: UUID,
    keys: Keys,
    now: datetime,
) -> None:
    """Take memories out of every read path with no undo, and what could be brought back as well.

    The facts of the space `facts_of` are deleted, and calls that named them blanked. Calls are untied from these
    conversations, which the caller is about to delete.

    All of them, and what they are in, are locked by the caller, who records it. Their tombstones stand in `space_id`.
    Up to `PURGED_AT_ONCE` are purged here; of more nothing can be read or brought back either, and `purge` finds them
    due: to look for what they say takes minutes, and their tombstones, which are many, are all that anyone waits for.
    """
    rows = _set_aside(session, user_id, memories, now)
    said = {memory: texts_in(rows[memory.id])[1:] for memory in memories}
    bury(session, said, keys, now, user_id=user_id, space_id=space_id)
    ids = [*rows, *restorable]
    mine = (Forgotten.user_id == user_id, among(Forgotten.id, ids))
    _quietly(session, update(Forgotten).where(*mine).values(purge_at=now))
    here = select(Forgotten).where(*mine).order_by(Forgotten.id).execution_options(populate_existing=True)
    due = session.scalars(here).all() if len(ids) <= PURGED_AT_ONCE else ()
    purge_held(session, user_id, due, keys=keys, now=now, conversation_ids=conversation_ids, facts_of=facts_of)
    # Before what was cached, as whoever purges locks them.
    release_calls(session, conversation_ids)
    drop_cached(session, user_id, [text for row in rows.values() for text in texts_in(row)], keys)


def set_aside_expired(session: Session, user_id: UUID, *, now: datetime, most: int | None = None) -> int:
    """Take memories that have expired, `most` at most, to where `purge` finds them due; returns how many.

    Their spaces are locked until the transaction ends, which a purge is too long for. What is in a space that another
    transaction holds is left for the next time.
    """
    return len(set_aside(session, user_id, _expired(session, user_id, now, most), now))


def set_aside(session: Session, user_id: UUID, memories: Sequence[Memory], now: datetime) -> Collection[UUID]:
    """Take those of the memories that have expired to where `purge` finds them due; returns their ids.

    Their spaces are locked by the caller. If any has expired, all of them are locked here, in the order of their ids:
    the caller may be about to change the others.
    """
    expired = [each for each in memories if each.expires_at is not None and each.expires_at <= now]
    if expired:
        rows = select(Memory.id).where(Memory.user_id == user_id, among(Memory.id, [each.id for each in memories]))
        session.execute(rows.order_by(Memory.id).with_for_update())
    return _set_aside(session, user_id, expired, now).keys()


def _set_aside(session: Session, user_id: UUID, memories: Sequence[Memory], now: datetime) -> Mapping[UUID, Row]:
    """Make memories forgotten ones that are due; returns the rows. They are locked by the caller, and so are spaces."""
    if not memories:
        return {}
    ids = [memory.id for memory in memories]
    versions, merged = packed_by_memory(session, user_id, ids), wordings(session, user_id, ids)
    links = {each: {**_UNTIED, VERSIONS: versions.get(each, []), WORDINGS: merged.get(each, [])} for each in ids}
    rows = {memory.id: {**_to_row(memory), LINKS: links[memory.id]} for memory in memories}
    session.flush()
    for memory in memories:
        session.expunge(memory)
    due = [{"user_id": user_id, "id": memory_id, "row": row, "purge_at": now} for memory_id, row in rows.items()]
    session.execute(insert(Forgotten), due)
    # In one statement: one for each of thousands takes three times as long.
    _quietly(session, delete(Memory).where(Memory.user_id == user_id, among(Memory.id, rows)))
    return rows


def _quietly(session: Session, statement: Any) -> None:
    # Nothing of it is in the session, or will be looked at again.
    session.execute(statement.execution_options(synchronize_session=False))


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


def _columns() -> list[str]:
    # Generated columns are worked out again, the rest is kept as it was.
    return [column.key for column in inspect(Memory).columns if column.computed is None]


def _to_row(memory: Memory) -> dict[str, Any]:
    return {name: _to_json(getattr(memory, name)) for name in _columns()}


def _to_json(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value


def _from_row(row: dict[str, Any]) -> Memory:
    columns = inspect(Memory).columns
    return Memory(**{name: _from_json(value, columns[name].type.python_type) for name, value in row.items()})


def _from_json(value: Any, kind: type) -> Any:
    if value is None:
        return None
    if kind is bytes:
        return base64.b64decode(value)
    if kind is datetime:
        return datetime.fromisoformat(value)
    return UUID(value) if kind is UUID else value
