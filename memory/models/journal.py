"""What was done, by whom, and the switch that keeps it from being written."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, BigInteger, ForeignKeyConstraint, Index, Uuid, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from memory.models.base import Base, Document, Id, Moment, Owner, Words
from memory.models.memories import one_of


class IncognitoSession(Base):
    """One session's switch and what it refused; without a row, or while `active` is null, the space's default holds."""

    __tablename__ = "incognito_sessions"

    user_id: Mapped[Owner]
    session_key: Mapped[str] = mapped_column(primary_key=True)
    active: Mapped[bool | None]
    refused_writes: Mapped[int] = mapped_column(server_default=text("0"), default=0)
    started_at: Mapped[Moment]
    ended_at: Mapped[Moment | None]


ORIGINS = ("server", "external", "history")
_IN_ONE = text("conversation_id IS NOT NULL")
_OF_ONE = text("message_id IS NOT NULL")
_OF_A_KIND = text("operation IS NOT NULL")
_BY_A_TOKEN = text("token_id IS NOT NULL")
_FAILED = text("NOT success")
_WITH_PATHS = text("affected_paths <> '{}'")
_RECALLING = text("origin = 'server' AND success AND (hits > 0 OR tool = 'memory_get')")


class ToolCall(Base):
    """One call of a tool: ours, an agent's own (`external`), or one that a `history` told of.

    Forgetting a memory redacts its text here; a call of a history is redacted with its conversation, too.
    `affected_ids` of a search are its hits in the order of their ranks. Without `duration_ms` nobody said how long it
    took.
    """

    __tablename__ = "tool_calls"
    __table_args__ = (
        Index("ix_tool_calls_time", "user_id", "created_at"),
        Index("ix_tool_calls_tool", "user_id", "tool", "created_at"),
        Index("ix_tool_calls_operation", "user_id", "operation", "created_at", postgresql_where=_OF_A_KIND),
        Index("ix_tool_calls_token_id", "user_id", "token_id", "created_at", postgresql_where=_BY_A_TOKEN),
        Index(
            "ix_tool_calls_latency",
            "tool",
            "created_at",
            postgresql_include=["duration_ms", "success", "hits"],
        ),
        # At once: each of thousands of memories that are asked for would read through all that had come last.
        Index(
            "ix_tool_calls_affected",
            "affected_ids",
            postgresql_using="gin",
            postgresql_with={"fastupdate": "off"},
        ),
        # By each path and by each folder that it is in; `calls_on` asks here. Most calls have none.
        Index(
            "ix_tool_calls_paths",
            text("user_words(user_id, with_folders(affected_paths))"),
            postgresql_using="gin",
            postgresql_where=_WITH_PATHS,
        ),
        Index("ix_tool_calls_failed", "user_id", "created_at", postgresql_where=_FAILED),
        Index("ix_tool_calls_with_paths", "user_id", "created_at", postgresql_where=_WITH_PATHS),
        # Asked whenever messages are appended; of an agent that keeps histories, most calls are others.
        Index("ix_tool_calls_recalling", "user_id", "created_at", postgresql_where=_RECALLING),
        Index("ix_tool_calls_conversation", "user_id", "conversation_id", "created_at", postgresql_where=_IN_ONE),
        Index("ix_tool_calls_correlation", "user_id", "correlation_id", "created_at"),
        # Of use to the foreign key alone: a deleted message is looked for here.
        Index("ix_tool_calls_message", "user_id", "message_id", postgresql_where=_OF_ONE),
        ForeignKeyConstraint(
            ["user_id", "conversation_id"],
            ["conversations.user_id", "conversations.id"],
            ondelete="SET NULL (conversation_id)",
        ),
        ForeignKeyConstraint(
            ["user_id", "message_id"], ["messages.user_id", "messages.id"], ondelete="SET NULL (message_id)"
        ),
        one_of("origin", ORIGINS),
    )

    user_id: Mapped[Owner]
    id: Mapped[Id]
    token_id: Mapped[UUID | None]
    correlation_id: Mapped[str]
    tool: Mapped[str]
    arguments: Mapped[Document]
    result: Mapped[dict[str, Any] | None] = mapped_column(JSONB)
    affected_ids: Mapped[list[UUID]] = mapped_column(ARRAY(Uuid), server_default=text("'{}'"), default=list)
    hits: Mapped[int | None]
    duration_ms: Mapped[float | None]
    success: Mapped[bool]
    error: Mapped[str | None]
    created_at: Mapped[Moment]
    origin: Mapped[str] = mapped_column(server_default="server", default="server")
    operation: Mapped[str | None]
    affected_paths: Mapped[Words]
    conversation_id: Mapped[UUID | None]
    message_id: Mapped[UUID | None]
    query_hash: Mapped[str | None]


class AuditEvent(Base):
    """One action of a user or of the system for the user; append-only, never with a memory's text."""

    __tablename__ = "audit_events"
    __table_args__ = (
        Index("ix_audit_events_time", "user_id", "created_at"),
        Index("ix_audit_events_action", "action", "created_at"),
    )

    user_id: Mapped[Owner]
    id: Mapped[Id]
    action: Mapped[str]
    actor: Mapped[str]
    subject_id: Mapped[UUID | None]
    count: Mapped[int] = mapped_column(server_default=text("1"), default=1)
    details: Mapped[Document]
    created_at: Mapped[Moment]


class AuditLink(Base):
    """One link of a user's audit chain: `hash` covers the event and the link before it.

    The database writes it when a transaction commits; see `chain_audit_events` in the migrations.
    """

    __tablename__ = "audit_links"
    __table_args__ = (Index("uq_audit_links_event", "user_id", "event_id", unique=True),)

    user_id: Mapped[Owner]
    sequence: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    event_id: Mapped[UUID]
    hash: Mapped[bytes]
