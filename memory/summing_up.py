"""Which summaries sum up which memories: what those say is in them, so that they go with any that is forgotten."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, Select, Text, Uuid, cast, func, or_, select, union
from sqlalchemy.orm import Session

from memory.ids import among
from memory.models import Memory


def summaries_of(session: Session, user_id: UUID, ids: Collection[UUID], *, held: bool = False) -> Sequence[UUID]:
    """Return the summaries, beside these, that name one of these memories as a source, in whatever space.

    Those that are pinned or saved by hand, which their owner holds on to, only if `held`.
    """
    return session.scalars(summaries_naming(Memory.id, user_id, _given(ids), held=held)).all() if ids else ()


def places_of_both(user_id: UUID, ids: Collection[UUID]) -> Select[UUID]:
    """Return what reads the spaces of these memories and of the `summaries_of` them, each once."""
    mine = select(Memory.space_id).where(Memory.user_id == user_id, among(Memory.id, ids))
    both = union(mine, summaries_naming(Memory.space_id, user_id, _given(ids))).subquery()
    return select(both.c.space_id)


def summaries_naming(column: Any, user_id: UUID, sources: Select[UUID], *, held: bool = False) -> Select[Any]:
    """Return what reads a column of the `summaries_of` the memories whose ids `sources` reads."""
    # By the index of what memories name as their sources, one look for each.
    source = sources.subquery()
    naming = select(func.memories_from(cast(source.c[0], Text), None))
    found = (Memory.id.in_(naming), Memory.id.not_in(select(source.c[0])), Memory.type == "summary")
    statement = select(column).where(Memory.user_id == user_id, *found).distinct()
    return statement if held else statement.where(~or_(Memory.pinned, Memory.manually_saved))


def _given(ids: Collection[UUID]) -> Select[UUID]:
    return select(func.unnest(cast(list(ids), ARRAY(Uuid))).label("id"))


def summed_up(session: Session, memory: Memory, now: datetime) -> tuple[Sequence[Memory], Sequence[Memory]]:
    """Return the memories that a summary names as its sources, and the summaries that name a memory.

    Each as far as it has not expired; of the former there are none where it is no summary.
    """
    named = set(sources_of(memory)) if memory.type == "summary" else set()
    naming = set(summaries_of(session, memory.user_id, [memory.id], held=True))
    mine = (Memory.user_id == memory.user_id, Memory.id != memory.id)
    alive = or_(Memory.expires_at.is_(None), Memory.expires_at > now)
    rows = select(Memory).where(*mine, alive, among(Memory.id, named | naming)).order_by(Memory.created_at, Memory.id)
    found = session.scalars(rows).all() if named or naming else ()
    return [each for each in found if each.id in named], [each for each in found if each.id in naming]


def sources_of(memory: Memory) -> Sequence[UUID]:
    """Return the ids among what a memory names as its sources, which may be anything."""
    return list(_ids(memory.source_ids))


def _ids(words: Sequence[str]) -> Iterator[UUID]:
    for word in words:
        with suppress(ValueError):
            yield UUID(word)
