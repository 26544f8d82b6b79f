"""The shapes that conversations are answered in, for the description of the interface."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field, RootModel

from memory.messages.messages import Kept
from retrieval.history.window import Method, Strategy
from webapp.api.answers import Closed, Moment, OutcomeAnswer
from webapp.api.schemas import MemoryRole

Unread = "null to a token without the scope `read`."


class ConversationAnswer(BaseModel):
    """A conversation without its messages."""

    id: str
    external_id: str
    space: str
    title: str | None = Field(description=Unread)
    title_source: str
    message_count: int
    total_tokens: int
    episodes: int
    metadata: dict[str, Any] | None = Field(description=Unread)
    archived: bool
    archived_at: str | None
    created_at: str = Moment
    updated_at: str = Moment


class MatchAnswer(BaseModel):
    """Where words were found."""

    message_id: str
    sequence: int
    snippet: str


class FoundConversationAnswer(ConversationAnswer):
    """A conversation of a list."""

    match: MatchAnswer | None = Field(None, description="Where `q` was found in a message; left out otherwise.")


class ConversationsAnswer(BaseModel):
    """A page of conversations."""

    conversations: list[FoundConversationAnswer]
    next_cursor: str | None
    skipped: str | None = Closed


class DeletedConversationAnswer(BaseModel):
    """What went with a conversation, and how many memories stay without their source."""

    id: str
    deleted: bool
    messages: int
    episodes: int
    facts: int = Field(description="Those that were extracted from it, and go with it.")
    memories_unlinked: int


class MessageAnswer(BaseModel):
    """A message."""

    id: str
    conversation_id: str
    sequence: int
    role: MemoryRole
    content: str
    client_id: str | None
    model: str | None
    token_count: int
    partial: bool
    recalled: bool = Field(description="Whether text that the server recalled stands in it.")
    payload_format: str | None
    payload: Any = Field(None, description="As it was given; left out of a list that was not asked for it.")
    correlation_id: str
    created_at: str = Moment


class MessagesAnswer(BaseModel):
    """A page of messages."""

    messages: list[MessageAnswer]
    next_cursor: int | None


class HistoryAnswer(BaseModel):
    """A page of messages as a history of another library."""

    format: str
    history: list[Any]
    next_cursor: int | None


class MessagePageAnswer(RootModel[MessagesAnswer | HistoryAnswer]):
    """A page of messages, or with `format` the same page as a history of that library."""


class EpisodeAnswer(BaseModel):
    """A turn of the user with the reply to it."""

    id: str
    text: str
    message_id: str
    reply_id: str
    sequence: int
    created_at: str = Moment
    embedding: Literal["ready", "pending", "none"]


class EpisodesAnswer(BaseModel):
    """A page of episodes."""

    episodes: list[EpisodeAnswer]
    next_cursor: int | None


class NotRememberedAnswer(BaseModel):
    """Why no memory was made of a message; of one that was sent again, the id of its memory."""

    id: str | None
    outcome: Literal["none"]
    reason: str


class StoredAnswer(BaseModel):
    """What became of one message."""

    id: str
    sequence: int
    outcome: Kept
    client_id: str | None
    token_count: int
    partial: bool
    recalled: bool
    memory: OutcomeAnswer | NotRememberedAnswer | None = Field(
        None, description="What became of the wish to remember it; left out where there was none."
    )


class StoredCountsAnswer(BaseModel):
    """How many messages had each outcome."""

    stored: int
    duplicate: int
    completed: int


class AppendedAnswer(BaseModel):
    """What became of each message, in order, and the conversation as it is now; what the soft cap took is said once."""

    results: list[StoredAnswer]
    counts: StoredCountsAnswer
    trimmed: list[str]
    conversation: ConversationAnswer


class KeptHereAnswer(BaseModel):
    """What was here before a merge."""

    kept: int
    only_here: list[str]


class KnownMessageAnswer(BaseModel):
    """A message of the client's history that is here already; `position` counts from 0."""

    position: int
    id: str
    by: Literal["id", "client_id", "text"]
    differs: bool


class AddedMessageAnswer(StoredAnswer):
    """A message of the client's history that is new here."""

    position: int


class SentAnswer(BaseModel):
    """What became of the client's history."""

    sent: int
    known: list[KnownMessageAnswer]
    added: list[AddedMessageAnswer]


class MergedAnswer(BaseModel):
    """What was kept from each side of a merge; what the soft cap took is said once."""

    server: KeptHereAnswer
    client: SentAnswer
    trimmed: list[str]
    conversation: ConversationAnswer


class TurnAnswer(BaseModel):
    """A message as a history has it."""

    id: str
    sequence: int
    role: MemoryRole
    content: str
    token_count: int


class CoveredAnswer(BaseModel):
    """Which messages a summary stands for."""

    from_sequence: int
    to_sequence: int
    messages: int


class RecapAnswer(BaseModel):
    """What stands for the messages that were left out."""

    text: str
    token_count: int
    covers: CoveredAnswer
    method: Method
    basis: str | None = Field(description="Of an extract: `vectors` or `words`.")
    messages_read: int | None = Field(description="Of an extract: how many messages it was chosen from.")
    reason: str | None = Field(description="Why it is not the language model's, where one is configured.")


class FittedHistory(BaseModel):
    """What a history that fits a token budget says beside its messages."""

    strategy: Strategy
    summary: RecapAnswer | None
    token_count: int
    left_out: int


class FittedMessagesAnswer(FittedHistory):
    """A history that fits a token budget, the oldest message first."""

    messages: list[TurnAnswer]


class FittedFormatAnswer(FittedHistory):
    """The same as another library writes it."""

    format: str
    history: list[Any]


class FittedAnswer(RootModel[FittedMessagesAnswer | FittedFormatAnswer]):
    """A history that fits a token budget, with `format` as that library writes it."""


class StateTurnAnswer(TurnAnswer):
    """One of the last messages."""

    created_at: str = Moment


class StateAnswer(BaseModel):
    """Where a conversation stands: its goal, and its last messages, the oldest first."""

    conversation_id: str
    goal: str | None
    messages: list[StateTurnAnswer]
    left_out: int = Field(description="How many messages there are before these.")
