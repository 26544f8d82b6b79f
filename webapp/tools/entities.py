"""The tool that finds who and what the texts of a space name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

from pydantic import Field
from sqlalchemy import select

from memory.facts.entities import in_force
from memory.models import DEFAULT_SPACE, Entity
from memory.storage.shelves import ENTITIES
from retrieval.policy import Policy
from retrieval.query import Hit, Result
from webapp.api.schemas import Limit, Line, Question, moment
from webapp.context import credential, session, utc_now
from webapp.operations import conversation_named, space_at, space_for
from webapp.recall import find
from webapp.recording import hits_of
from webapp.tools.base import MOST_RESULTS, WHICH_SPACE, Arguments, Tool, ToolResult
from webapp.tools.shown import answer_json, why_json

# What `degraded` says of the default space, which never has entities.
NO_ENTITIES = "no_entities_in_pool"
_SWITCHES = frozenset({"incognito", "memory_off"})


class EntityArguments(Arguments):
    """A question about someone or something, and where to look."""

    query: Question = Field(description="Who or what to look for: a name, or words for what is known of it.")
    space: Line | None = Field(None, description=WHICH_SPACE)
    conversation: Line | None = Field(
        None, description="Search as this conversation, by its id or external id: in the space that it is in."
    )
    limit: Limit | None = Field(None, description=MOST_RESULTS)


def _search(arguments: EntityArguments) -> ToolResult:
    own = conversation_named(arguments.conversation, arguments.space) if arguments.conversation is not None else None
    in_the_pool = (space_at(own.space_id) if own else space_for(arguments.space)).slug == DEFAULT_SPACE
    more = arguments.model_dump(exclude={"query", "conversation"})
    result = find(arguments.query, shelf=ENTITIES, conversation=own.id if own else None, **more)
    entities = _entities(result)
    hits = [_hit_json(hit, result.policy, entities[_id(hit)]) for hit in result.hits if _id(hit) in entities]
    if not _SWITCHES & set(result.degraded) and in_the_pool:
        # Said over the limit too, as asking again would find nothing either.
        result = replace(result, degraded=(NO_ENTITIES,))
    answer = answer_json(result, hits)
    ids = tuple(hit["id"] for hit in hits)
    summary = {"ids": list(ids), "truncated": result.truncated, "degraded": answer["degraded"]}
    return ToolResult(
        answer, summary, affected=ids, hits=hits_of(result, len(ids)), private="incognito" in result.degraded
    )


def _id(hit: Hit) -> UUID:
    return hit.ranked.scored.candidate.id


def _entities(result: Result) -> dict[UUID, Entity]:
    ids = [_id(hit) for hit in result.hits]
    mine = select(Entity).where(Entity.user_id == credential().user_id, Entity.id.in_(ids), in_force(utc_now()))
    return {entity.id: entity for entity in session().scalars(mine)} if ids else {}


def _hit_json(hit: Hit, policy: Policy, entity: Entity) -> dict[str, Any]:
    return {
        "id": str(entity.id),
        "name": entity.name,
        "type": entity.type,
        "content_snippet": hit.snippet,
        "mentions": entity.mentions,
        "created_at": moment(entity.created_at),
        **why_json(hit, policy),
    }


ENTITY_TOOLS = (
    Tool(
        "entity_search",
        "Look up people, places, organisations and things that were named in a space, with the sentences that say "
        "something of them. Entities belong to their space alone; the shared pool has none.",
        EntityArguments,
        "read",
        _search,
    ),
)
