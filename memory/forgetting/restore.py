"""Undoing a forgetting while its window is open: the memory comes back as it was, tied to what is still there."""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Select, Uuid, or_, select
from sqlalchemy.orm import Session

from memory.embedding.queue import enqueue
from memory.errors import ConflictError, NotFoundError, RefusedError
from memory.forgetting.forget import UNDO_WINDOW, find_twin
from memory.ids import among
from memory.lineage.revisions import unpacked
from memory.lineage.succession import reaches
from memory.lineage.summing_up import sources_of
from memory.lineage.wordings import Merged, keep_wordings
from memory.models import Forgotten, Memory, Message, PossibleUpdate, RecallMark, Space, Theme, Tombstone
from memory.record.journal import record
from memory.redaction.forgotten_rows import (
    LINKS,
    MARKS,
    NEWER,
    UPDATES,
    VERSIONS,
    WORDINGS,
    Row,
    from_json,
    to_memory,
    went_with,
)
from memory.redaction.tombstones import lift, undo_ends, undo_until
from memory.spaces.capacity import make_room
from memory.spaces.spaces import lock_spaces_of, lock_tied
from memory.texts.fingerprints import text_digest


@dataclass(frozen=True, slots=True)
class Restorable:
    """A forgotten memory that can still be brought back, without a word of it."""

    id: UUID
    space_id: UUID
    type: str
    forgotten_at: datetime
    undo_until: datetime


def restore(session: Session, user_id: UUID, memory_id: UUID, *, now: datetime, actor: str) -> Memory:
    """Undo a forgetting inside its window, and make room for what comes back in a space that is full by now.

    Raises what `restore_held` does, and `ConflictError` as `lock_spaces_of` does.
    """
    spaces = hold_forgotten(session, user_id, [memory_id])
    memory, along = restore_held(session, user_id, memory_id, spaces, now=now, actor=actor)
    make_room(session, spaces, [memory_id, *along], now=now, actor=actor)
    return memory


def restore_held(
    session: Session, user_id: UUID, memory_id: UUID, spaces: Sequence[Space], *, now: datetime, actor: str
) -> tuple[Memory, Sequence[UUID]]:
    """Undo a forgetting of a memory that `hold_forgotten` has locked; `spaces` are those that it returned.

    Returns the memory, and the summaries that had gone with it and come back too. The caller makes room for all of
    them. Raises `NotFoundError` when the window has closed or the memory has expired; `ConflictError` when the same
    text was stored since, and for a summary of what is still forgotten; `RefusedError` when memory is off in its space,
    where something can be forgotten, but nothing stored again.
    """
    forgotten = session.get(Forgotten, (user_id, memory_id), with_for_update=True, populate_existing=True)
    row = dict(forgotten.row) if forgotten is not None else {}
    space = next((space for space in spaces if str(space.id) == row.get("space_id")), None)
    if space is None or forgotten is None or undo_until(forgotten) <= now:
        raise NotFoundError("there is nothing to restore: the undo window has closed")
    links = row.pop(LINKS)
    memory = to_memory(row)
    if not space.memory_enabled:
        raise RefusedError(
            "memory_off", f"memory is off in the space {space.slug!r}: turn it on to bring anything back"
        )
    _refuse_twin(session, memory, now)
    _refuse_forgotten(session, memory)
    _keep_source(session, memory)
    _keep_theme(session, memory)
    lift(session, user_id, memory_id)
    session.delete(forgotten)
    memory.needs_embedding, memory.updated_at = True, now
    if memory.enriched_version is not None:
        # Its mentions of entities went with it, and have to be found again. Its importance has what they add already.
        memory.enriched_version = 0
    session.add(memory)
    _relink(session, memory, links)
    session.add_all(unpacked(user_id, memory_id, links.get(VERSIONS, ())))
    session.flush()
    # When each wording was said is not known any more: all count as said now, before what is said from now on.
    merged = [Merged(memory_id, text_digest(each), each, now) for each in links.get(WORDINGS, ())]
    keep_wordings(session, user_id, merged)
    enqueue(session, user_id, [memory_id], now)
    record(session, user_id, "memory.restored", actor=actor, now=now, subject_id=memory_id)
    return memory, _restore_along(session, user_id, memory_id, spaces, now, actor)


def _restore_along(
    session: Session, user_id: UUID, memory_id: UUID, spaces: Sequence[Space], now: datetime, actor: str
) -> Sequence[UUID]:
    """Bring back the summaries that went with a memory; return which.

    What was stored again since stays away, and so does one in another space whose memory is off. One that sums up
    something else that is forgotten comes back with that.
    """
    back = []
    for each in session.scalars(select(Forgotten.id).where(Forgotten.user_id == user_id, went_with([memory_id]))).all():
        try:
            with session.begin_nested():
                restore_held(session, user_id, each, spaces, now=now, actor=actor)
        except (ConflictError, NotFoundError, RefusedError):
            continue
        back.append(each)
    return back


def hold_forgotten(session: Session, user_id: UUID, ids: Collection[UUID]) -> Sequence[Space]:
    """Lock the spaces of forgotten memories and return them; then all that `restore_held` brings back.

    Locked are also what is tied to them, forgotten or not, and active memories that say the same, each kind in the
    order of the ids.
    """
    mine = Forgotten.user_id == user_id

    def with_theirs(known: set[UUID]) -> set[UUID]:
        while more := set(session.scalars(select(Forgotten.id).where(mine, went_with(known)))) - known:
            known |= more
        return known

    spaces = lock_spaces_of(session, user_id, _places_of(user_id, with_theirs({*ids})))
    # Looked for again: nothing of these spaces is forgotten from here on.
    ids = with_theirs({*ids})
    rows = session.scalars(select(Forgotten.row).where(mine, Forgotten.id.in_(ids))).all()
    tied = {memory_id for row in rows for memory_id in _tied_to(row)}
    both = select(Forgotten.id).where(mine, Forgotten.id.in_({*ids, *tied})).order_by(Forgotten.id)
    session.execute(both.with_for_update())
    lock_tied(session, user_id, tied, spaces, [from_json(row["text_digest"], bytes) for row in rows])
    return spaces


def sources_first(session: Session, user_id: UUID, ids: Sequence[UUID]) -> Sequence[UUID]:
    """Return those of the ids that are of forgotten memories, each behind what it sums up: it comes back after that."""
    rows = select(Forgotten.id, Forgotten.row["source_ids"]).where(Forgotten.user_id == user_id, Forgotten.id.in_(ids))
    named = {each: {*sources} - {str(each)} for each, sources in session.execute(rows)}
    left, order = [each for each in ids if each in named], list[UUID]()
    while left:
        waiting = {str(each) for each in left}
        # Those that sum each other up come in any order.
        ready = [each for each in left if waiting.isdisjoint(named[each])] or left
        order += ready
        left = [each for each in left if each not in ready]
    return order


def _places_of(user_id: UUID, ids: Collection[UUID]) -> Select[UUID]:
    """Return what reads the spaces that these forgotten memories, and summaries that went with them, come back to.

    None for those that went with theirs.
    """
    space_id = Forgotten.row["space_id"].astext.cast(Uuid)
    there = space_id.in_(select(Space.id).where(Space.user_id == user_id))
    theirs = or_(Forgotten.id.in_(ids), went_with(ids))
    return select(space_id).where(Forgotten.user_id == user_id, theirs, there).distinct()


def _tied_to(row: Row) -> Iterator[UUID]:
    """Yield the ids that a forgotten row names as tied to it."""
    links = row[LINKS]
    ends = (memory_id for link in links[UPDATES] for memory_id in link[:2])
    return (UUID(each) for each in (row["supersedes"], *links[NEWER], *ends) if each is not None)


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


def _refuse_forgotten(session: Session, memory: Memory) -> None:
    """Keep a summary away that says what is forgotten, but what went with it: that comes back with it as well."""
    if memory.pinned or memory.manually_saved:
        return
    mine = (Forgotten.user_id == memory.user_id, went_with([memory.id]))
    back = {memory.id, *session.scalars(select(Forgotten.id).where(*mine))}
    stones = (Tombstone.user_id == memory.user_id, among(Tombstone.memory_id, {*sources_of(memory)} - back))
    if session.scalar(select(Tombstone.id).where(*stones).limit(1)) is not None:
        raise ConflictError("it sums up a memory that is forgotten")


def _relink(session: Session, memory: Memory, links: dict[str, Any]) -> None:
    """Tie a restored memory to those of its neighbours that are still there, in its space; the caller holds them.

    A neighbour that was moved to another space is left out. One that was made active meanwhile stays active beside it.
    A memory that would supersede itself in the end supersedes nothing.
    """
    older_id, memory.supersedes = memory.supersedes, None
    session.flush()
    if older_id is not None:
        older = session.get(Memory, (memory.user_id, older_id))
        if older is None:
            _leave_word(session, memory, older_id, NEWER, str(memory.id))
        elif older.space_id == memory.space_id and older.status != "active":
            memory.supersedes = older_id
    for newer_id in links[NEWER]:
        newer = session.get(Memory, (memory.user_id, UUID(newer_id)))
        if newer is None:
            _leave_word(session, memory, UUID(newer_id), "supersedes", str(memory.id))
        elif (newer.space_id, newer.supersedes) == (memory.space_id, None) and not reaches(
            session, memory.user_id, memory.id, newer.id
        ):
            newer.supersedes = memory.id
    for link in links[UPDATES]:
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
        _leave_word(session, memory, other_id, UPDATES, link)
    elif other.space_id == memory.space_id:
        moment = datetime.fromisoformat(created_at)
        session.add(PossibleUpdate(user_id=memory.user_id, **ends, differs_in=differs_in, created_at=moment))


def _leave_word(session: Session, memory: Memory, other_id: UUID, name: str, tie: str | list[str]) -> None:
    """Note a tie in the row of a memory that is forgotten too, in case it is restored."""
    other = session.get(Forgotten, (memory.user_id, other_id), with_for_update=True, populate_existing=True)
    if other is None:
        return
    links = other.row[LINKS]
    # A tie is one value in a column of the row, or one of many in a list of its links.
    added = {LINKS: {**links, name: [*links[name], tie]}} if name in links else {name: tie}
    other.row = {**other.row, **added}
    session.flush()
