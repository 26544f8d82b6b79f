"""Changing a memory that exists: pin, patch, supersede, archive."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from memory.drafts import Draft, check_status
from memory.embedding.queue import enqueue
from memory.errors import ConflictError, InvalidError, RefusedError
from memory.forget import get_memory
from memory.journal import record
from memory.keys import Keys
from memory.models import Memory, Space
from memory.remember import apply_pinning_policy, prepare
from memory.spaces import ensure_themes, lock_space_of
from memory.text import to_signed
from memory.tombstones import graveyard

# Checked as a draft's fields are; the rest have rules of their own below.
_DRAFT_FIELDS = ("text", "type", "tags", "source_ids", "theme", "importance", "expires_at", "manually_saved")
_OTHER_FIELDS = ("status", "pinned", "supersedes")


def pin(session: Session, user_id: UUID, memory_id: UUID, *, pinned: bool, now: datetime, actor: str) -> Memory:
    """Pin or unpin a memory; pinning is an explicit wish to keep it, so it counts as saved by hand."""
    memory = get_memory(session, user_id, memory_id)
    lock_space_of(session, memory)
    if memory.pinned == pinned:
        return memory
    memory.pinned = pinned
    if pinned and not memory.manually_saved:
        memory.manually_saved = True
        memory.importance = min(1.0, memory.importance + 0.5)
    memory.updated_at = now
    action = "memory.pinned" if pinned else "memory.unpinned"
    record(session, user_id, action, actor=actor, now=now, subject_id=memory_id)
    return memory


def update(
    session: Session,
    user_id: UUID,
    memory_id: UUID,
    changes: Mapping[str, Any],
    *,
    keys: Keys,
    now: datetime,
    actor: str,
) -> Memory:
    """Change the given fields of a memory, all or none.

    A new text is fingerprinted and embedded again. Raises `InvalidError` for a bad field, `ConflictError` when
    another memory of the space has this text, `RefusedError` when the text was forgotten.
    """
    unknown = set(changes) - {*_DRAFT_FIELDS, *_OTHER_FIELDS}
    if unknown:
        raise InvalidError(sorted(unknown)[0], "cannot be changed")
    memory = get_memory(session, user_id, memory_id)
    draft = _checked(memory, changes)
    space = lock_space_of(session, memory)
    if "text" in changes and draft.text != memory.text:
        _rewrite(session, space, memory, draft, keys, now)
    _apply(session, memory, draft, changes, now)
    memory.updated_at = now
    _refuse_twin(session, memory)
    session.flush()
    details = {"fields": sorted(changes)}
    record(session, user_id, "memory.updated", actor=actor, now=now, subject_id=memory_id, details=details)
    return memory


def _checked(memory: Memory, changes: Mapping[str, Any]) -> Draft:
    given = {name: changes[name] for name in _DRAFT_FIELDS if name in changes}
    for name in ("tags", "source_ids"):
        if name in given:
            given[name] = tuple(given[name])
    return Draft(**{"text": memory.text, **given})


def _rewrite(session: Session, space: Space, memory: Memory, draft: Draft, keys: Keys, now: datetime) -> None:
    item = prepare(draft)
    stones = graveyard(session, memory.user_id, space.id, keys, now)
    if stones.blocks(draft.text, item.normalised, item.simhash) is not None:
        raise RefusedError("tombstone", "this text was forgotten less than 24 hours ago")
    memory.text = draft.text
    memory.text_digest, memory.simhash = item.digest, to_signed(item.simhash)
    memory.version += 1
    memory.needs_embedding = True
    session.flush()
    enqueue(session, memory.user_id, [memory.id], now)


def _apply(session: Session, memory: Memory, draft: Draft, changes: Mapping[str, Any], now: datetime) -> None:
    for name in ("type", "expires_at", "manually_saved"):
        if name in changes:
            setattr(memory, name, getattr(draft, name))
    for name in ("tags", "source_ids"):
        if name in changes:
            setattr(memory, name, list(dict.fromkeys(getattr(draft, name))))
    if draft.importance is not None and "importance" in changes:
        memory.importance = draft.importance
    if "theme" in changes:
        themes = ensure_themes(session, memory.user_id, {draft.theme} if draft.theme else set(), now)
        memory.theme_id = themes.get(draft.theme or "")
    if changes.get("status") is not None:
        check_status(changes["status"])
        memory.status = changes["status"]
    if changes.get("supersedes") is not None:
        _supersede(session, memory, changes["supersedes"], now)
    apply_pinning_policy(memory)
    if changes.get("pinned") is not None:
        memory.pinned = changes["pinned"]


def _supersede(session: Session, memory: Memory, older_id: UUID, now: datetime) -> None:
    if older_id == memory.id:
        raise InvalidError("supersedes", "must be another memory")
    older = session.get(Memory, (memory.user_id, older_id), with_for_update=True)
    if older is None or older.space_id != memory.space_id:
        raise InvalidError("supersedes", "there is no such memory in this space")
    older.status, older.updated_at = "superseded", now
    memory.supersedes = older.id


def _refuse_twin(session: Session, memory: Memory) -> None:
    with session.no_autoflush:
        twin = session.scalar(
            select(Memory.id).where(
                Memory.user_id == memory.user_id,
                Memory.space_id == memory.space_id,
                Memory.text_digest == memory.text_digest,
                Memory.status == "active",
                Memory.id != memory.id,
            )
        )
    if twin is not None and memory.status == "active":
        raise ConflictError(f"another memory of this space has this text: {twin}")
