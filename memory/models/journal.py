"""What was done, by whom, and the switch that keeps it from being written."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, Index, Uuid, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from memory.models.base import Base, Document, Id, Moment, Owner


class IncognitoSession(Base):
    """One session's switch and what it refused; without a row, or while `active` is null, the space's default holds."""

    __tablename__ = "incognito_sessions"

    user_id: Mapped[Owner]
    session_key: Mapped[str] = mapped_column(primary_key=True)
    active: Mapped[bool | None]
    refused_writes: Mapped[int] = mapped_column(server_default=text("0"), default=0)
    started_at: Mapped[Moment]
    ended_at: Mapped[Moment | None]


class ToolCall(Base):
    """One call of an agent's tool. Forgetting a memory redacts its text here."""

    __tablename__ = "tool_calls"
    __table_args__ = (
        Index("ix_tool_calls_time", "user_id", "created_at"),
        Index("ix_tool_calls_tool", "user_id", "tool", "created_at"),
        Index(
            "ix_tool_calls_latency",
            "tool",
            "created_at",
            postgresql_include=["duration_ms", "success", "hits"],
        ),
        Index("ix_tool_calls_affected", "affected_ids", postgresql_using="gin"),
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
    duration_ms: Mapped[float]
    success: Mapped[bool]
    error: Mapped[str | None]
    created_at: Mapped[Moment]


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
