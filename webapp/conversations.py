"""What agents do with conversations, as one call each: the switches are asked, the domain acts, it is committed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from time import monotonic
from typing import Any
from uuid import UUID

from flask import abort, request

from memory.conversations import conversations
from memory.conversations.conversations import Deletion
from memory.conversations.threads import Filters, Thread, ThreadPage, get_thread, list_conversations
from memory.errors import RefusedError
from memory.messages import history, messages
from memory.messages.drafts import MessageDraft
from memory.messages.history import Offered
from memory.messages.messages import Appended, Scribe
from memory.messages.told_calls import Teller
from memory.models import DEFAULT_SPACE, Conversation
from memory.transfer.bringing_chats import bring_in_chat
from memory.transfer.chat_files import Chat
from retrieval.words.tokens import count
from tasks.embedding import nudge
from webapp.api.conversation_schemas import StreamHead, appended_json, conversation_json, merged_json
from webapp.context import credential, request_id, runtime, session, utc_now
from webapp.errors import problem
from webapp.guards import bearer_required
from webapp.operations import (
    NOTHING_RECALLED,
    implied_space,
    incognito_spaces,
    is_incognito,
    refuse_in_incognito,
    scope_for,
    space_at,
    space_for,
)
from webapp.outside import STREAMS
from webapp.streams import Streamed, patience, read_stream
from webapp.tools import TOOLS

# Whoever waits for a page sees no progress, and proxies wait for a minute.
BRINGING_SECONDS = 20.0
_BUSY = "as many messages stream in as may at once, and nothing was stored: send it whole, or again in a moment"


def visible_thread(conversation_id: UUID) -> Thread:
    """Return a conversation with its space; raises `NotFoundError` for what this caller may not see."""
    who = credential()
    return get_thread(session(), who.user_id, conversation_id, within=who.space_id)


def readable_thread(conversation_id: UUID) -> Thread:
    """Return a conversation that may be read now; raises `RefusedError` in an incognito session."""
    thread = visible_thread(conversation_id)
    if is_incognito(space_at(thread.conversation.space_id)):
        raise RefusedError("incognito", NOTHING_RECALLED)
    return thread


def find_threads(
    space: str | None, filters: Filters, *, limit: int, cursor: str | None
) -> tuple[ThreadPage, str | None]:
    """Return a page of the conversations that this caller may see, and the name of the switch that keeps it empty."""
    who = credential()
    scope = scope_for(space)
    if is_incognito(scope):
        return ThreadPage((), None), "incognito"
    hidden = frozenset() if scope else incognito_spaces()
    chosen = replace(filters, space_id=scope.id if scope else None, outside=hidden)
    return list_conversations(session(), who.user_id, chosen, limit=limit, cursor=cursor), None


def open_thread(space: str | None, fields: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """Resume a conversation by its `external_id`, or open one in the space; tells of it, and whether it is new.

    In the space that is named, or in which the call is made; where there is none, wherever it is.
    """
    who = credential()
    target = space_for(space)
    refuse_in_incognito(target.id)
    # Spaces are isolated: what is meant for one must not be said in a namesake that another has.
    within = target.id if space is not None else implied_space()
    conversation, new = conversations.open_conversation(
        session(), who.user_id, target, **fields, within=within, now=utc_now(), actor=who.actor
    )
    if conversation.space_id != target.id:
        refuse_in_incognito(conversation.space_id)
    # Before the commit: somebody may delete it right after.
    answer = conversation_json(conversation, _slug_of(conversation))
    session().commit()
    return answer, new


def change_thread(conversation_id: UUID, changes: Mapping[str, Any]) -> Thread:
    """Rename, move, archive, or change what is noted of a conversation."""
    who = credential()
    refuse_in_incognito(visible_thread(conversation_id).conversation.space_id)
    wanted = dict(changes)
    if "space" in wanted:
        wanted["space"] = space_for(DEFAULT_SPACE if wanted["space"] is None else wanted["space"])
        refuse_in_incognito(wanted["space"].id)
    conversations.change_conversation(
        session(), who.user_id, conversation_id, wanted, within=who.space_id, now=utc_now(), actor=who.actor
    )
    session().commit()
    return visible_thread(conversation_id)


def delete_thread(conversation_id: UUID) -> Deletion:
    """Delete a conversation for good."""
    who = credential()
    done = conversations.delete_conversation(
        session(),
        who.user_id,
        conversation_id,
        within=who.space_id,
        keys=runtime().keys,
        now=utc_now(),
        actor=who.actor,
    )
    session().commit()
    return done


def add_messages(conversation_id: UUID, drafts: Sequence[MessageDraft]) -> dict[str, Any]:
    """Append messages; the answer is made before the commit, as the rows are let go by it."""
    thread = visible_thread(conversation_id)
    refuse_in_incognito(thread.conversation.space_id, len(drafts))
    appended = messages.append(session(), credential().user_id, conversation_id, drafts, _scribe())
    answer = appended_json(appended, _space_of(appended))
    _commit(appended)
    return answer


def merge_history(conversation_id: UUID, offered: Sequence[Offered]) -> dict[str, Any]:
    """Append what is new in a client's history; tells what was kept from each side."""
    thread = visible_thread(conversation_id)
    refuse_in_incognito(thread.conversation.space_id, len(offered))
    merged = history.merge(session(), credential().user_id, conversation_id, offered, _scribe())
    answer = merged_json(merged, _space_of(merged.appended))
    _commit(merged.appended)
    return answer


def bring_chats(chats: Sequence[Chat], space: str | None) -> Counter[str]:
    """Bring in chats from elsewhere, each for good once it is stored, until the time of a request is over.

    Counts as `memory.transfer.bringing_chats.bring_in_chat` does, and how many are `left`. Raises `RefusedError` in
    incognito.
    """
    who, target = credential(), space_for(space)
    refuse_in_incognito(target.id, len(chats))
    slug, until = target.slug, monotonic() + BRINGING_SECONDS
    counts: Counter[str] = Counter()
    for number, chat in enumerate(chats):
        if number and monotonic() > until:
            counts["left"] = len(chats) - number
            break
        counts += bring_in_chat(session(), who.user_id, slug, chat, _scribe())
        session().commit()
    if counts["messages"]:
        nudge()
    return counts


def receive_message(conversation_id: UUID) -> dict[str, Any]:
    """Store the message that streams in, whole or as far as it came; 401 if the token was closed meanwhile.

    No transaction is open while it comes, which may take minutes; 503 while as many come as may at once.
    """
    refuse_in_incognito(visible_thread(conversation_id).conversation.space_id)
    session().commit()
    with STREAMS.one() as is_mine, patience(request.environ):
        if not is_mine:
            refusal = problem(HTTPStatus.SERVICE_UNAVAILABLE, _BUSY)
            refusal.headers["Retry-After"] = "5"
            abort(refusal)
        streamed = read_stream(request.stream)
    # Asked again: whoever holds a stream open must not write with it after the token was revoked or has expired.
    bearer_required()
    return add_messages(conversation_id, [_streamed_draft(streamed)])


def _streamed_draft(streamed: Streamed) -> MessageDraft:
    given = StreamHead.model_validate(streamed.head).model_dump()
    return MessageDraft(**given, content=streamed.text, payload=streamed.payload, partial=not streamed.whole)


def _scribe() -> Scribe:
    who = credential()
    # Calls of the server's own tools are left out, as they are recorded when they are made.
    teller = Teller(who.token_id, TOOLS.keys())
    return Scribe(runtime().keys, count, utc_now(), who.actor, request_id(), within=who.space_id, teller=teller)


def _space_of(appended: Appended) -> str:
    # The count of episodes is read anew, as a trigger has changed it.
    session().refresh(appended.conversation, ["episodes"])
    return _slug_of(appended.conversation)


def _slug_of(conversation: Conversation) -> str:
    return space_at(conversation.space_id).slug


def _commit(appended: Appended) -> None:
    """Commit, then nudge the embedder if there is anything to embed."""
    created = any(item.memory is not None and item.memory.outcome == "created" for item in appended.stored)
    waiting = created or bool(appended.episodes)
    session().commit()
    if waiting:
        nudge()
