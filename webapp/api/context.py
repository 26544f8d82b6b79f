"""`/v1/conversations/{id}/context` and `/state`: what an agent needs to carry a conversation on."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from flask import Response, jsonify
from pydantic import Field

from memory.conversations.session_state import KEPT, LONGEST_GOAL
from memory.conversations.transcript import payloads_of
from memory.drafts.payloads import LARGEST_PAYLOAD
from memory.embedding.models import active_model
from memory.models import Conversation, EmbeddingModel
from memory.remote.llm import ChatModelError
from retrieval.history.recap import Question
from retrieval.history.turns import Turn
from retrieval.history.window import MOST_MESSAGES, Answer, History, Strategy, Summary, Wish, draft, finish
from webapp.api.blueprint import api_blueprint
from webapp.api.conversation_answers import FittedAnswer, StateAnswer
from webapp.api.conversation_schemas import ConversationPath, ShownFormat, history_json
from webapp.api.schemas import NotBlank, Query, Strict
from webapp.context import credential, runtime, session, utc_now
from webapp.conversations import readable_thread, visible_thread
from webapp.guards import may_read, needs
from webapp.operations import refuse_in_incognito
from webapp.outside import SUMMARIES

logger = logging.getLogger(__name__)

bp = api_blueprint("context", "Where conversations stand", "/v1/conversations")

TOKEN_BUDGET = 4000


class HistoryQuery(Query):
    """How a history is made to fit. `max_messages` is 50 where `truncate` is not told otherwise.

    With `format` it comes as that library writes it; in that of Anthropic, which takes no empty message, those that say
    nothing and were not given in it are left out.
    """

    token_budget: int = Field(TOKEN_BUDGET, ge=1, le=1_000_000)
    strategy: Strategy = "hybrid"
    max_messages: int | None = Field(None, ge=1, le=MOST_MESSAGES)
    format: ShownFormat | None = None


class StateQuery(Query):
    """How many of the last messages."""

    max_messages: int = Field(KEPT, ge=1, le=KEPT)


class StateBody(Strict):
    """What the conversation is after now; null for nothing."""

    goal: NotBlank | None = Field(max_length=LONGEST_GOAL)


@bp.get(
    "/<uuid:conversation_id>/context",
    summary="A history that fits a token budget",
    responses={"200": FittedAnswer},
)
@needs("read")
def context(path: ConversationPath, query: HistoryQuery) -> Response:
    """Answer the newest whole messages, with `summarise` and `hybrid` preceded by a summary of what was left out.

    `token_count` is exact, by cl100k, and never over the budget; it counts what the messages say, not what a `format`
    has beside it, as pictures: of elements as they were given there are 16 MiB at most. A call of a tool stays with its
    result.
    """
    conversation = readable_thread(path.conversation_id).conversation
    states, chat_model, now = runtime().states, runtime().chat_model, utc_now()
    kept: Any = {} if query.strategy in {"truncate", "window"} else states.summary(session(), conversation, now=now)
    drafted = draft(
        session(),
        conversation,
        Wish(query.strategy, query.token_budget, query.max_messages, LARGEST_PAYLOAD if query.format else None),
        kept=kept,
        embedding_model=_embedding_model(query.strategy),
        chat_model=chat_model.model if chat_model else None,
    )
    shown = _shown(drafted.turns, query.format)
    # The conversation may be deleted while the model thinks.
    session().expunge(conversation)
    history, to_keep = finish(drafted, _asked(drafted.question))
    if to_keep != kept:
        states.keep_summary(session(), conversation, to_keep, now=now)
        session().commit()
    return jsonify({"strategy": query.strategy, **shown, **_history_json(history)})


def _shown(turns: Sequence[Turn], format_: str | None) -> dict[str, Any]:
    """Return the messages of a history, or with a format what that library would call it."""
    if format_ is None:
        return {"messages": [_turn_json(turn) for turn in turns]}
    messages = payloads_of(session(), credential().user_id, [turn.id for turn in turns])
    return {"format": format_, "history": history_json(messages, format_)}


def _embedding_model(strategy: str) -> EmbeddingModel | None:
    return None if strategy in {"truncate", "window"} else active_model(session(), credential().user_id)


def _asked(question: Question | None) -> Answer:
    """Ask the language model; whatever keeps it from answering is said and logged, without a word of the text."""
    model = runtime().chat_model
    if question is None or model is None:
        return Answer()
    # The model may think for long, and nothing in the database is to wait for it.
    session().commit()
    with SUMMARIES.one() as is_mine:
        if not is_mine:
            return Answer(reason="as many wait for the language model as may at once")
        try:
            return Answer(model.complete(question.instruction, question.text, max_tokens=question.max_tokens))
        except ChatModelError as error:
            logger.warning("a summary is an extract: %s", error)
            return Answer(reason=str(error))


def _history_json(history: History) -> dict[str, Any]:
    return {
        "summary": _summary_json(history.summary) if history.summary else None,
        "token_count": history.token_count,
        "left_out": history.left_out,
    }


def _turn_json(turn: Turn) -> dict[str, Any]:
    names = ("sequence", "role", "content", "token_count")
    return {"id": str(turn.id), **{name: getattr(turn, name) for name in names}}


def _summary_json(summary: Summary) -> dict[str, Any]:
    return {
        "text": summary.text,
        "token_count": summary.token_count,
        "covers": {"from_sequence": 1, "to_sequence": summary.upto, "messages": summary.upto},
        "method": summary.method,
        "basis": summary.basis,
        "messages_read": summary.read,
        "reason": summary.reason,
    }


@bp.get(
    "/<uuid:conversation_id>/state",
    summary="The last messages and the goal of a conversation",
    responses={"200": StateAnswer},
)
@needs("read")
def read_state(path: ConversationPath, query: StateQuery) -> Response:
    """Answer the goal that was set within the last day, and the last messages, the oldest first.

    There are fewer than asked for where the last ones have 16,000 tokens already; the newest is always there.
    """
    conversation = readable_thread(path.conversation_id).conversation
    return _state(conversation, query.max_messages)


@bp.put("/<uuid:conversation_id>/state", summary="Set the goal of a conversation", responses={"200": StateAnswer})
@needs("write")
def put_state(path: ConversationPath, body: StateBody) -> Response:
    """Keep the goal for a day from the last change of the conversation's state, and answer the state.

    A token without the scope `read` is answered none of the messages.
    """
    conversation = visible_thread(path.conversation_id).conversation
    refuse_in_incognito(conversation.space_id)
    states = runtime().states
    states.set_goal(session(), conversation, body.goal, now=utc_now(), actor=credential().actor)
    session().commit()
    conversation = visible_thread(path.conversation_id).conversation
    states.copy_goal(session(), conversation, now=utc_now())
    return _state(conversation, KEPT if may_read() else 0)


def _state(conversation: Conversation, most: int) -> Response:
    standing = runtime().states.standing(session(), conversation, now=utc_now())
    messages = list(standing.messages[-most:] if most else ())
    answer = {
        "conversation_id": str(conversation.id),
        "goal": standing.goal,
        "messages": messages,
        "left_out": conversation.message_count - len(messages),
    }
    session().commit()
    return jsonify(answer)
