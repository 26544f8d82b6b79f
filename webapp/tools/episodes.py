"""The tool that finds what was said: episodes in the scope of a conversation or a space."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from pydantic import Field
from sqlalchemy import select

from memory.errors import InvalidError
from memory.models import Conversation
from memory.storage.shelves import EPISODES
from retrieval.policy import Policy
from retrieval.query import Hit, Result
from webapp.api.schemas import Limit, Line, Overrides, Question, Share, TokenBudget, moment
from webapp.context import credential, session
from webapp.operations import conversation_named
from webapp.recall import find
from webapp.recording import hits_of
from webapp.tools.base import LEAST_EVIDENCE, MOST_RESULTS, MOST_TOKENS, WHICH_SPACE, Arguments, Tool, ToolResult
from webapp.tools.shown import answer_json, why_json


class EpisodeArguments(Arguments):
    """A question about earlier conversations, and what narrows it."""

    query: Question = Field(
        description="What to look for in what was said, in plain words; a time alone brings what was said then."
    )
    conversation: Line | None = Field(
        None,
        description="Search as this conversation, by its id or external id: in the space that it is in, or in the "
        "shared pool.",
    )
    within: bool = Field(False, description="Only in that conversation itself.")
    space: Line | None = Field(None, description=WHICH_SPACE)
    limit: Limit | None = Field(None, description=MOST_RESULTS)
    recency_days: int | None = Field(None, ge=0, le=36_500, description="Only what was said in the last so many days.")
    min_score: Share | None = Field(None, description=LEAST_EVIDENCE)
    token_budget: TokenBudget | None = Field(None, description=MOST_TOKENS)
    policy: Overrides | None = Field(None, description="Ranking weights for this call, or a policy's name.")


def _search(arguments: EpisodeArguments) -> ToolResult:
    if arguments.within and arguments.conversation is None:
        raise InvalidError("conversation", "is needed to search within it")
    own = conversation_named(arguments.conversation, arguments.space).id if arguments.conversation is not None else None
    more = arguments.model_dump(exclude={"query", "conversation"})
    result = find(arguments.query, shelf=EPISODES, conversation=own, **more)
    conversations = _conversations(result)
    answer = answer_json(result, [_hit_json(hit, result.policy, conversations) for hit in result.hits])
    ids = tuple(hit["id"] for hit in answer["results"])
    summary = {"ids": list(ids), "truncated": result.truncated, "degraded": list(result.degraded)}
    return ToolResult(
        answer, summary, affected=ids, hits=hits_of(result, len(ids)), private="incognito" in result.degraded
    )


def _conversations(result: Result) -> dict[UUID, Conversation]:
    ids = {_places(hit)[0] for hit in result.hits}
    mine = select(Conversation).where(Conversation.user_id == credential().user_id, Conversation.id.in_(ids))
    return {conversation.id: conversation for conversation in session().scalars(mine)} if ids else {}


def _places(hit: Hit) -> tuple[UUID, UUID, UUID]:
    """Return the conversation, the user's message and the reply of an episode."""
    conversation, message, reply = (UUID(place) for place in hit.ranked.scored.candidate.source_ids)
    return conversation, message, reply


def _hit_json(hit: Hit, policy: Policy, conversations: dict[UUID, Conversation]) -> dict[str, Any]:
    episode = hit.ranked.scored.candidate
    conversation_id, message_id, reply_id = _places(hit)
    conversation = conversations.get(conversation_id)
    return {
        "id": str(episode.id),
        "conversation": {
            "id": str(conversation_id),
            "external_id": conversation.external_id if conversation else None,
            "title": conversation.title if conversation else None,
        },
        "message_id": str(message_id),
        "reply_id": str(reply_id),
        "content_snippet": hit.snippet,
        "created_at": moment(episode.created_at),
        **why_json(hit, policy),
    }


EPISODE_TOOLS = (
    Tool(
        "episode_search",
        "Search what was said in earlier conversations: the user's words with the replies to them. Conversations of "
        "a space are found from that space alone, all others from one another.",
        EpisodeArguments,
        "read",
        _search,
    ),
)
