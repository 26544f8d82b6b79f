"""Removing what is forgotten for good once it is due, with whatever tells of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from memory.conversations.session_state import drop_goals
from memory.embedding.cache import drop_cached
from memory.errors import NotFoundError
from memory.ids import among
from memory.keys import Keys
from memory.models import Forgotten, Tombstone
from memory.notebooks.notebooks import drop_removed
from memory.record.journal import record, redact
from memory.redaction.forgotten_rows import LINKS, MARKS, texts_in
from memory.storage.unsynchronised import run_unsynchronised
from memory.texts.needles import Needles


def purge(session: Session, user_id: UUID, *, keys: Keys, now: datetime, most: int | None = None) -> int:
    """Remove for good what is due: forgotten rows and old tombstones. Returns how many rows.

    At most `most` forgotten rows go, those with the lowest ids; no space is locked. If it returns fewer than `most`,
    only rows that another transaction holds are left.

    Notebooks and cells that were removed go as well, once their undo has passed. Rows that another transaction holds
    are left for the next time, and so are memories that a mark tells of where another transaction holds the mark's own
    memory: see `purge_held`.
    """
    rows = select(Forgotten).where(Forgotten.user_id == user_id, Forgotten.purge_at <= now).order_by(Forgotten.id)
    due = session.scalars(rows.limit(most).with_for_update(skip_locked=True)).all()
    gone = purge_held(session, user_id, due, keys=keys, now=now)
    # Last, as those who are waited for above may themselves wait for a notebook.
    drop_removed(session, user_id, now)
    old = delete(Tombstone).where(Tombstone.user_id == user_id, Tombstone.expires_at <= now)
    return gone + len(session.scalars(old.returning(Tombstone.id)).all())


def purge_forgotten(session: Session, user_id: UUID, memory_id: UUID, *, keys: Keys, now: datetime) -> dict[str, Any]:
    """Remove one forgotten memory for good, whether its undo has passed or not, and return its row.

    Where another transaction holds what tells of it, this only ends its undo, and `purge` removes it later. Raises
    `NotFoundError` when nothing of it is left.
    """
    forgotten = session.get(Forgotten, (user_id, memory_id), with_for_update=True, populate_existing=True)
    if forgotten is None:
        raise NotFoundError("nothing of it is left")
    row = forgotten.row
    forgotten.purge_at = min(forgotten.purge_at, now)
    purge_held(session, user_id, [forgotten], keys=keys, now=now)
    return row


def purge_held(
    session: Session,
    user_id: UUID,
    due: Sequence[Forgotten],
    *,
    keys: Keys,
    now: datetime,
    conversation_ids: Sequence[UUID] = (),
    facts_of: UUID | None = None,
) -> int:
    """Remove forgotten memories, which the caller has locked, and whatever tells of them; returns how many are gone.

    A mark keeps a question with the forgotten memory that was the right answer to it, and such a question may say what
    another memory said. Where another transaction holds the mark's memory, the memories that its question tells of
    stay: it may be purging too, and the two must not wait for each other.
    """
    said = {row.id: texts_in(row.row) for row in due}
    needles = _needles_of(said)
    saying = _saying(session, user_id, said, needles)
    marked = _lock_marked(session, user_id, saying, wait=False)
    if held := saying.keys() - {forgotten.id for forgotten in marked}:
        questions = [question for each in held for question in saying[each]]
        said = {each: texts for each, texts in said.items() if not any(map(Needles(texts).in_text, questions))}
        needles = _needles_of(said)
    # All in one call, as each call locks what it blanks in the order that everyone keeps.
    _blank(session, list(said), needles, marked, conversation_ids, facts_of)
    if not said:
        return 0
    # Once more after the forgetting, as somebody may have searched for these very words since, which caches their
    # vector.
    drop_cached(session, user_id, [text for texts in said.values() for text in texts], keys)
    session.flush()
    gone = [row for row in due if row.id in said]
    for row in gone:
        session.expunge(row)
    removed = delete(Forgotten).where(Forgotten.user_id == user_id, among(Forgotten.id, said))
    run_unsynchronised(session, removed)
    expired = sum(map(_has_expired, gone))
    details = {"forgotten": len(gone) - expired, "expired": expired}
    record(session, user_id, "memory.purged", actor="system", now=now, count=len(gone), details=details)
    return len(gone)


def _needles_of(said: Mapping[UUID, Sequence[str]]) -> Needles:
    return Needles(text for texts in said.values() for text in texts)


def redact_all(session: Session, user_id: UUID, memory_ids: Sequence[UUID], texts: Sequence[str]) -> None:
    """Blank what tells of memories that are gone for good, as `redact` does, and what could come back with others.

    The latter are marks of other forgotten memories whose question says one of the texts. These memories are locked
    here, so the caller has locked the spaces that it needs, and holds no forgotten row yet.
    """
    needles = Needles(texts)
    # Forgotten rows are locked before what `redact` locks, as in a purge.
    marked = _lock_marked(session, user_id, _saying(session, user_id, memory_ids, needles), wait=True)
    _blank(session, memory_ids, needles, marked)


def _saying(
    session: Session, user_id: UUID, memory_ids: Collection[UUID], needles: Needles
) -> Mapping[UUID, Sequence[str]]:
    """Return the other forgotten memories whose marks have a question that says a text, each with these questions."""
    if not needles:
        return {}
    others = (Forgotten.user_id == user_id, ~among(Forgotten.id, memory_ids))
    marks = Forgotten.row[(LINKS, MARKS)]
    marked = session.execute(select(Forgotten.id, marks).where(*others, func.jsonb_array_length(marks) > 0))
    found = {each: [question for _, question, _ in its if needles.in_text(question)] for each, its in marked}
    return {each: questions for each, questions in found.items() if questions}


def _lock_marked(session: Session, user_id: UUID, ids: Collection[UUID], *, wait: bool) -> Sequence[Forgotten]:
    """Return these forgotten memories, locked in their order; without `wait` those that nobody else holds."""
    if not ids:
        return ()
    rows = select(Forgotten).where(Forgotten.user_id == user_id, among(Forgotten.id, ids)).order_by(Forgotten.id)
    rows = rows.with_for_update(skip_locked=not wait)
    return session.scalars(rows.execution_options(populate_existing=True)).all()


def _blank(
    session: Session,
    memory_ids: Sequence[UUID],
    needles: Needles,
    marked: Sequence[Forgotten],
    conversation_ids: Sequence[UUID] = (),
    facts_of: UUID | None = None,
) -> None:
    redact(session, memory_ids, needles, conversation_ids, facts_of=facts_of)
    # Goals come after calls, as in the deletion of a conversation.
    drop_goals(session, needles)
    for forgotten in marked:
        links = forgotten.row[LINKS]
        kept = [mark for mark in links[MARKS] if not needles.in_text(mark[1])]
        forgotten.row = {**forgotten.row, LINKS: {**links, MARKS: kept}}


def _has_expired(forgotten: Forgotten) -> bool:
    expires_at = forgotten.row["expires_at"]
    return expires_at is not None and datetime.fromisoformat(expires_at) <= forgotten.purge_at
