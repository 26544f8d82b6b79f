"""Which summaries sum up which memories: what those say is in them, so that they go with any that is forgotten."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from graphlib import CycleError, TopologicalSorter
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, ColumnElement, Select, Text, Uuid, cast, column, func, or_, select, true, union
from sqlalchemy.orm import Session, aliased

from memory.ids import among
from memory.models import Memory

_NAMED = column("id", Uuid)


def summaries_of(session: Session, user_id: UUID, ids: Collection[UUID], *, held: bool = False) -> Sequence[UUID]:
    """Return the summaries, beside these, that sum up one of these memories, themselves summed up or not.

    In whatever space; those that are pinned or saved by hand, which their owner holds on to, only if `held`.
    """
    return session.scalars(summaries_naming(Memory.id, user_id, _given(ids), held=held)).all() if ids else ()


def places_of_both(user_id: UUID, ids: Collection[UUID]) -> Select[UUID]:
    """Return what reads the spaces of these memories and of the `summaries_of` them, each once."""
    mine = select(Memory.space_id).where(Memory.user_id == user_id, among(Memory.id, ids))
    both = union(mine, summaries_naming(Memory.space_id, user_id, _given(ids))).subquery()
    return select(both.c.space_id)


def summaries_naming(read: Any, user_id: UUID, sources: Select[UUID], *, held: bool = False) -> Select[Any]:
    """Return what reads a column of the `summaries_of` the memories whose ids `sources` reads."""
    return _naming(read, user_id, sources, sources, held=held)


def summaries_naming_any_of(read: Any, user_id: UUID, space_id: UUID) -> Select[Any]:
    """Return what reads a column of the `summaries_of` all memories of a space, which are in other spaces."""
    inside = select(Memory.id).where(Memory.user_id == user_id, Memory.space_id == space_id)
    # From the summaries, of which there are few; one look for each memory of a large space takes ten times as long.
    summaries = (Memory.user_id == user_id, Memory.type == "summary", _is_loose())
    named = select(Memory.id, func.unnest(Memory.source_ids).label("source")).where(*summaries).subquery()
    source = aliased(Memory)
    first = select(named.c.id).join(source, cast(source.id, Text) == named.c.source)
    return _naming(read, user_id, inside, first.where(source.user_id == user_id, source.space_id == space_id))


def _naming(read: Any, user_id: UUID, sources: Select[UUID], first: Select[UUID], *, held: bool = False) -> Select[Any]:
    """Return what reads a column of the memories that `first` reads and what sums those up, without the `sources`."""
    said = first.cte("said", recursive=True)
    # By the index of what memories name as their sources, one look for each; what sums up a summary says it, too.
    naming = (
        func.memories_from(cast(said.c[0], Text), None).table_valued(_NAMED, name="naming").render_derived().lateral()
    )
    more = select(Memory.id).select_from(said).join(naming, true()).join(Memory, Memory.id == naming.c.id)
    said = said.union(more.where(Memory.user_id == user_id, Memory.type == "summary", *([] if held else [_is_loose()])))
    beside = (Memory.id.in_(select(said.c[0])), Memory.id.not_in(sources))
    return select(read).where(Memory.user_id == user_id, *beside).distinct()


def _is_loose() -> ColumnElement[bool]:
    return ~or_(Memory.pinned, Memory.manually_saved)


def _given(ids: Collection[UUID]) -> Select[UUID]:
    return select(func.unnest(cast(list(ids), ARRAY(Uuid))).label("id"))


def summed_up(session: Session, memory: Memory, now: datetime) -> tuple[Sequence[Memory], Sequence[Memory]]:
    """Return the memories that a summary names as its sources, and the summaries that name a memory.

    Each as far as it has not expired; of the former there are none where it is no summary.
    """
    named = set(sources_of(memory))
    naming = select(func.memories_from(str(memory.id), None))
    mine = (Memory.user_id == memory.user_id, Memory.id != memory.id)
    told = or_(among(Memory.id, named), Memory.id.in_(naming) & (Memory.type == "summary"))
    rows = select(Memory).where(*mine, Memory.unexpired(now), told).order_by(Memory.created_at, Memory.id)
    found = session.scalars(rows).all()
    word = str(memory.id)
    summaries = [each for each in found if each.type == "summary" and word in each.source_ids]
    return [each for each in found if each.id in named], summaries


def sources_of(memory: Memory) -> Iterator[UUID]:
    """Yield the ids that a summary names as its sources; none for what is no summary."""
    return ids_in(memory.source_ids if memory.type == "summary" else ())


def ids_in(source_ids: Iterable[str]) -> Iterator[UUID]:
    """Yield the ids among what a memory names as its sources."""
    for word in source_ids:
        with suppress(ValueError):
            yield UUID(word)


def rings(named: Mapping[UUID, Collection[UUID]]) -> Iterator[set[UUID]]:
    """Yield the sets of two and more of these summaries that sum each other up; `named` has the sources of each."""
    ordered = TopologicalSorter(named)
    with suppress(CycleError):
        ordered.prepare()
    left = {each: {*sources} - {each} for each, sources in named.items()}
    while ready := ordered.get_ready():
        for each in ready:
            left.pop(each, None)
        ordered.done(*ready)
    while left:
        first = next(iter(left))
        ring = {each for each in _reached(first, left) if first in _reached(each, left)}
        if ring:
            yield ring
        for each in {first, *ring}:
            del left[each]


def _reached(start: UUID, named: Mapping[UUID, Collection[UUID]]) -> set[UUID]:
    found: set[UUID] = set()
    near = {start}
    while near:
        near = {source for each in near for source in named.get(each, ())} - found
        found |= near
    return found
