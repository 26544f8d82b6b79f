"""Entities of a space: listed, read with the sentences that name them, moved, deleted."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, func, select, text, tuple_
from sqlalchemy.orm import Session

from memory.cursors import check_limit, from_cursor, to_cursor, unknown_cursor
from memory.enrichment.findings import name_key
from memory.errors import InvalidError, NotFoundError
from memory.models import DEFAULT_SPACE, Conversation, Entity, EntityMention, Episode, Memory, Message, Space
from memory.record.journal import record
from memory.spaces.spaces import get_space, lock_spaces

LARGEST_PAGE = 200


@dataclass(frozen=True, slots=True)
class Named:
    """An entity with the slug of its space."""

    entity: Entity
    space: str


@dataclass(frozen=True, slots=True)
class NamedPage:
    """Some entities, the most mentioned first, and the cursor of the next page (None at the end)."""

    entities: Sequence[Named]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class Mention:
    """A sentence that names an entity; `conversation` is the one that its episode is in now.

    `message_id` is the message that it stands in, and `role` whose words they are: those of the memory, if it stands in
    one. Where neither the question nor the reply of an episode has the sentence whole, the message is the question and
    the role None. `said_at` is when that was said: the mention itself was written when a worker read it.
    """

    mention: EntityMention
    conversation: Conversation | None
    message_id: UUID | None
    role: str | None
    said_at: datetime


@dataclass(frozen=True, slots=True)
class MentionPage:
    """Some mentions, the newest first, and the cursor of the next page (None at the end)."""

    mentions: Sequence[Mention]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class EntityFilters:
    """Which entities to list; None means any. `q` is a part of the name; spaces of the slugs `hidden` are left out."""

    space_id: UUID | None = None
    q: str | None = None
    type: str | None = None
    hidden: Collection[str] = ()


def in_force(now: datetime) -> ColumnElement[bool]:
    """Return the condition that some text which is neither expired nor archived nor superseded names the entity."""
    named = select(EntityMention.id).where(
        EntityMention.user_id == Entity.user_id, EntityMention.entity_id == Entity.id, _is_said(now)
    )
    # What expires stands in no notes, so the mentions are asked only of entities without any.
    return (Entity.mentions > 0) & ((Entity.notes != "") | named.exists())


def _is_said(now: datetime) -> ColumnElement[bool]:
    return EntityMention.live & (EntityMention.expires_at.is_(None) | (EntityMention.expires_at > now))


def list_entities(
    session: Session, user_id: UUID, filters: EntityFilters, *, limit: int, cursor: str | None, now: datetime
) -> NamedPage:
    """Return a page of entities by (mentions, id), the most mentioned first; raises `InvalidError`."""
    check_limit(limit, LARGEST_PAGE)
    statement = _entities(user_id, now)
    if filters.space_id is not None:
        statement = statement.where(Entity.space_id == filters.space_id)
    if filters.hidden:
        statement = statement.where(Space.slug.not_in(filters.hidden))
    if filters.type is not None:
        statement = statement.where(Entity.type == filters.type)
    if filters.q is not None:
        # The key has no title, and a name that is shown with one is asked for by it too.
        shown = func.lower(Entity.name).contains(" ".join(filters.q.lower().split()), autoescape=True)
        statement = statement.where(shown | Entity.name_key.contains(name_key(filters.q), autoescape=True))
    if cursor is not None:
        statement = statement.where(tuple_(Entity.mentions, Entity.id) < from_cursor(cursor, kind=int))
    statement = statement.order_by(Entity.mentions.desc(), Entity.id.desc()).limit(limit + 1)
    found = [Named(entity, slug) for entity, slug in session.execute(statement)]
    last = found[limit - 1].entity if len(found) > limit else None
    return NamedPage(found[:limit], to_cursor(last.mentions, last.id) if last else None)


def _entities(user_id: UUID, now: datetime) -> Select[Entity, str]:
    joined = (Space.user_id == Entity.user_id) & (Space.id == Entity.space_id)
    statement = select(Entity, Space.slug).join(Space, joined).where(Entity.user_id == user_id, in_force(now))
    # Triggers rewrite entities behind the session's back.
    return statement.execution_options(populate_existing=True)


def get_entity(session: Session, user_id: UUID, entity_id: UUID, *, within: UUID | None = None, now: datetime) -> Named:
    """Return an entity; raises `NotFoundError` for anyone else's, or one outside the space `within`."""
    row = session.execute(_entities(user_id, now).where(Entity.id == entity_id)).one_or_none()
    if row is None or within not in {None, row[0].space_id}:
        raise NotFoundError("there is no such entity")
    return Named(*row)


def list_mentions(
    session: Session, user_id: UUID, entity_id: UUID, *, limit: int, cursor: str | None, now: datetime
) -> MentionPage:
    """Return a page of an entity's mentions that are in force, the newest first; raises `InvalidError`."""
    check_limit(limit, LARGEST_PAGE)
    statement = (
        select(EntityMention, Conversation, Episode.message_id, Episode.reply_id)
        .outerjoin(Episode, (Episode.user_id == EntityMention.user_id) & (Episode.id == EntityMention.episode_id))
        .outerjoin(
            Conversation, (Conversation.user_id == Episode.user_id) & (Conversation.id == Episode.conversation_id)
        )
        .where(EntityMention.user_id == user_id, EntityMention.entity_id == entity_id, _is_said(now))
    )
    if cursor is not None:
        try:
            statement = statement.where(EntityMention.id < UUID(cursor))
        except ValueError:
            raise unknown_cursor() from None
    rows = session.execute(statement.order_by(EntityMention.id.desc()).limit(limit + 1)).all()
    found = _with_roles(session, user_id, rows[:limit])
    return MentionPage(found, str(found[-1].mention.id) if len(rows) > limit else None)


def _with_roles(session: Session, user_id: UUID, rows: Sequence[Any]) -> list[Mention]:
    """Return mentions with the messages that they stand in: which of an episode's two it is, the sentence tells."""
    said = _said(session, user_id, [each for _, _, *both in rows for each in both if each is not None])
    told = _told(session, user_id, [mention.memory_id for mention, *_ in rows if mention.memory_id is not None])
    mentions = []
    for mention, conversation, *both in rows:
        sentence = _folded(mention.sentence)
        place = next((each for each in both if each in said and sentence in said[each][1]), None)
        message_id = place or both[0]
        role, memory_at = told.get(mention.memory_id, (None, mention.created_at))
        said_at = said[message_id][2] if message_id in said else memory_at
        mentions.append(Mention(mention, conversation, message_id, said[place][0] if place else role, said_at))
    return mentions


def _said(session: Session, user_id: UUID, ids: Sequence[UUID]) -> dict[UUID, tuple[str, str, datetime]]:
    """Return role, folded content and time of messages."""
    if not ids:
        return {}
    mine = select(Message.id, Message.role, Message.content, Message.created_at)
    rows = session.execute(mine.where(Message.user_id == user_id, Message.id.in_(ids)))
    return {row.id: (row.role, _folded(row.content), row.created_at) for row in rows}


def _told(session: Session, user_id: UUID, ids: Sequence[UUID]) -> dict[UUID | None, tuple[str | None, datetime]]:
    """Return whose words memories are, and since when they are there."""
    if not ids:
        return {}
    mine = select(Memory.id, Memory.role, Memory.created_at)
    rows = session.execute(mine.where(Memory.user_id == user_id, Memory.id.in_(ids)))
    return {row.id: (row.role, row.created_at) for row in rows}


def _folded(content: str) -> str:
    return " ".join(content.split())


def delete_entity(
    session: Session, user_id: UUID, entity_id: UUID, *, within: UUID | None = None, now: datetime, actor: str
) -> None:
    """Delete an entity with its mentions; the texts stay. Raises `NotFoundError`.

    A text that names it later brings it back.
    """
    entity = _locked(session, user_id, entity_id, within=within, now=now)
    details = {"mentions": entity.mentions}
    session.delete(entity)
    record(session, user_id, "entity.deleted", actor=actor, now=now, subject_id=entity_id, details=details)
    session.flush()


def retag_entity(
    session: Session,
    user_id: UUID,
    entity_id: UUID,
    slug: str,
    *,
    within: UUID | None = None,
    now: datetime,
    actor: str,
) -> Entity:
    """Give an entity another space, and return it; one of the same name and type there takes its mentions over.

    This alone changes an entity's space: moving a conversation does not. Raises `NotFoundError`, and `InvalidError`
    for an unknown space and for the pool, which has no entities.
    """
    target = get_space(session, user_id, slug)
    if slug == DEFAULT_SPACE:
        raise InvalidError("space", "the shared pool has no entities")
    entity = _locked(session, user_id, entity_id, target.id, within=within, now=now)
    if entity.space_id == target.id:
        return entity
    details: dict[str, Any] = {"from": str(entity.space_id), "to": str(target.id), "mentions": entity.mentions}
    twin = session.scalar(
        select(Entity).where(
            Entity.user_id == user_id,
            Entity.space_id == target.id,
            Entity.type == entity.type,
            Entity.name_key == entity.name_key,
        )
    )
    if twin is None:
        _move(session, entity, target.id, now)
    else:
        _merge(session, entity, twin)
        details["merged_into"] = str(twin.id)
    record(session, user_id, "entity.retagged", actor=actor, now=now, subject_id=entity_id, details=details)
    session.flush()
    kept = twin or entity
    session.refresh(kept)
    return kept


def _locked(
    session: Session, user_id: UUID, entity_id: UUID, *spaces: UUID, within: UUID | None, now: datetime
) -> Entity:
    """Lock the space of an entity and `spaces`, then the entity, read anew; raises `NotFoundError`."""
    seen = get_entity(session, user_id, entity_id, within=within, now=now).entity.space_id
    lock_spaces(session, user_id, {seen, *spaces})
    entity = session.get(Entity, (user_id, entity_id), with_for_update={"key_share": True}, populate_existing=True)
    if entity is None or entity.space_id != seen:
        raise NotFoundError("there is no such entity")
    return entity


# The scope of postings and vectors mirrors the space of their entity; triggers know of changed texts alone.
_RESCOPE = [
    text(f"UPDATE {table} SET scope_id = :space_id WHERE user_id = :user_id AND item_id = :item_id")  # noqa: S608
    for table in ("entity_postings", "entity_embeddings")
]


def _move(session: Session, entity: Entity, space_id: UUID, now: datetime) -> None:
    entity.space_id, entity.updated_at = space_id, now
    session.flush()
    for statement in _RESCOPE:
        session.execute(statement, {"user_id": entity.user_id, "item_id": entity.id, "space_id": space_id})


# Of each entity of a space that is to become one with that of another.
_SAME = """
FROM entities e JOIN entities t USING (user_id, type, name_key)
WHERE e.user_id = :user_id AND e.space_id = :space_id AND t.space_id = :target_id
"""
_MOVE_ALL = [
    text(f"""
INSERT INTO entity_mentions (user_id, id, entity_id, episode_id, memory_id, sentence, confidence, created_at)
SELECT m.user_id, uuidv7(), same.target, m.episode_id, m.memory_id, m.sentence, m.confidence, m.created_at
FROM entity_mentions m JOIN (SELECT e.user_id, e.id, t.id AS target {_SAME}) same
  ON same.user_id = m.user_id AND same.id = m.entity_id
ORDER BY m.id"""),  # noqa: S608 - all of it is written here
    text(f"DELETE FROM entities WHERE user_id = :user_id AND id IN (SELECT e.id {_SAME})"),  # noqa: S608 - as above
    *(
        text(f"UPDATE {table} SET scope_id = :target_id WHERE user_id = :user_id AND scope_id = :space_id")  # noqa: S608 - as above
        for table in ("entity_postings", "entity_embeddings")
    ),
    text(
        "UPDATE entities SET space_id = :target_id, updated_at = :now WHERE user_id = :user_id AND space_id = :space_id"
    ),
]


def move_entities(session: Session, user_id: UUID, space_id: UUID, target_id: UUID, now: datetime) -> Sequence[UUID]:
    """Take all entities of one locked space to another; one of the same name and type there takes mentions over.

    Returns those that there were. To the pool, which has none, none is to be taken.
    """
    mine = select(Entity.id).where(Entity.user_id == user_id, Entity.space_id == space_id).order_by(Entity.id)
    found = session.scalars(mine.with_for_update(key_share=True)).all()
    values = {"user_id": user_id, "space_id": space_id, "target_id": target_id, "now": now}
    for statement in _MOVE_ALL if found else ():
        session.execute(statement, values)
    session.expire_all()
    return found


_COPY = text("""
INSERT INTO entity_mentions (user_id, id, entity_id, episode_id, memory_id, sentence, confidence, created_at)
SELECT user_id, uuidv7(), :twin_id, episode_id, memory_id, sentence, confidence, created_at
FROM entity_mentions WHERE user_id = :user_id AND entity_id = :entity_id ORDER BY id
""")


def _merge(session: Session, entity: Entity, twin: Entity) -> None:
    """Copy the mentions of one entity to another, in their order, and delete the one."""
    session.execute(_COPY, {"user_id": entity.user_id, "entity_id": entity.id, "twin_id": twin.id})
    session.delete(entity)
    session.flush()
