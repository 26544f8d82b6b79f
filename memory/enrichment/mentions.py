"""Mentions: the sentences in which a text names entities, merged by name, type and space."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import delete, func, insert, select
from sqlalchemy.orm import Session

from memory.enrichment.findings import TYPESET, Name
from memory.ids import new_id
from memory.models import Entity, EntityMention

# A detector that is no surer than this knows that something is a name, and guesses what kind of thing it names.
UNSURE = 0.8
# Name key and type.
Kind = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a sentence stands: in an episode or in a memory, one of the two."""

    episode_id: UUID | None = None
    memory_id: UUID | None = None


# Text, name key, sentence.
Place = tuple[Origin, str, str]


@dataclass(frozen=True, slots=True)
class _Written:
    """A mention that is there already, with the space of its entity."""

    id: UUID
    space_id: UUID
    place: Place


def mention(
    session: Session, user_id: UUID, space_id: UUID, found: Sequence[tuple[Origin, Sequence[Name]]], *, now: datetime
) -> None:
    """Write the names found in texts of one space, in place of what was found there before.

    The space is locked, and is not the pool, which has no entities. A sentence that names an entity of another space,
    found before its conversation moved or moved itself, stays with that one. Entities that no sentence names any more
    go.
    """
    before = _mentions_of(session, user_id, [origin for origin, _ in found])
    there = {_place(origin, name) for origin, names in found for name in names}
    elsewhere = {row.place for row in before if row.space_id != space_id} & there
    new = [(origin, name) for origin, names in found for name in names if _place(origin, name) not in elsewhere]
    entities = _ensured(session, user_id, space_id, [name for _, name in new], now)
    if new:
        rows = [_mention_row(user_id, entities[(name.key, name.type)], origin, name, now) for origin, name in new]
        # One statement: a trigger writes the notes of every entity that it names, once.
        session.execute(insert(EntityMention).values(rows))
    old = [row.id for row in before if row.place not in elsewhere]
    if old:
        # Old mentions go after the new ones came, so that an entity that is named again keeps its id.
        session.execute(delete(EntityMention).where(EntityMention.user_id == user_id, EntityMention.id.in_(old)))


def _place(origin: Origin, name: Name) -> Place:
    return (origin, name.key, name.sentence)


def _ensured(session: Session, user_id: UUID, space_id: UUID, names: Sequence[Name], now: datetime) -> dict[Kind, UUID]:
    """Return the ids of the entities of these names by (name key, type), those that were missing added.

    A name that is known here keeps its kind where the detector is unsure of it: each such name is also returned under
    the type that it was found as.
    """
    known = _known(session, user_id, space_id, {name.key for name in names})
    found: dict[Kind, UUID] = {(row.name_key, row.type): row.id for row in reversed(known)}
    usual = {row.name_key: row.id for row in reversed(known)}
    added: dict[Kind, dict[str, Any]] = {}
    for name in sorted(names, key=lambda name: (-name.confidence, name.key)):
        kind = (name.key, name.type)
        if kind in found:
            continue
        if name.confidence <= UNSURE and name.key in usual:
            found[kind] = usual[name.key]
            continue
        added[kind] = _entity_row(user_id, space_id, name, now)
        found[kind] = added[kind]["id"]
        usual.setdefault(name.key, found[kind])
    if added:
        session.execute(insert(Entity).values([added[kind] for kind in sorted(added)]))
    return found


def _known(session: Session, user_id: UUID, space_id: UUID, keys: Collection[str]) -> Sequence[Any]:
    """Return the entities of these names, locked, the most mentioned first."""
    if not keys:
        return ()
    # Older keys have the apostrophes of their names.
    asked = {*keys, *(key.replace("'", TYPESET) for key in keys)}
    typed = func.replace(Entity.name_key, TYPESET, "'").label("name_key")
    mine = select(Entity.id, typed, Entity.type, Entity.mentions).where(
        Entity.user_id == user_id, Entity.space_id == space_id, Entity.name_key.in_(asked)
    )
    rows = session.execute(mine.order_by(Entity.id).with_for_update(key_share=True)).all()
    return sorted(rows, key=lambda row: (-row.mentions, row.id))


def _entity_row(user_id: UUID, space_id: UUID, name: Name, now: datetime) -> dict[str, Any]:
    return {
        "user_id": user_id,
        "id": new_id(),
        "space_id": space_id,
        "name": name.name,
        "name_key": name.key,
        "type": name.type,
        "created_at": now,
        "updated_at": now,
    }


def _mention_row(user_id: UUID, entity_id: UUID, origin: Origin, name: Name, now: datetime) -> dict[str, Any]:
    return {
        "user_id": user_id,
        "id": new_id(),
        "entity_id": entity_id,
        "episode_id": origin.episode_id,
        "memory_id": origin.memory_id,
        "sentence": name.sentence,
        "confidence": name.confidence,
        "created_at": now,
    }


def _mentions_of(session: Session, user_id: UUID, origins: Sequence[Origin]) -> list[_Written]:
    """Return all mentions that stand in these texts, in whatever space their entities are."""
    written: list[_Written] = []
    for column, texts in (
        (EntityMention.episode_id, {origin.episode_id for origin in origins} - {None}),
        (EntityMention.memory_id, {origin.memory_id for origin in origins} - {None}),
    ):
        if texts:
            joined = (Entity.user_id == EntityMention.user_id) & (Entity.id == EntityMention.entity_id)
            typed = func.replace(Entity.name_key, TYPESET, "'")
            mine = select(EntityMention, typed, Entity.space_id).join(Entity, joined)
            for row, key, space_id in session.execute(mine.where(EntityMention.user_id == user_id, column.in_(texts))):
                place = (Origin(row.episode_id, row.memory_id), key, row.sentence)
                written.append(_Written(row.id, space_id, place))
    return written
