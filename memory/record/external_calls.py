"""Tool calls that agents report of their own, and the conversations that calls belong to."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID, uuid5

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from memory.errors import ConflictError, InvalidError
from memory.ids import new_id
from memory.keys import Keys
from memory.models import Conversation, Message, ToolCall
from memory.record.telemetry import SETTLED, count_late
from memory.redaction.redaction import UNNAMED, is_redacted
from memory.redaction.retold import without_forgotten

_SAID = ("arguments", "result", "error", "affected_paths")
_NAMES = ("tool", "operation")


@dataclass(frozen=True, slots=True)
class CallDraft:
    """A call that an agent made of a tool of its own, which it may name by `client_id`: said twice, it is one call."""

    tool: str
    success: bool
    duration_ms: float | None = None
    operation: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    result: Any = None
    error: str | None = None
    affected_ids: Sequence[UUID] = ()
    affected_paths: Sequence[str] = ()
    conversation_id: UUID | None = None
    message_id: UUID | None = None
    client_id: str | None = None
    created_at: datetime | None = None


def record_calls(
    session: Session,
    user_id: UUID,
    drafts: Sequence[CallDraft],
    *,
    keys: Keys,
    token_id: UUID | None,
    correlation_id: str,
    now: datetime,
) -> Sequence[tuple[UUID, bool]]:
    """Append calls that an agent made, without what was forgotten; returns the id of each and whether it is new.

    The id of a call with a `client_id` is made of that and of the token: whoever repeats it names the same call, and
    no other token meets it. With other content it raises `ConflictError`. The caller commits.
    """
    ids = [_id_of(draft, token_id or user_id) for draft in drafts]
    rows: dict[UUID, dict[str, Any]] = {}
    for draft, call_id in zip(drafts, ids, strict=True):
        rows.setdefault(call_id, _row(draft, user_id, call_id, token_id, correlation_id, now))
    _hold_places(session, user_id, drafts)
    statement = insert(ToolCall).on_conflict_do_nothing().returning(ToolCall.id)
    added = set(session.scalars(statement, without_forgotten(session, user_id, list(rows.values()), keys, now)))
    # Calls of long ago are added to the totals here. Those count as such well before the totals are settled for their
    # time, as that may come to pass while this transaction lasts.
    if late := [call_id for call_id in added if rows[call_id]["created_at"] < now - SETTLED / 2]:
        count_late(session, user_id, late)
    # A call that comes twice in one request is new the first time only.
    kept = [(call_id, call_id in added and ids.index(call_id) == place) for place, call_id in enumerate(ids)]
    repeats = [place for place, (_, new) in enumerate(kept) if not new]
    mine = (ToolCall.user_id == user_id, ToolCall.id.in_(ids[place] for place in repeats))
    known = {call.id: call for call in session.scalars(select(ToolCall).where(*mine))} if repeats else {}
    for place in repeats:
        if not _is_repeat(known[ids[place]], drafts[place]):
            name = drafts[place].client_id
            raise ConflictError(f"{name!r} names a call with other content already", f"calls.{place}.client_id")
    return kept


def _hold_places(session: Session, user_id: UUID, drafts: Sequence[CallDraft]) -> None:
    """Keep conversations that calls belong to, with their messages, from being deleted until the transaction ends."""
    ids = {draft.conversation_id for draft in drafts if draft.conversation_id is not None}
    mine = select(Conversation.id).where(Conversation.user_id == user_id, Conversation.id.in_(ids))
    if ids:
        session.execute(mine.order_by(Conversation.id).with_for_update(read=True, key_share=True))


def _is_repeat(call: ToolCall, draft: CallDraft) -> bool:
    """Tell whether a call that is kept says what the draft says, as far as it still says it."""
    said = _row(draft, call.user_id, call.id, call.token_id, call.correlation_id, call.created_at)
    compared = set(said) - set(_SAID if is_redacted(call) else ())
    # A name that was redacted cannot be compared.
    compared -= {name for name in _NAMES if getattr(call, name) == UNNAMED}
    if not call.duration_ms and not draft.duration_ms:
        # Migration 0027 could not tell apart who had said 0 and who nothing.
        compared.remove("duration_ms")
    return all(_canonical(getattr(call, name)) == _canonical(said[name]) for name in compared)


def _canonical(value: Any) -> str:
    """Return a value as text in one form: JSONB gives 1e23 back as a whole number, and -0.0 as zero."""
    written = json.dumps(value, default=str)
    return json.dumps(json.loads(written, parse_int=_number, parse_float=_number), sort_keys=True)


def _number(digits: str) -> float:
    return float(digits) + 0.0


def _id_of(draft: CallDraft, caller: UUID) -> UUID:
    return uuid5(caller, draft.client_id) if draft.client_id is not None else new_id()


def _row(
    draft: CallDraft, user_id: UUID, call_id: UUID, token_id: UUID | None, correlation_id: str, now: datetime
) -> dict[str, Any]:
    return {
        "user_id": user_id,
        "id": call_id,
        "token_id": token_id,
        "correlation_id": correlation_id,
        "origin": "external",
        "tool": draft.tool,
        "operation": draft.operation,
        "arguments": dict(draft.arguments),
        "result": draft.result,
        "error": draft.error,
        "affected_ids": list(draft.affected_ids),
        "affected_paths": list(draft.affected_paths),
        "conversation_id": draft.conversation_id,
        "message_id": draft.message_id,
        "duration_ms": draft.duration_ms,
        "success": draft.success,
        "created_at": draft.created_at or now,
    }


class Links:
    """The conversations and messages that calls name, as far as this caller may see them."""

    def __init__(self, session: Session, user_id: UUID, space_id: UUID | None) -> None:
        self._session = session
        # `space_id` is the one space that the caller sees, None for all.
        self._mine = (Conversation.user_id == user_id, *([Conversation.space_id == space_id] if space_id else []))
        self._user_id = user_id
        self.spaces: dict[UUID, UUID] = {}
        self._conversations: dict[UUID, UUID] = {}

    def load(self, conversations: Sequence[UUID], messages: Sequence[UUID]) -> None:
        """Look up what is named, in two statements however much it is."""
        said = (
            select(Message.id, Message.conversation_id, Conversation.space_id)
            .join(
                Conversation, (Conversation.user_id == Message.user_id) & (Conversation.id == Message.conversation_id)
            )
            .where(Message.user_id == self._user_id, Message.id.in_(messages), *self._mine)
        )
        for message_id, conversation_id, space_id in self._session.execute(said) if messages else ():
            self._conversations[message_id] = conversation_id
            self.spaces[conversation_id] = space_id
        named = select(Conversation.id, Conversation.space_id).where(Conversation.id.in_(conversations), *self._mine)
        for conversation_id, space_id in self._session.execute(named) if conversations else ():
            self.spaces[conversation_id] = space_id

    def conversation_of(
        self, conversation_id: UUID | None, message_id: UUID | None, fields: tuple[str, str]
    ) -> UUID | None:
        """Return the conversation of a call, by the message if it names that alone.

        Raises `InvalidError` on the field that names nothing, or a message of another conversation.
        """
        if conversation_id is not None and conversation_id not in self.spaces:
            raise InvalidError(fields[0], "there is no such conversation")
        if message_id is None:
            return conversation_id
        own = self._conversations.get(message_id)
        if own is None or conversation_id not in {None, own}:
            raise InvalidError(
                fields[1], "there is no such message" + (" in this conversation" if conversation_id else "")
            )
        return own
