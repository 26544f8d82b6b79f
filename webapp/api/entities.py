"""`/v1/entities`: who and what the texts of a space name, and where they do."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from flask import Response, jsonify
from pydantic import BaseModel, Field

from memory.errors import RefusedError
from memory.facts.entities import (
    LARGEST_PAGE,
    EntityFilters,
    Mention,
    Named,
    delete_entity,
    get_entity,
    list_entities,
    list_mentions,
    retag_entity,
)
from memory.models import DEFAULT_SPACE
from tasks.embedding import nudge
from webapp.api.answers import DeletedAnswer, EntitiesAnswer, MovedEntityAnswer, WholeEntityAnswer
from webapp.api.blueprint import api_blueprint
from webapp.api.schemas import Cursor, Line, Query, Slug, Strict, moment
from webapp.context import credential, session, utc_now
from webapp.guards import may_read, needs, placed
from webapp.operations import (
    NOTHING_RECALLED,
    incognito_spaces,
    is_incognito,
    refuse_in_incognito,
    scope_for,
    space_at,
    space_for,
)
from webapp.tools.entities import NO_ENTITIES

bp = api_blueprint("entities", "Who and what is named, space by space", "/v1/entities")


class EntityPath(BaseModel):
    """The id of an entity."""

    entity_id: UUID


class EntitiesQuery(Query):
    """Filters of the list; `q` is a part of the name."""

    space: Slug | None = None
    q: Line | None = Field(None, min_length=1, max_length=200)
    type: Line | None = Field(None, max_length=50)
    limit: int = Field(50, ge=1, le=LARGEST_PAGE)
    cursor: Cursor | None = None


class MentionsQuery(Query):
    """Which mentions, the newest first."""

    limit: int = Field(50, ge=1, le=LARGEST_PAGE)
    cursor: Cursor | None = None


class RetagBody(Strict):
    """The space that an entity shall belong to."""

    space: Slug


@bp.get("", summary="List entities, the most mentioned first", responses={"200": EntitiesAnswer})
@needs("read")
@placed
def list_(query: EntitiesQuery) -> Response:
    """Answer a page; without `space`, of all spaces that have any. The shared pool has none."""
    scope = scope_for(query.space)
    if is_incognito(scope):
        return jsonify({"entities": [], "next_cursor": None, "skipped": "incognito"})
    hidden = frozenset() if scope else incognito_spaces()
    filters = EntityFilters(scope.id if scope else None, query.q, query.type, hidden)
    page = list_entities(
        session(), credential().user_id, filters, limit=query.limit, cursor=query.cursor, now=utc_now()
    )
    shown = [_entity_json(named) for named in page.entities]
    none = {"degraded": [NO_ENTITIES]} if scope and scope.slug == DEFAULT_SPACE else {}
    return jsonify({"entities": shown, "next_cursor": page.next_cursor, **none})


@bp.get(
    "/<uuid:entity_id>", summary="Read an entity with the sentences that name it", responses={"200": WholeEntityAnswer}
)
@needs("read")
def read(path: EntityPath, query: MentionsQuery) -> Response:
    """Answer the notes, and a page of mentions: the episode or memory that each stands in, and whose words they are."""
    named = _visible(path.entity_id)
    if is_incognito(space_at(named.entity.space_id)):
        raise RefusedError("incognito", NOTHING_RECALLED)
    page = list_mentions(
        session(), credential().user_id, path.entity_id, limit=query.limit, cursor=query.cursor, now=utc_now()
    )
    mentioned_in = [_mention_json(mention) for mention in page.mentions]
    return jsonify({**_entity_json(named), "mentioned_in": mentioned_in, "next_cursor": page.next_cursor})


@bp.delete("/<uuid:entity_id>", summary="Delete an entity", responses={"200": DeletedAnswer})
@needs("forget")
def delete(path: EntityPath) -> Response:
    """Delete it with its notes; the texts that name it stay, and one that names it later brings it back.

    As with any forgetting, an incognito session may do so too.
    """
    who = credential()
    delete_entity(session(), who.user_id, path.entity_id, within=who.space_id, now=utc_now(), actor=who.actor)
    session().commit()
    return jsonify({"id": str(path.entity_id), "deleted": True})


@bp.post("/<uuid:entity_id>/space", summary="Give an entity another space", responses={"200": MovedEntityAnswer})
@needs("write")
def retag(path: EntityPath, body: RetagBody) -> Response:
    """Answer the entity in its new space: one of the same name and type that is there takes its mentions over."""
    who = credential()
    refuse_in_incognito(_visible(path.entity_id).entity.space_id)
    target = space_for(body.space)
    refuse_in_incognito(target.id)
    entity = retag_entity(
        session(), who.user_id, path.entity_id, target.slug, within=who.space_id, now=utc_now(), actor=who.actor
    )
    entity_id = entity.id
    session().commit()
    nudge()
    moved = _visible(entity_id)
    return jsonify(_entity_json(moved) if may_read() else {"id": str(entity_id), "space": moved.space})


def _visible(entity_id: UUID) -> Named:
    """Return an entity; raises `NotFoundError` for what this caller may not see."""
    who = credential()
    return get_entity(session(), who.user_id, entity_id, within=who.space_id, now=utc_now())


def _entity_json(named: Named) -> dict[str, Any]:
    entity = named.entity
    return {
        "id": str(entity.id),
        "space": named.space,
        "name": entity.name,
        "type": entity.type,
        "notes": entity.notes.splitlines(),
        "mentions": entity.mentions,
        "needs_embedding": entity.needs_embedding,
        "created_at": moment(entity.created_at),
        "updated_at": moment(entity.updated_at),
    }


def _is_open(space_id: UUID) -> bool:
    """Tell whether this caller sees the conversations of a space: a confined token its own, incognito none."""
    who = credential()
    if who.space_id not in {None, space_id}:
        return False
    return not is_incognito(space_at(space_id))


def _mention_json(found: Mention) -> dict[str, Any]:
    """Return a mention, without its place if that conversation is closed to this caller by now."""
    mention, conversation, message_id = found.mention, found.conversation, found.message_id
    if conversation is not None and not _is_open(conversation.space_id):
        conversation = message_id = None
    return {
        "sentence": mention.sentence,
        "role": found.role,
        "confidence": mention.confidence,
        "created_at": moment(mention.created_at),
        "memory_id": str(mention.memory_id) if mention.memory_id else None,
        "episode_id": str(mention.episode_id) if mention.episode_id and message_id else None,
        "conversation_id": str(conversation.id) if conversation else None,
        "message_id": str(message_id) if message_id else None,
    }
