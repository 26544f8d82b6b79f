"""Undoing a forgetting while its window is open: the memory comes back as it was, tied to what is still there."""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Select, Uuid, delete, or_, select
from sqlalchemy.orm import Session

from memory.embedding.queue import enqueue
from memory.errors import ConflictError, DomainError, NotFoundError, RefusedError
from memory.forgetting.forget import UNDO_WINDOW, find_twins
from memory.ids import among
from memory.lineage.revisions import unpacked
from memory.lineage.succession import reaches
from memory.lineage.summing_up import ids_in, rings, sources_of
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
    brought_by,
    from_json,
    to_memory,
    went_with,
)
from memory.redaction.tombstones import lift, undo_ends, undo_until
from memory.spaces.capacity import make_room
from memory.spaces.spaces import lock_spaces_of, lock_tied
from memory.storage.unsynchronised import run_unsynchronised
from memory.texts.fingerprints import text_digest


@dataclass(frozen=True, slots=True)
class Restorable:
    """A forgotten memory that can still be brought back, without a word of it."""

    id: UUID
    space_id: UUID
    type: str
    forgotten_at: datetime
    undo_until: datetime


@dataclass(frozen=True, slots=True)
class Restored:
    """What came back, with the summaries that came along, and why those that were asked for did not."""

    back: Sequence[UUID]
    refused: Mapping[UUID, DomainError]


def restore(session: Session, user_id: UUID, memory_id: UUID, *, now: datetime, actor: str) -> Memory:
    """Undo a forgetting inside its window, and make room for what comes back in a space that is full by now.

    Raises why `restore_held` leaves it, and `ConflictError` as `lock_spaces_of` does.
    """
    spaces = hold_forgotten(session, user_id, [memory_id])
    done = restore_held(session, user_id, [memory_id], spaces, now=now, actor=actor)
    for refusal in done.refused.values():
        raise refusal
    make_room(session, spaces, done.back, now=now, actor=actor)
    return session.get_one(Memory, (user_id, memory_id))


def restore_held(
    session: Session, user_id: UUID, ids: Sequence[UUID], spaces: Sequence[Space], *, now: datetime, actor: str
) -> Restored:
    """Undo the forgetting of memories that `hold_forgotten` has locked; `spaces` are those that it returned.

    Summaries that had gone with them come back too, but for what was stored again since, and in another space whose
    memory is off. The caller makes room for all. What does not come back is left as it was, with `NotFoundError` when
    its window has closed or it has expired; `ConflictError` when the same text was stored since, and for a summary of
    what is still forgotten, unless that sums it up in turn and comes back too; `RefusedError` when memory is off in
    its space, where something can be forgotten, but nothing stored again.
    """
    asked = dict.fromkeys(ids)
    came: dict[UUID, None] = {}
    refused: dict[UUID, DomainError] = {}
    coming: Collection[UUID] = [*asked, *_tied_in_rings(session, user_id, asked)]
    while coming:
        why = _bring_back(session, user_id, coming, spaces, now, actor)
        new = [each for each in coming if each not in why]
        came |= dict.fromkeys(new)
        refused |= why
        went = select(Forgotten.id).where(Forgotten.user_id == user_id, went_with(new)).order_by(Forgotten.id)
        along = session.scalars(went).all() if new else ()
        # Those that were asked for are tried again: what they sum up may be there by now.
        coming = dict.fromkeys([*along, *(each for each in asked if each not in came)]) if new else ()
    return Restored([*came], {each: refused[each] for each in asked if each not in came})


def _closed() -> DomainError:
    return NotFoundError("there is nothing to restore: the undo window has closed")


def _bring_back(
    session: Session, user_id: UUID, ids: Collection[UUID], spaces: Sequence[Space], now: datetime, actor: str
) -> dict[UUID, DomainError]:
    """Bring back those of the memories that nothing keeps away; returns why each of the others stays."""
    mine = (Forgotten.user_id == user_id, among(Forgotten.id, ids))
    rows = select(Forgotten).where(*mine).with_for_update().execution_options(populate_existing=True)
    held = {row.id: row for row in session.scalars(rows.order_by(Forgotten.id))}
    there = {each: held[each] for each in ids if each in held}
    coming, refused = _admitted(session, user_id, there, spaces, now)
    refused |= {each: _closed() for each in ids if each not in held}
    back = {memory: held[memory.id].row for memory in coming}
    _keep_sources(session, user_id, coming)
    _keep_themes(session, user_id, coming)
    lift(session, user_id, [memory.id for memory in coming])
    for memory in coming:
        session.expunge(held[memory.id])
        memory.needs_embedding, memory.updated_at = True, now
        if memory.enriched_version is not None:
            # Its mentions of entities went with it, and have to be found again. Its importance has what they add
            # already.
            memory.enriched_version = 0
    gone = among(Forgotten.id, [memory.id for memory in coming])
    run_unsynchronised(session, delete(Forgotten).where(Forgotten.user_id == user_id, gone))
    _relink(session, user_id, back)
    for memory, row in back.items():
        session.add_all(unpacked(user_id, memory.id, row[LINKS].get(VERSIONS, ())))
        record(session, user_id, "memory.restored", actor=actor, now=now, subject_id=memory.id)
    session.flush()
    # When each wording was said is not known any more: all count as said now, before what is said from now on.
    said = ((memory.id, each) for memory, row in back.items() for each in row[LINKS].get(WORDINGS, ()))
    keep_wordings(session, user_id, [Merged(memory_id, text_digest(each), each, now) for memory_id, each in said])
    enqueue(session, user_id, [memory.id for memory in coming], now)
    return refused


def _admitted(
    session: Session, user_id: UUID, held: Mapping[UUID, Forgotten], spaces: Sequence[Space], now: datetime
) -> tuple[list[Memory], dict[UUID, DomainError]]:
    """Return memories of forgotten rows that may come back, and why each of the others may not."""
    places = {space.id: space for space in spaces}
    refused: dict[UUID, DomainError] = {}
    coming: list[Memory] = []
    for memory_id, forgotten in held.items():
        space = places.get(UUID(forgotten.row["space_id"]))
        if space is None or undo_until(forgotten) <= now:
            refused[memory_id] = _closed()
        elif not space.memory_enabled:
            why = f"memory is off in the space {space.slug!r}: turn it on to bring anything back"
            refused[memory_id] = RefusedError("memory_off", why)
        else:
            coming.append(to_memory({name: value for name, value in forgotten.row.items() if name != LINKS}))
    stored = {
        (space_id, digest)
        for space_id in places
        for digest in find_twins(session, user_id, space_id, _said_in(space_id, coming), now)
    }
    needed = _still_forgotten(session, user_id, coming)
    while True:
        # What is refused keeps away what sums it up, so that is asked again: of all that may come, rings as well.
        there, said, tried = {memory.id for memory in coming}, {*stored}, coming
        for memory in tried:
            key = (memory.space_id, memory.text_digest)
            if memory.status == "active" and key in said:
                refused[memory.id] = ConflictError("the same text was stored again since")
            elif not needed.get(memory.id, set()) <= there:
                refused[memory.id] = ConflictError("it sums up a memory that is forgotten")
            elif memory.status == "active":
                said.add(key)
        coming = [memory for memory in tried if memory.id not in refused]
        if len(coming) == len(tried):
            return coming, refused


def _said_in(space_id: UUID, memories: Sequence[Memory]) -> list[bytes]:
    return [each.text_digest for each in memories if (each.space_id, each.status) == (space_id, "active")]


def _still_forgotten(session: Session, user_id: UUID, memories: Sequence[Memory]) -> Mapping[UUID, set[UUID]]:
    """Return what summaries say that is forgotten, but what they went with: that brings them back as well.

    Not of those that are pinned or saved by hand, which their owner holds on to.
    """
    named = {each.id: {*sources_of(each)} for each in memories if not (each.pinned or each.manually_saved)}
    sources = {source for each in named.values() for source in each}
    if not sources:
        return {}
    stones = select(Tombstone.memory_id).where(Tombstone.user_id == user_id, among(Tombstone.memory_id, sources))
    forgotten = set(session.scalars(stones.distinct()))
    rows = select(Forgotten.id, Forgotten.row).where(Forgotten.user_id == user_id, among(Forgotten.id, forgotten))
    bring = {source: brought_by(row) for source, row in session.execute(rows)}
    return {
        each: {source for source in its & forgotten - {each} if str(each) not in bring.get(source, ())}
        for each, its in named.items()
    }


def _tied_in_rings(session: Session, user_id: UUID, ids: Collection[UUID]) -> Collection[UUID]:
    """Return the forgotten memories, beside these, that sum up one of these and are summed up by it, in the end.

    None of such a ring could come back first.
    """
    named: dict[UUID, set[UUID]] = {}
    kind, words = Forgotten.row["type"].astext, Forgotten.row["source_ids"]
    summaries = select(Forgotten.id, words).where(Forgotten.user_id == user_id, kind == "summary")
    near, seen = {*ids}, {*ids}
    while near:
        found = {
            each: {*ids_in(sources)} for each, sources in session.execute(summaries.where(among(Forgotten.id, near)))
        }
        named |= found
        near = {source for sources in found.values() for source in sources} - seen
        seen |= near
    return {other for ring in rings(named) if not ring.isdisjoint(ids) for other in ring}.difference(ids)


def hold_forgotten(session: Session, user_id: UUID, ids: Collection[UUID]) -> Sequence[Space]:
    """Lock the spaces of forgotten memories and return them; then all that `restore_held` brings back.

    Locked are also what is tied to them, forgotten or not, and active memories that say the same, each kind in the
    order of the ids.
    """
    mine = Forgotten.user_id == user_id

    def with_theirs(known: set[UUID]) -> set[UUID]:
        known |= {*_tied_in_rings(session, user_id, known)}
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
    mine = (Forgotten.user_id == user_id, among(Forgotten.id, ids))
    rows = session.execute(select(Forgotten.id, Forgotten.row["source_ids"]).where(*mine))
    named = {each: {*sources} - {str(each)} for each, sources in rows}
    left, order = [each for each in dict.fromkeys(ids) if each in named], list[UUID]()
    while left:
        waiting = {str(each) for each in left}
        # Those that sum each other up come in any order.
        ready = dict.fromkeys(each for each in left if waiting.isdisjoint(named[each])) or dict.fromkeys(left)
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


def _keep_sources(session: Session, user_id: UUID, memories: Sequence[Memory]) -> None:
    """Leave restored memories their sources, but of a conversation that was deleted; they stay until the commit."""
    said = {each: found for each in memories if (found := each.source_message_id) is not None}
    rows = select(Message.id).where(Message.user_id == user_id, among(Message.id, said.values())).order_by(Message.id)
    there = set(session.scalars(rows.with_for_update(read=True, key_share=True))) if said else ()
    for memory, message_id in said.items():
        memory.source_message_id = message_id if message_id in there else None


def _keep_themes(session: Session, user_id: UUID, memories: Sequence[Memory]) -> None:
    """Leave restored memories their themes, but those that were deleted, as whoever does that locks their spaces."""
    themed = {each: found for each in memories if (found := each.theme_id) is not None}
    rows = select(Theme.id).where(Theme.user_id == user_id, among(Theme.id, themed.values()))
    there = set(session.scalars(rows)) if themed else ()
    for memory, theme_id in themed.items():
        memory.theme_id = theme_id if theme_id in there else None


def _relink(session: Session, user_id: UUID, rows: Mapping[Memory, Row]) -> None:
    """Store restored memories, tied to those of their neighbours that are there, in their spaces; the caller holds all.

    A neighbour that was moved to another space is left out. One that was made active meanwhile stays active beside it.
    A memory that would supersede itself in the end supersedes nothing.
    """
    older = {memory.id: memory.supersedes for memory in rows}
    for memory in rows:
        memory.supersedes = None
    session.add_all(rows)
    session.flush()
    near = among(Memory.id, {each for row in rows.values() for each in _tied_to(row)})
    there = {each.id: each for each in session.scalars(select(Memory).where(Memory.user_id == user_id, near))}
    for memory, row in rows.items():
        links = row[LINKS]
        if (older_id := older[memory.id]) is not None:
            _supersede(session, memory, older_id, there)
        for newer_id in map(UUID, links[NEWER]):
            _be_superseded(session, memory, newer_id, there)
        for link in links[UPDATES]:
            _link_again(session, memory, link, there)
        # Rows that an earlier version forgot have none.
        for digest, question, created_at in links.get(MARKS, ()):
            values = {"question_digest": base64.b64decode(digest), "created_at": datetime.fromisoformat(created_at)}
            session.add(RecallMark(user_id=user_id, memory_id=memory.id, question=question, **values))


def _supersede(session: Session, memory: Memory, older_id: UUID, there: Mapping[UUID, Memory]) -> None:
    if (older := there.get(older_id)) is None:
        _leave_word(session, memory, older_id, NEWER, str(memory.id))
    elif older.status != "active":
        _tie(session, memory, older)


def _be_superseded(session: Session, memory: Memory, newer_id: UUID, there: Mapping[UUID, Memory]) -> None:
    if (newer := there.get(newer_id)) is None:
        _leave_word(session, memory, newer_id, "supersedes", str(memory.id))
    elif newer.supersedes is None:
        _tie(session, newer, memory)


def _tie(session: Session, newer: Memory, older: Memory) -> None:
    if newer.space_id == older.space_id and not reaches(session, newer.user_id, older.id, newer.id):
        newer.supersedes = older.id


def _link_again(session: Session, memory: Memory, link: list[str], there: Mapping[UUID, Memory]) -> None:
    """Make a restored memory and another one possible updates of each other again."""
    memory_id, older_id, differs_in, created_at = link
    ends = {"memory_id": UUID(memory_id), "older_id": UUID(older_id)}
    (other_id,) = set(ends.values()) - {memory.id}
    if (other := there.get(other_id)) is None:
        _leave_word(session, memory, other_id, UPDATES, link)
    elif other.space_id == memory.space_id:
        moment = datetime.fromisoformat(created_at)
        session.add(PossibleUpdate(user_id=memory.user_id, **ends, differs_in=differs_in, created_at=moment))


def _leave_word(session: Session, memory: Memory, other_id: UUID, name: str, tie: str | list[str]) -> None:
    """Note a tie in the row of a memory that is forgotten too, in case it is restored.

    What that one supersedes by now it goes on superseding.
    """
    other = session.get(Forgotten, (memory.user_id, other_id), with_for_update=True, populate_existing=True)
    if other is None:
        return
    links = other.row[LINKS]
    # A tie is one value in a column of the row, or one of many in a list of its links.
    added = {LINKS: {**links, name: [*links[name], tie]}} if name in links else {name: other.row[name] or tie}
    other.row = {**other.row, **added}
    session.flush()
