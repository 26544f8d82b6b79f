"""Making one memory of two that say the same, when the space of the one joins that of the other."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from uuid import UUID

from sqlalchemy import ARRAY, Text, Uuid, cast, column, delete, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from memory.drafts.drafts import MAX_SOURCE_IDS, later_expiry, merged_tags, merged_words
from memory.ids import among
from memory.lineage.revisions import hand_over
from memory.lineage.succession import reaches
from memory.models import Memory, PossibleUpdate, RecallMark
from memory.storage.unsynchronised import run_unsynchronised


def merge_twins(session: Session, user_id: UUID, twins: Mapping[UUID, UUID], now: datetime) -> None:
    """Merge each memory into its twin, take its links over, and delete it. All of them are locked by the caller."""
    if not twins:
        return
    ids = {*twins, *twins.values()}
    statement = select(Memory).where(Memory.user_id == user_id, among(Memory.id, ids))
    rows = {memory.id: memory for memory in session.scalars(statement.execution_options(populate_existing=True))}
    for old_id, new_id in twins.items():
        _fold(rows[old_id], rows[new_id], now)
    session.flush()
    _move_possible_updates(session, user_id, twins)
    _move_successions(session, user_id, twins)
    hand_over(session, user_id, twins)
    _copy_marks(session, user_id, twins)
    _move_followers(session, user_id, twins)
    _move_sources(session, user_id, twins, {rows[old_id].space_id for old_id in twins})
    for old_id in twins:
        session.expunge(rows[old_id])
    session.execute(delete(Memory).where(Memory.user_id == user_id, among(Memory.id, twins)))
    session.expire_all()


def _fold(old: Memory, new: Memory, now: datetime) -> None:
    """Let a memory keep what its twin had: it was said as often as both, and is held if one of them was."""
    new.repeat_count += old.repeat_count + 1
    new.importance = max(new.importance, old.importance)
    new.pinned = new.pinned or old.pinned
    new.manually_saved = new.manually_saved or old.manually_saved
    new.tags = merged_tags(new.tags, old.tags)
    new.source_ids = merged_words(new.source_ids, tuple(old.source_ids), MAX_SOURCE_IDS)
    new.source_message = new.source_message or old.source_message
    new.source_message_id = new.source_message_id or old.source_message_id
    new.theme_id = new.theme_id or old.theme_id
    new.expires_at = later_expiry(new.expires_at, old.expires_at)
    new.updated_at = now


def _move_possible_updates(session: Session, user_id: UUID, twins: Mapping[UUID, UUID]) -> None:
    ends = or_(among(PossibleUpdate.memory_id, twins), among(PossibleUpdate.older_id, twins))
    for link in session.scalars(select(PossibleUpdate).where(PossibleUpdate.user_id == user_id, ends)).all():
        memory_id, older_id = (twins.get(end, end) for end in (link.memory_id, link.older_id))
        known = session.get(PossibleUpdate, (user_id, memory_id, older_id))
        if memory_id != older_id and known is None:
            fields = {"differs_in": link.differs_in, "created_at": link.created_at}
            session.add(PossibleUpdate(user_id=user_id, memory_id=memory_id, older_id=older_id, **fields))
        session.delete(link)
    session.flush()


def _copy_marks(session: Session, user_id: UUID, twins: Mapping[UUID, UUID]) -> None:
    """Mark each twin as right for what its memory was marked as right for; the memory takes its own marks along."""
    mine = select(RecallMark).where(RecallMark.user_id == user_id, among(RecallMark.memory_id, twins))
    for mark in session.scalars(mine.order_by(RecallMark.created_at)):
        values = {"question_digest": mark.question_digest, "question": mark.question, "created_at": mark.created_at}
        copied = insert(RecallMark).values(user_id=user_id, memory_id=twins[mark.memory_id], **values)
        session.execute(copied.on_conflict_do_nothing())


def _move_successions(session: Session, user_id: UUID, twins: Mapping[UUID, UUID]) -> None:
    """Let what superseded a memory, or was superseded by it, be tied to its twin, wherever that makes no circle."""
    tied = select(Memory).where(
        Memory.user_id == user_id,
        or_(among(Memory.supersedes, twins), among(Memory.id, twins) & Memory.supersedes.is_not(None)),
    )
    for memory in session.scalars(tied.order_by(Memory.id)).all():
        assert memory.supersedes is not None
        newer = session.get_one(Memory, (user_id, twins.get(memory.id, memory.id)))
        older_id = twins.get(memory.supersedes, memory.supersedes)
        if newer.supersedes in {None, memory.supersedes} and not reaches(session, user_id, older_id, newer.id):
            newer.supersedes = older_id
    session.flush()


def _move_followers(session: Session, user_id: UUID, twins: Mapping[UUID, UUID]) -> None:
    """Let what was stored right after a memory come after its twin; no memory comes after itself."""
    ends = (cast(list(each), ARRAY(Uuid)) for each in (twins.keys(), twins.values()))
    pairs = func.unnest(*ends).table_valued(column("old", Uuid), column("new", Uuid), name="pairs").render_derived()
    mine = (Memory.user_id == user_id, Memory.previous_id == pairs.c.old, Memory.id != pairs.c.new)
    followers = update(Memory).where(*mine).values(previous_id=pairs.c.new)
    run_unsynchronised(session, followers)


def _move_sources(session: Session, user_id: UUID, twins: Mapping[UUID, UUID], spaces: Collection[UUID]) -> None:
    """Let what names a memory as its source name its twin: a summary goes with what it sums up.

    That is what comes from the same spaces, or was merged into a twin.
    """
    words = {str(old_id): str(new_id) for old_id, new_id in twins.items()}
    there = or_(among(Memory.space_id, spaces), among(Memory.id, twins.values()))
    names = Memory.source_ids.op("&&")(cast(list(words), ARRAY(Text)))
    naming = select(Memory).where(Memory.user_id == user_id, there, names)
    for memory in session.scalars(naming.order_by(Memory.id)).all():
        named = tuple(words.get(each, each) for each in memory.source_ids)
        memory.source_ids = merged_words([], named, MAX_SOURCE_IDS)
    session.flush()
