"""`/v1/conversations`: what was said, in the order in which it was said."""

from __future__ import annotations

from dataclasses import asdict

from flask import Response, jsonify, make_response

from memory.conversations.threads import Filters, words_of
from memory.conversations.transcript import get_message, list_episodes, list_messages
from webapp.api.blueprint import api_blueprint, new_or_known
from webapp.api.conversation_answers import (
    AppendedAnswer,
    ConversationAnswer,
    ConversationsAnswer,
    DeletedConversationAnswer,
    EpisodesAnswer,
    MergedAnswer,
    MessageAnswer,
    MessagePageAnswer,
)
from webapp.api.conversation_schemas import (
    AppendBody,
    ConversationBody,
    ConversationPatch,
    ConversationPath,
    ConversationQuery,
    EpisodesQuery,
    MergeBody,
    MessagePath,
    MessagesQuery,
    episode_json,
    history_json,
    message_json,
    thread_json,
)
from webapp.context import credential, session
from webapp.conversations import (
    add_messages,
    change_thread,
    delete_thread,
    find_threads,
    merge_history,
    open_thread,
    readable_thread,
    receive_message,
)
from webapp.guards import needs, of_many, placed, streamed

bp = api_blueprint("conversations", "Conversations and what was said in them", "/v1/conversations")

_LINES = {
    "description": "Lines of JSON, one object in each; the type of the content is not looked at.",
    "content": {
        "application/x-ndjson": {
            "schema": {"type": "string"},
            "example": '{"role": "assistant", "client_id": "m2"}\n{"delta": "Under the "}\n{"delta": "flowerpot."}\n'
            '{"done": true}\n',
        }
    },
    "required": True,
}

_ARCHIVED = {"false": False, "true": True, "any": None}


@bp.get("", summary="List conversations, the latest first", responses={"200": ConversationsAnswer})
@needs("read")
@placed
def list_(query: ConversationQuery) -> Response:
    """Answer a page; `next_cursor` is null at the end. With `q`, those in which all the words occur, and where.

    One in which something is said while pages are read moves to the front, and the pages that follow do not have it.
    """
    archived = query.archived or ("any" if query.external_id else "false")
    words = words_of(query.q) if query.q is not None else ()
    filters = Filters(archived=_ARCHIVED[archived], external_id=query.external_id, words=words)
    page, skipped = find_threads(query.space, filters, limit=query.limit, cursor=query.cursor)
    answer = {"conversations": [thread_json(thread) for thread in page.threads], "next_cursor": page.next_cursor}
    return jsonify({**answer, **({"skipped": skipped} if skipped else {})})


@bp.post("", summary="Open or resume a conversation", responses=new_or_known(ConversationAnswer))
@needs("write")
@placed
def create(body: ConversationBody) -> Response:
    """Answer 201 when it is new, and 200 with the one that has this `external_id` already.

    It is looked for in `space`, or that of the headers, where either is named, and else everywhere.
    """
    fields = body.model_dump(exclude={"space", "metadata"})
    answer, new = open_thread(body.space, {**fields, "extra": body.metadata})
    return make_response(jsonify(answer), 201 if new else 200)


@bp.get("/<uuid:conversation_id>", summary="Read a conversation's head", responses={"200": ConversationAnswer})
@needs("read")
def read(path: ConversationPath) -> Response:
    """Answer the conversation without its messages."""
    return jsonify(thread_json(readable_thread(path.conversation_id)))


@bp.patch(
    "/<uuid:conversation_id>", summary="Rename, move or archive a conversation", responses={"200": ConversationAnswer}
)
@needs("write")
def patch(path: ConversationPath, body: ConversationPatch) -> Response:
    """Change what was sent. A move acts at once, also on what was said before."""
    changes = body.changes()
    if "metadata" in changes:
        changes["extra"] = changes.pop("metadata")
    return jsonify(thread_json(change_thread(path.conversation_id, changes)))


@bp.delete("/<uuid:conversation_id>", summary="Delete a conversation", responses={"200": DeletedConversationAnswer})
@needs("forget")
def delete(path: ConversationPath) -> Response:
    """Delete it with all that was said, for good. Memories learned from it stay, without their source."""
    done = delete_thread(path.conversation_id)
    return jsonify({"id": str(path.conversation_id), "deleted": True, **asdict(done)})


@bp.get(
    "/<uuid:conversation_id>/messages", summary="Read messages in their order", responses={"200": MessagePageAnswer}
)
@needs("read")
def read_messages(path: ConversationPath, query: MessagesQuery) -> Response:
    """Answer a page of messages, or with `format` the same page as a history of that library.

    In that of Anthropic, which takes no empty message, those that say nothing and were not given in it are left out. A
    page ends before its `limit` where it has 16 MiB; `next_cursor` is null at the end.
    """
    readable_thread(path.conversation_id)
    page = list_messages(
        session(),
        credential().user_id,
        path.conversation_id,
        limit=query.limit,
        cursor=query.cursor,
        newest_first=query.order == "desc",
        with_payload=query.payload or query.format is not None,
    )
    if query.format is not None:
        return jsonify(
            {
                "format": query.format,
                "history": history_json(page.messages, query.format),
                "next_cursor": page.next_cursor,
            }
        )
    shown = [message_json(message, payload=query.payload) for message in page.messages]
    return jsonify({"messages": shown, "next_cursor": page.next_cursor})


@bp.get(
    "/<uuid:conversation_id>/messages/<uuid:message_id>", summary="Read a message", responses={"200": MessageAnswer}
)
@needs("read")
def read_message(path: MessagePath) -> Response:
    """Answer one message with its payload."""
    readable_thread(path.conversation_id)
    message = get_message(session(), credential().user_id, path.conversation_id, path.message_id)
    return jsonify(message_json(message, payload=True))


@bp.get("/<uuid:conversation_id>/episodes", summary="Read episodes in their order", responses={"200": EpisodesAnswer})
@needs("read")
def read_episodes(path: ConversationPath, query: EpisodesQuery) -> Response:
    """Answer a page of turns with their replies, as `episode_search` finds them; `next_cursor` is null at the end."""
    readable_thread(path.conversation_id)
    page = list_episodes(session(), credential().user_id, path.conversation_id, limit=query.limit, cursor=query.cursor)
    return jsonify({"episodes": [episode_json(each) for each in page.episodes], "next_cursor": page.next_cursor})


@bp.post("/<uuid:conversation_id>/messages", summary="Append messages", responses=new_or_known(AppendedAnswer))
@needs("write")
@of_many
def append(path: ConversationPath, body: AppendBody) -> Response:
    """Answer once they are stored, all or none: 201 when something is new, 200 when all of it was known."""
    return _stored(add_messages(path.conversation_id, body.to_drafts()))


@bp.post(
    "/<uuid:conversation_id>/messages/stream",
    summary="Append a message as it comes",
    responses=new_or_known(AppendedAnswer),
    openapi_extensions={"requestBody": _LINES},
)
@needs("write")
@streamed
def stream(path: ConversationPath) -> Response:
    """Take lines of JSON: a head with `role` and `client_id`, then `{"delta": "..."}` lines, then `{"done": true}`.

    What comes is one message, stored when the last line has come. A stream that ends before is stored as far as it
    came, as `partial`; sent again with the same `client_id`, the whole message takes its place. Blank lines say
    nothing and keep the connection open, which is given up after five silent minutes. While many stream in, others are
    refused with 503; a message that is whole is taken all the same, as one of a list.
    """
    return _stored(receive_message(path.conversation_id))


@bp.post("/<uuid:conversation_id>/merge", summary="Merge a client's history", responses={"200": MergedAnswer})
@needs("write")
@of_many
def merge(path: ConversationPath, body: MergeBody) -> Response:
    """Keep what is here first and as it is, and append what is new in the client's history, in its order."""
    return jsonify(merge_history(path.conversation_id, body.to_offered()))


def _stored(answer: dict[str, object]) -> Response:
    counts = answer["counts"]
    assert isinstance(counts, dict)
    return make_response(jsonify(answer), 201 if counts["stored"] or counts["completed"] else 200)
