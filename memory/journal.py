"""The record of what was done: audit events and tool calls."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from memory.models import AuditEvent, ToolCall

# A shorter text stands in so many innocent arguments that searching for it would blank the whole journal.
SHORTEST_REDACTED = 8


def record(
    session: Session,
    user_id: UUID,
    action: str,
    *,
    actor: str,
    now: datetime,
    subject_id: UUID | None = None,
    count: int = 1,
    details: dict[str, Any] | None = None,
) -> None:
    """Append an audit event; `details` must hold ids and numbers, never a memory's text."""
    session.add(
        AuditEvent(
            user_id=user_id,
            action=action,
            actor=actor,
            subject_id=subject_id,
            count=count,
            details=details or {},
            created_at=now,
        )
    )


def record_tool_call(session: Session, call: ToolCall) -> None:
    """Append a tool call."""
    session.add(call)


def redact(session: Session, memory_ids: Sequence[UUID], texts: Sequence[str]) -> int:
    """Blank every tool call of the user that names one of the memories or carries one of the texts.

    Returns how many calls were blanked. The caller commits.
    """
    needles = [json.dumps(text, ensure_ascii=False)[1:-1] for text in texts if len(text) >= SHORTEST_REDACTED]
    session.flush()
    return session.scalar(select(func.redact_tool_calls(list(memory_ids), needles))) or 0
