"""Conversations, what was said in them, and the episodes that make it searchable."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    Computed,
    ForeignKeyConstraint,
    Index,
    UniqueConstraint,
)
from sqlalchemy import text as sql
from sqlalchemy.dialects.postgresql import JSONB, TSVECTOR
from sqlalchemy.orm import Mapped, mapped_column

from memory.models.base import Base, Document, Id, Moment, Owner
from memory.models.memories import ROLES, one_of
from memory.models.shelves import PostingsByLexeme, Vectors

TITLE_SOURCES = ("auto", "user")
FORMATS = ("pydantic_ai", "openai", "anthropic")


class Conversation(Base):
    """A thread of messages. Its space is its scope, looked up whenever something is searched.

    `episodes` and `tokens_indexed` count what BM25 needs to know of it, kept by a trigger; `total_tokens` counts
    cl100k tokens of its messages. Up to the message `extracted_through` it was read for facts.
    """

    __tablename__ = "conversations"
    __table_args__ = (
        ForeignKeyConstraint(["user_id", "space_id"], ["spaces.user_id", "spaces.id"]),
        # Within its space: what is confined to another space must neither meet nor miss a name that is taken here.
        UniqueConstraint("user_id", "space_id", "external_id"),
        one_of("title_source", TITLE_SOURCES),
        Index("ix_conversations_scope", "user_id", "space_id"),
        Index("ix_conversations_recent", "user_id", "updated_at", "id"),
    )

    user_id: Mapped[Owner]
    id: Mapped[Id]
    external_id: Mapped[str]
    space_id: Mapped[UUID]
    title: Mapped[str] = mapped_column(server_default="", default="")
    title_source: Mapped[str] = mapped_column(server_default="auto", default="auto")
    message_count: Mapped[int] = mapped_column(server_default=sql("0"), default=0)
    total_tokens: Mapped[int] = mapped_column(BigInteger, server_default=sql("0"), default=0)
    episodes: Mapped[int] = mapped_column(server_default=sql("0"), default=0)
    tokens_indexed: Mapped[int] = mapped_column(BigInteger, server_default=sql("0"), default=0)
    extracted_through: Mapped[int] = mapped_column(server_default=sql("0"), default=0)
    extra: Mapped[Document] = mapped_column("metadata")
    created_at: Mapped[Moment]
    updated_at: Mapped[Moment]
    archived_at: Mapped[Moment | None]


class Message(Base):
    """One turn. `client_id` makes appending idempotent; `payload` is the caller's own form of it, kept as given.

    The payload is JSON and not JSONB: the order of keys and every escape come back as they were.
    """

    __tablename__ = "messages"
    __table_args__ = (
        ForeignKeyConstraint(
            ["user_id", "conversation_id"], ["conversations.user_id", "conversations.id"], ondelete="CASCADE"
        ),
        UniqueConstraint("user_id", "conversation_id", "sequence"),
        one_of("role", ROLES),
        one_of("payload_format", FORMATS),
        CheckConstraint("sequence > 0", name="sequence"),
        Index(
            "uq_messages_client_id",
            "user_id",
            "conversation_id",
            "client_id",
            unique=True,
            postgresql_where=sql("client_id IS NOT NULL"),
        ),
    )

    user_id: Mapped[Owner]
    id: Mapped[Id]
    conversation_id: Mapped[UUID]
    sequence: Mapped[int]
    role: Mapped[str]
    content: Mapped[str]
    client_id: Mapped[str | None]
    token_count: Mapped[int]
    model: Mapped[str | None]
    correlation_id: Mapped[str]
    # A reply whose stream was cut: what had come until then.
    partial: Mapped[bool] = mapped_column(server_default=sql("false"), default=False)
    # It carries text that this server had recalled: shown, never learned from.
    recalled: Mapped[bool] = mapped_column(server_default=sql("false"), default=False)
    payload: Mapped[Any | None] = mapped_column(JSON(none_as_null=True), deferred=True)
    # Whose form the payload has, where it is an element of a history: that history comes back as it was.
    payload_format: Mapped[str | None]
    created_at: Mapped[Moment]


class Episode(Base):
    """A user's message with the reply to it. `text` is as it was said; `searched` may add the turn before."""

    __tablename__ = "episodes"
    __table_args__ = (
        ForeignKeyConstraint(
            ["user_id", "conversation_id"], ["conversations.user_id", "conversations.id"], ondelete="CASCADE"
        ),
        ForeignKeyConstraint(["user_id", "message_id"], ["messages.user_id", "messages.id"], ondelete="CASCADE"),
        ForeignKeyConstraint(["user_id", "reply_id"], ["messages.user_id", "messages.id"], ondelete="CASCADE"),
        UniqueConstraint("user_id", "message_id"),
        Index("ix_episodes_conversation", "user_id", "conversation_id", "id"),
        Index("ix_episodes_reply", "user_id", "reply_id"),
        Index("ix_episodes_time", "user_id", "created_at"),
        Index("ix_episodes_waiting", "user_id", "created_at", postgresql_where=sql("needs_embedding")),
        Index("ix_episodes_unenriched", "user_id", "id", postgresql_where=sql("needs_enrichment")),
    )

    __mapper_args__ = {"eager_defaults": False}  # noqa: RUF012 - SQLAlchemy declares it, as no class variable

    user_id: Mapped[Owner]
    id: Mapped[Id]
    conversation_id: Mapped[UUID]
    message_id: Mapped[UUID]
    reply_id: Mapped[UUID]
    # The episode before it in the conversation; no foreign key, as that may be deleted at any time.
    previous_id: Mapped[UUID | None]
    text: Mapped[str]
    searched: Mapped[str]
    version: Mapped[int] = mapped_column(server_default=sql("1"), default=1)
    needs_embedding: Mapped[bool] = mapped_column(server_default=sql("true"), default=True)
    needs_enrichment: Mapped[bool] = mapped_column(server_default=sql("true"), default=True)
    created_at: Mapped[Moment]
    tsv: Mapped[str] = mapped_column(
        TSVECTOR, Computed("to_tsvector('english'::regconfig, in_words(searched))", persisted=True), deferred=True
    )


class EpisodePosting(PostingsByLexeme, Base):
    """One lexeme of one episode; the scope is its conversation. Kept by a trigger."""

    __tablename__ = "episode_postings"


class EpisodeEmbedding(Vectors, Base):
    """One vector per episode and model; the scope is its conversation."""

    __tablename__ = "episode_embeddings"
    __table_args__ = Vectors.arguments("episode")


class SessionState(Base):
    """The last messages and the current goal of a conversation, for a day. A cache: losing it costs only time."""

    __tablename__ = "session_states"
    __table_args__ = (
        ForeignKeyConstraint(
            ["user_id", "conversation_id"], ["conversations.user_id", "conversations.id"], ondelete="CASCADE"
        ),
        Index("ix_session_states_expiry", "expires_at"),
        {"prefixes": ["UNLOGGED"]},
    )

    user_id: Mapped[Owner]
    conversation_id: Mapped[UUID] = mapped_column(primary_key=True)
    state: Mapped[dict[str, Any]] = mapped_column(JSONB)
    expires_at: Mapped[Moment]
