"""The shapes of conversations and messages that go over the wire."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, model_validator

from memory.conversations.conversations import LONGEST_NAME, LONGEST_TITLE
from memory.conversations.threads import MOST_WORDS, Thread
from memory.conversations.transcript import EpisodeOf
from memory.drafts.drafts import check_not_ahead
from memory.drafts.payloads import check_json
from memory.errors import InvalidError
from memory.messages.drafts import MAX_BATCH, MAX_CONTENT_BYTES, MessageDraft
from memory.messages.formats import read_element, to_element
from memory.messages.history import Merged, Offered
from memory.messages.messages import Appended, Stored
from memory.messages.told_calls import MOST_TOLD
from memory.models import Conversation, Message
from webapp.api.schemas import (
    NOT_BLANK,
    Cursor,
    Happened,
    Line,
    MemoryRole,
    NotBlank,
    Omittable,
    Patch,
    Query,
    Slug,
    Strict,
    described_as,
    moment,
    outcome_json,
)
from webapp.context import utc_now
from webapp.guards import may_read
from webapp.operations import as_told, told_vector

Format = Literal["pydantic_ai", "openai", "anthropic"]
# `plain` has our own roles.
ShownFormat = Literal["pydantic_ai", "openai", "anthropic", "plain"]
ClientId = Annotated[Line, described_as(**NOT_BLANK, maxLength=LONGEST_NAME)]


class ConversationPath(BaseModel):
    """The id of a conversation."""

    conversation_id: UUID


class MessagePath(ConversationPath):
    """The ids of a conversation and of a message in it."""

    message_id: UUID


class ConversationBody(Omittable):
    """A conversation to open; one with the same `external_id` is resumed, and stays as it is.

    An `external_id` is unique in its space. Where a space is named, only that one is looked at; where none is, the
    conversation is resumed wherever it is.
    """

    external_id: NotBlank | None = Field(None, min_length=1, max_length=256)
    space: Slug | None = None
    title: Line | None = Field(None, max_length=LONGEST_TITLE)
    metadata: dict[str, Any] = Field(default_factory=dict)
    created_at: Happened | None = None


class ConversationPatch(Patch):
    """What to change. A null `space` is the shared pool; a null `title` gives the automatic one back."""

    nullable: ClassVar = frozenset({"title", "space"})

    title: Line | None = Field(None, max_length=LONGEST_TITLE)
    space: Slug | None = None
    archived: bool | None = None
    metadata: dict[str, Any] | None = None


class ConversationQuery(Query):
    """Filters of the list. Archived conversations are left out, except where one is asked for by `external_id`."""

    space: Slug | None = None
    archived: Literal["false", "true", "any"] | None = None
    external_id: Line | None = Field(None, min_length=1, max_length=256)
    q: NotBlank | None = Field(
        None,
        max_length=256,
        description=f"At most {MOST_WORDS} words that must all occur, in the title or in messages.",
    )
    limit: int = Field(50, ge=1, le=200)
    cursor: Cursor | None = None


_SAYS_SOMETHING: list[Any] = [
    {"properties": {"content": NOT_BLANK}, "required": ["content"]},
    {"properties": {"payload": {"not": {"type": "null"}}}, "required": ["payload"]},
]


class MessageBody(Strict):
    """A message. `client_id` makes it idempotent; `payload` is kept as it is and comes back equal.

    With `remember` a memory is made of it; sent again, it is answered with the id of that memory.
    """

    model_config = ConfigDict(json_schema_extra={"anyOf": _SAYS_SOMETHING})

    role: MemoryRole
    content: Annotated[str, described_as(maxLength=MAX_CONTENT_BYTES)] = ""
    client_id: NotBlank | None = Field(None, min_length=1, max_length=256)
    model: NotBlank | None = Field(None, min_length=1, max_length=256)
    payload: Any = None
    created_at: Happened | None = None
    remember: bool = False

    def to_draft(self, where: str) -> MessageDraft:
        """Return the checked draft; raises `InvalidError` on a field of `where`."""
        given = {name: getattr(self, name) for name in MessageBody.model_fields}
        return _at(where, given)


class KeptMessage(MessageBody):
    """A message of a client's history, with our id where the client kept it."""

    id: UUID | None = None


class History(Strict):
    """A history as another library writes it, one message for each element; `client_ids` name them in order."""

    format: Format | None = None
    history: list[Any] | None = Field(None, min_length=1, max_length=MAX_BATCH)
    client_ids: Annotated[list[ClientId | None], described_as(maxItems=MAX_BATCH)] | None = None

    @model_validator(mode="after")
    def _belong_together(self) -> Self:
        # Raised with a field's name: for a model as a whole pydantic names none.
        if (self.format is None) != (self.history is None):
            raise InvalidError("format" if self.format is None else "history", "format and history go together")
        if self.client_ids is not None and len(self.client_ids) != len(self.history or ()):
            raise InvalidError("client_ids", "must name every element of the history")
        return self

    def elements(self) -> list[MessageDraft]:
        """Return the checked drafts of the history; raises `InvalidError` on the field of an element."""
        names = self.client_ids or [None] * len(self.history or ())
        drafts, told = [], 0
        for number, (element, name) in enumerate(zip(self.history or (), names, strict=True)):
            where = f"history.{number}"
            check_json(element, where)
            gist = read_element(str(self.format), element, where)
            told += len(gist.made) + len(gist.given)
            if told > MOST_TOLD:
                raise InvalidError(where, f"too many calls of tools and results up to here: send {MOST_TOLD} at most")
            given = {"role": gist.role, "content": gist.content, "client_id": name}
            drafts.append(_at(where, {**given, "payload": element, "payload_format": self.format}))
        return drafts


def _one_of(**kinds: str) -> ConfigDict:
    """Return the configuration of a body that has exactly one of these fields, each of a type of JSON Schema.

    A format and ids of the client's belong to a history.
    """
    needed = {"history": ["format", "history"]}
    without = {"format": {"type": "null"}, "client_ids": {"maxItems": 0}}
    ways: list[Any] = [
        {
            "properties": {name: {"type": kind}, **({} if name in needed else without)},
            "required": needed.get(name, [name]),
            "type": "object",
        }
        for name, kind in kinds.items()
    ]
    return ConfigDict(json_schema_extra={"oneOf": ways})


class AppendBody(History):
    """One `message`, up to 1,000 `messages`, or a `history` in the `format` of another library."""

    model_config = _one_of(message="object", messages="array", history="array")

    message: MessageBody | None = None
    messages: list[MessageBody] | None = Field(None, min_length=1, max_length=MAX_BATCH)

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if sum(given is not None for given in (self.message, self.messages, self.history)) != 1:
            raise ValueError("send one of message, messages and history")
        return self

    def to_drafts(self) -> list[MessageDraft]:
        """Return the checked drafts in order; raises `InvalidError`."""
        if self.message is not None:
            return [self.message.to_draft("message")]
        if self.messages is not None:
            return [message.to_draft(f"messages.{number}") for number, message in enumerate(self.messages)]
        return self.elements()


class MergeBody(History):
    """A client's history: up to 1,000 `messages`, or a `history` in the `format` of another library."""

    model_config = _one_of(messages="array", history="array")

    messages: list[KeptMessage] | None = Field(None, min_length=1, max_length=MAX_BATCH)

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if (self.messages is None) == (self.history is None):
            raise ValueError("send one of messages and history")
        return self

    def to_offered(self) -> list[Offered]:
        """Return what the client has, in order; raises `InvalidError`."""
        if self.messages is None:
            return [Offered(draft) for draft in self.elements()]
        return [Offered(m.to_draft(f"messages.{number}"), m.id) for number, m in enumerate(self.messages)]


class StreamHead(Strict):
    """The first line of a streamed message."""

    role: MemoryRole = "assistant"
    client_id: Line | None = Field(None, min_length=1, max_length=256)
    model: Line | None = Field(None, min_length=1, max_length=256)
    created_at: Happened | None = None
    remember: bool = False


class MessagesQuery(Query):
    """A page of messages: after the sequence number `cursor`, or before it where the newest come first."""

    order: Literal["asc", "desc"] = "asc"
    format: ShownFormat | None = None
    payload: bool = False
    limit: int = Field(50, ge=1, le=1000)
    cursor: int | None = Field(None, ge=0, le=2**31 - 1)


class EpisodesQuery(Query):
    """A page of episodes: those that begin after the sequence number `cursor`."""

    limit: int = Field(50, ge=1, le=200)
    cursor: int | None = Field(None, ge=0, le=2**31 - 1)


def _at(where: str, given: dict[str, Any]) -> MessageDraft:
    try:
        draft = MessageDraft(**given, where=where)
        # Storing checks it too, but does not know the number of the message in its list.
        check_not_ahead(draft.created_at, utc_now())
        return draft
    except InvalidError as error:
        raise InvalidError(f"{where}.{error.field}", error.message) from error


def conversation_json(conversation: Conversation, space: str) -> dict[str, Any]:
    """Return a conversation as it is shown: without what was said of it to who may not read."""
    shown = may_read()
    return {
        "id": str(conversation.id),
        "external_id": conversation.external_id,
        "space": space,
        "title": conversation.title if shown else None,
        "title_source": conversation.title_source,
        "message_count": conversation.message_count,
        "total_tokens": conversation.total_tokens,
        "episodes": conversation.episodes,
        "metadata": conversation.extra if shown else None,
        "archived": conversation.archived_at is not None,
        "archived_at": moment(conversation.archived_at),
        "created_at": moment(conversation.created_at),
        "updated_at": moment(conversation.updated_at),
    }


def thread_json(thread: Thread) -> dict[str, Any]:
    """Return a conversation of a list; where words were looked for, with the place of them."""
    shown = conversation_json(thread.conversation, thread.space)
    if thread.place is None:
        return shown
    place = {"message_id": str(thread.place.message_id), "sequence": thread.place.sequence}
    return {**shown, "match": {**place, "snippet": thread.place.snippet}}


def message_json(message: Message, *, payload: bool) -> dict[str, Any]:
    """Return a message as it is shown; `payload` must have been loaded to be asked for."""
    return {
        "id": str(message.id),
        "conversation_id": str(message.conversation_id),
        "sequence": message.sequence,
        "role": message.role,
        "content": message.content,
        "client_id": message.client_id,
        "model": message.model,
        "token_count": message.token_count,
        "partial": message.partial,
        "recalled": message.recalled,
        "payload_format": message.payload_format,
        **({"payload": message.payload} if payload else {}),
        "correlation_id": message.correlation_id,
        "created_at": moment(message.created_at),
    }


def history_json(messages: Sequence[Message], format_: str) -> list[Any]:
    """Return messages in a format: as they were given, or said anew where they were given in another.

    Anthropic's library refuses a history with an empty message in it: said anew there, one that says nothing is left
    out.
    """
    own = [message.payload_format == format_ for message in messages]
    return [
        message.payload if given else to_element(format_, message.role, message.content, message.created_at)
        for message, given in zip(messages, own, strict=True)
        if given or message.content or format_ != "anthropic"
    ]


def stored_json(stored: Stored) -> dict[str, Any]:
    """Return what became of one message; `memory` tells what became of the wish to remember it."""
    message = stored.message
    shown: dict[str, Any] = {
        "id": str(message.id),
        "sequence": message.sequence,
        "outcome": stored.outcome,
        "client_id": message.client_id,
        "token_count": message.token_count,
        "partial": message.partial,
        "recalled": message.recalled,
    }
    if stored.memory is not None:
        # What the soft cap took is the same for every message: it is said once.
        trace = replace(stored.memory.trace, trimmed=())
        shown["memory"] = outcome_json(as_told(replace(stored.memory, trace=trace)))
    elif stored.not_remembered is not None:
        memory_id = str(stored.memory_id) if stored.memory_id else None
        shown["memory"] = {"id": memory_id, "outcome": "none", "reason": stored.not_remembered}
    return shown


def appended_json(appended: Appended, space: str) -> dict[str, Any]:
    """Return what became of each message, what the soft cap took, and the conversation as it is now."""
    return {
        "results": [stored_json(stored) for stored in appended.stored],
        "counts": _counts(appended.stored),
        "trimmed": _trimmed(appended.stored),
        "conversation": conversation_json(appended.conversation, space),
    }


def _counts(stored: Sequence[Stored]) -> dict[str, int]:
    return {name: sum(item.outcome == name for item in stored) for name in ("stored", "duplicate", "completed")}


def _trimmed(stored: Sequence[Stored]) -> list[str]:
    outcome = next((item.memory for item in stored if item.memory is not None), None)
    return [str(memory_id) for memory_id in outcome.trace.trimmed] if outcome is not None else []


def merged_json(merged: Merged, space: str) -> dict[str, Any]:
    """Return what was kept from each side; positions count from 0 in the client's history."""
    return {
        "server": {"kept": merged.kept, "only_here": [str(message_id) for message_id in merged.only_here]},
        "client": {
            "sent": len(merged.matches) + len(merged.added),
            "known": [
                {"position": m.position, "id": str(m.message_id), "by": m.by, "differs": m.differs}
                for m in merged.matches
            ],
            "added": [{"position": position, **stored_json(stored)} for position, stored in merged.added],
        },
        "trimmed": _trimmed(merged.appended.stored),
        "conversation": conversation_json(merged.appended.conversation, space),
    }


def episode_json(found: EpisodeOf) -> dict[str, Any]:
    """Return an episode as the interface shows it: as it was said, and between which messages."""
    episode = found.episode
    return {
        "id": str(episode.id),
        "text": episode.text,
        "message_id": str(episode.message_id),
        "reply_id": str(episode.reply_id),
        "sequence": found.sequence,
        "created_at": moment(episode.created_at),
        "embedding": told_vector("ready" if found.ready else "pending"),
    }
