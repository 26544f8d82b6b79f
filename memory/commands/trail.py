"""What "that", "yes" and "undo" mean: read from the record of tool calls, which keeps ids and no words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, and_, func, or_, select
from sqlalchemy.orm import Session

from memory.models import AuditEvent, ToolCall

TOOL = "command"
# "That" is what was recalled or stored a moment ago, not what was an hour ago.
MEMORABLE = timedelta(minutes=30)
UNDOABLE = timedelta(minutes=10)
ANSWERABLE = timedelta(minutes=5)

# Whose affected ids are memories, and what they say of those.
_TOOLS = ("memory_search", "query_memory", "memory_add", "memory_get", "memory_update", "memory_context", TOOL)
_STORING = ("memory.created", "memory.merged")
_FEW = 20
_GIVING_BACK = frozenset({"restore", "pin", "memory_on"})


@dataclass(frozen=True, slots=True)
class Speaker:
    """Whose commands follow one another: a session by its keyed digest, and the conversation that they are said in.

    `alone` is true where other calls of the same token may come from another session.
    """

    user_id: UUID
    session: str
    actor: str
    token_id: UUID | None
    conversation_id: UUID | None
    alone: bool


@dataclass(frozen=True, slots=True)
class Step:
    """One command that was carried out or asked back: its id, and what of it was recorded."""

    id: UUID
    created_at: datetime
    result: dict[str, Any]


def last_memories(session: Session, speaker: Speaker, now: datetime) -> Sequence[UUID]:
    """Return the memories that were recalled or stored last, best first; () when that is too long ago.

    () too where the last command, or a person's own search, recalled or stored nothing, or where its record is blank as
    one of its memories is gone for good: what came before is not what is spoken of.
    """
    is_blank = _is_blank()
    call = session.execute(
        select(ToolCall.created_at, ToolCall.affected_ids, is_blank.label("is_blank"))
        .where(
            ToolCall.user_id == speaker.user_id,
            ToolCall.created_at > now - MEMORABLE,
            ToolCall.origin == "server",
            ToolCall.tool.in_(_TOOLS),
            ToolCall.operation.in_(("search", "create", "read", "update")),
            # An agent's tools may find nothing between two commands that the user says one after the other.
            or_(
                func.cardinality(ToolCall.affected_ids) > 0,
                and_(ToolCall.tool != TOOL, ToolCall.token_id.is_(None)),
                and_(ToolCall.tool == TOOL, ToolCall.result["intent"].astext.in_(("recall", "remember"))),
                is_blank,
            ),
            _said_by(speaker),
        )
        .order_by(ToolCall.created_at.desc(), ToolCall.id.desc())
        .limit(1)
    ).one_or_none()
    stored = _last_stored(session, speaker, now)
    if stored is not None and (call is None or stored.created_at > call.created_at):
        return (stored.subject_id,)
    # A blank command does not say which session it was of; only its conversation tells.
    return call.affected_ids if call is not None and (speaker.conversation_id or not call.is_blank) else ()


def _said_by(speaker: Speaker) -> ColumnElement[bool]:
    ways: list[ColumnElement[bool]] = [_command_of(speaker)]
    if speaker.conversation_id is not None:
        ways.append(ToolCall.conversation_id == speaker.conversation_id)
    elif not speaker.alone:
        ways.append(and_(ToolCall.tool != TOOL, ToolCall.token_id.is_not_distinct_from(speaker.token_id)))
    return or_(*ways)


def _command_of(speaker: Speaker) -> ColumnElement[bool]:
    return and_(
        # Agents report calls of their own under any name, and with any result.
        ToolCall.origin == "server",
        ToolCall.tool == TOOL,
        # A blank command may be the last one of this session: which session of the token it was of is gone with its
        # words.
        or_(
            ToolCall.result["session"].astext == speaker.session,
            and_(_is_blank(), ToolCall.token_id.is_not_distinct_from(speaker.token_id)),
        ),
        ToolCall.conversation_id.is_not_distinct_from(speaker.conversation_id),
    )


def _is_blank() -> ColumnElement[bool]:
    """Tell which commands have no record any more but of when they were said, and of what."""
    return and_(ToolCall.tool == TOOL, func.coalesce(ToolCall.result["redacted"].astext == "true", False))


def _last_stored(session: Session, speaker: Speaker, now: datetime) -> Any:
    """Return the last memory that the speaker stored by other ways than a tool."""
    if speaker.alone or speaker.conversation_id is not None:
        return None
    statement = (
        select(AuditEvent.created_at, AuditEvent.subject_id)
        .where(
            AuditEvent.user_id == speaker.user_id,
            AuditEvent.created_at > now - MEMORABLE,
            AuditEvent.action.in_(_STORING),
            AuditEvent.actor == speaker.actor,
            AuditEvent.subject_id.is_not(None),
        )
        .order_by(AuditEvent.created_at.desc(), AuditEvent.id.desc())
        .limit(1)
    )
    return session.execute(statement).one_or_none()


def _steps(session: Session, speaker: Speaker, since: datetime) -> list[Step]:
    """Return the speaker's commands, the latest first."""
    statement = (
        select(ToolCall.id, ToolCall.created_at, ToolCall.result)
        .where(ToolCall.user_id == speaker.user_id, ToolCall.created_at > since, _command_of(speaker))
        .order_by(ToolCall.created_at.desc(), ToolCall.id.desc())
        .limit(_FEW)
    )
    return [Step(*row) for row in session.execute(statement)]


def last_change(session: Session, speaker: Speaker, now: datetime, *, gone: bool = False) -> Step | None:
    """Return the last command that can still be undone and was not.

    With `gone` it is the last whose undo gives something back: who wants that must not lose what came since.
    """
    undone: set[str] = set()
    for step in _steps(session, speaker, now - UNDOABLE):
        if "undid" in step.result:
            undone.add(step.result["undid"])
        elif "undo" in step.result and str(step.id) not in undone and (not gone or _gives_back(step)):
            return step
    return None


def has_just_undone(session: Session, speaker: Speaker, now: datetime) -> bool:
    """Tell whether the very last command was an undo, or may have been one: of some nothing else is left."""
    steps = _steps(session, speaker, now - UNDOABLE)
    return bool(steps) and not {"undid", "redacted"}.isdisjoint(steps[0].result)


def _gives_back(step: Step) -> bool:
    return step.result["undo"]["action"] in _GIVING_BACK


def open_question(session: Session, speaker: Speaker, now: datetime) -> Step | None:
    """Return the very last command if that asked something, as `asks` in its result, and may still be answered."""
    steps = _steps(session, speaker, now - ANSWERABLE)
    return steps[0] if steps and "asks" in steps[0].result else None
