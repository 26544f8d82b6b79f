"""Deciding between two memories that nearly say the same."""

from __future__ import annotations

from uuid import UUID

from memory.writing.settle import bring_back_replaced, replace, settle_update
from webapp.context import credential, runtime, session, utc_now
from webapp.operations import refuse_in_incognito, visible_entry


def settle(memory_id: UUID, other_id: UUID, keep: str) -> None:
    """Let `this` memory or the `other` one replace its counterpart, or let `both` stand.

    Raises `InvalidError` on `keep` for another word, `NotFoundError` when there is nothing to decide between them.
    """
    who, entry = credential(), visible_entry(memory_id)
    visible_entry(other_id)
    refuse_in_incognito(entry.memory.space_id)
    settle_update(
        session(), who.user_id, memory_id, other_id, keep, keys=runtime().keys, now=utc_now(), actor=who.actor
    )
    session().commit()


def replace_other(memory_id: UUID, other_id: UUID) -> None:
    """Let a memory replace another; raises `ConflictError` where one of them has a part in such a line already."""
    who = credential()
    _may_change(memory_id, other_id)
    replace(session(), who.user_id, memory_id, other_id, keys=runtime().keys, now=utc_now(), actor=who.actor)
    session().commit()


def restore_replaced(memory_id: UUID, other_id: UUID) -> bool:
    """Undo that one replaces the other, and tell whether both hold; raises `ConflictError` where it does not."""
    who = credential()
    _may_change(memory_id, other_id)
    keys, now = runtime().keys, utc_now()
    both = bring_back_replaced(session(), who.user_id, memory_id, other_id, keys=keys, now=now, actor=who.actor)
    session().commit()
    return both


def _may_change(memory_id: UUID, other_id: UUID) -> None:
    visible_entry(other_id)
    refuse_in_incognito(visible_entry(memory_id).memory.space_id)
