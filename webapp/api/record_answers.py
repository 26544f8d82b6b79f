"""The shapes that the record of what was done is answered in, for the description of the interface."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from memory.record.tool_calls import Origin
from webapp.api.answers import Closed, Moment, TokenAnswer


class OutlineAnswer(BaseModel):
    """Who called which tool, where and when."""

    id: str
    tool: str
    operation: str | None
    token: TokenAnswer | None
    conversation_id: str | None
    message_id: str | None
    correlation_id: str
    created_at: str = Moment


class CallAnswer(OutlineAnswer):
    """One call of a tool, of this server or of an agent's own: reported (`external`), or told of in a `history`."""

    origin: Origin
    arguments: Any
    result: Any
    success: bool
    error: str | None
    duration_ms: float | None = Field(description="null where nobody said how long it took.")
    hits: int | None = Field(description="null where nothing was searched.")
    affected_ids: list[str]
    affected_paths: list[str]
    query_hash: str | None


class CallsAnswer(BaseModel):
    """A page of calls."""

    calls: list[CallAnswer]
    next_cursor: str | None
    skipped: str | None = Closed


class PathAnswer(BaseModel):
    """A path that calls affected."""

    path: str
    calls: int
    last_at: str = Moment


class PathsAnswer(BaseModel):
    """Paths, in order."""

    paths: list[PathAnswer]
    skipped: str | None = Closed


class ReportedCallAnswer(BaseModel):
    """What became of one reported call."""

    id: str
    client_id: str | None
    status: Literal["stored", "known"]


class ReportedAnswer(BaseModel):
    """What became of each reported call, in order, and how many are new."""

    calls: list[ReportedCallAnswer]
    stored: int


class UseAnswer(OutlineAnswer):
    """A call that received a memory, as the `rank`-th of its hits."""

    query_hash: str | None
    rank: int


class UsesAnswer(BaseModel):
    """A page of uses."""

    uses: list[UseAnswer]
    next_cursor: str | None


class EventAnswer(BaseModel):
    """An audit event, with its link in the chain."""

    id: str
    action: str
    actor: str
    subject_id: str | None
    count: int
    details: dict[str, Any]
    created_at: str = Moment
    sequence: int | None
    hash: str | None


class EventsAnswer(BaseModel):
    """A page of audit events."""

    events: list[EventAnswer]
    next_cursor: str | None


class VerifiedAnswer(BaseModel):
    """Whether the chain holds."""

    ok: bool
    events: int
    head: str | None
    reason: str | None
    sequence: int | None = Field(description="Where it breaks first.")
    event_id: str | None
