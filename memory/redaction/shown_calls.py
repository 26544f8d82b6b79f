"""Tool calls as they may be shown: blank where they tell of what was forgotten, or of a space closed to who asks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from memory.commands.trail import TOOL as COMMAND
from memory.lineage.writers import find_tokens
from memory.models import DEFAULT_SPACE, Conversation, Entity, Fact, Memory, Space, Token, ToolCall
from memory.redaction.fact_texts import with_facts
from memory.redaction.redaction import REDACTED, UNNAMED, Secrets, secrets_of

# Tools that look into all open spaces where they are told of none; others look into the pool.
_OF_ALL = frozenset({"fact_search"})


@dataclass(frozen=True, slots=True)
class ShownCall:
    """A call as it may be shown: blank where it tells of a forgotten memory, before that is purged.

    So it is where it tells of a space that is closed to whoever asks.
    """

    call: ToolCall
    token: Token | None
    # Those of the call's names that say what is forgotten.
    hidden: Collection[str]
    arguments: Any
    result: Any
    error: str | None = None
    query_hash: str | None = None
    affected_paths: Sequence[str] = ()

    @property
    def tool(self) -> str:
        """Return the name of the tool."""
        return UNNAMED if self.call.tool in self.hidden else self.call.tool

    @property
    def question(self) -> str | None:
        """Return the words that were searched for."""
        asked = self.arguments.get("query") if isinstance(self.arguments, dict) else None
        return asked if isinstance(asked, str) else None

    @property
    def operation(self) -> str | None:
        """Return what the tool did."""
        return UNNAMED if self.call.operation in self.hidden else self.call.operation

    @property
    def correlation_id(self) -> str:
        """Return the id of the request that the call came in."""
        return UNNAMED if self.call.correlation_id in self.hidden else self.call.correlation_id


def as_shown(
    session: Session, user_id: UUID, calls: Sequence[ToolCall], now: datetime, outside: Collection[str]
) -> list[ShownCall]:
    """Return calls as they may be shown, without their words where they were made in one of the spaces `outside`."""
    secrets = with_facts(session, secrets_of(session, user_id, now))
    tokens = find_tokens(session, user_id, {call.token_id for call in calls})
    closed = _made_in(session, user_id, calls, tokens, outside)
    return [_shown(call, tokens.get(call.token_id), secrets, is_closed=call.id in closed) for call in calls]


def _made_in(
    session: Session,
    user_id: UUID,
    calls: Sequence[ToolCall],
    tokens: Mapping[UUID | None, Token],
    slugs: Collection[str],
) -> set[UUID]:
    """Return the ids of those calls that were made in spaces, or that name what is in one of them now."""
    if not slugs:
        return set()
    spaces = set(session.scalars(select(Space.id).where(Space.user_id == user_id, Space.slug.in_(slugs))))
    named = {call.id: {*call.affected_ids, call.conversation_id, _asked_in(call)} - {None} for call in calls}
    ids, inside = set().union(*named.values()), set[UUID]()
    for kind in (Memory, Entity, Fact, Conversation):
        there = (kind.user_id == user_id, kind.id.in_(ids), kind.space_id.in_(spaces))
        inside.update(session.scalars(select(kind.id).where(*there)))

    def is_inside(call: ToolCall) -> bool:
        token = tokens.get(call.token_id)
        confined = token is not None and token.space_id is not None
        said = _said_space(call, pooled=not confined) in slugs
        return said or (token is not None and token.space_id in spaces) or not inside.isdisjoint(named[call.id])

    return {call.id for call in calls if is_inside(call)}


def _said_space(call: ToolCall, *, pooled: bool) -> str | None:
    """Return the slug of the space that a call of ours named, or the pool where it asked that by naming none."""
    if call.origin != "server" or not isinstance(call.arguments, dict):
        return None
    elsewhere = call.conversation_id is not None or _asked_in(call) is not None or call.tool in _OF_ALL
    asks = call.operation == "search" or call.tool == COMMAND
    pool = DEFAULT_SPACE if pooled and asks and not elsewhere else None
    said = call.arguments.get("space")
    return said if isinstance(said, str) else pool


def _asked_in(call: ToolCall) -> UUID | None:
    """Return the conversation that a search was made as."""
    try:
        return UUID(call.arguments["conversation"])
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def _shown(call: ToolCall, token: Token | None, secrets: Secrets | None, *, is_closed: bool) -> ShownCall:
    hidden = secrets.named_by(call) if secrets is not None else ()
    if is_closed:
        return ShownCall(call, token, hidden, arguments={}, result=None)
    if secrets is not None and secrets.told_by(call):
        asked = None if secrets.said_by(call) else call.query_hash
        paths = [path for path in call.affected_paths if not secrets.needles.in_text(path)]
        return ShownCall(call, token, hidden, REDACTED, REDACTED, query_hash=asked, affected_paths=paths)
    return ShownCall(
        call,
        token,
        hidden,
        call.arguments,
        call.result,
        error=call.error,
        query_hash=call.query_hash,
        affected_paths=call.affected_paths,
    )
