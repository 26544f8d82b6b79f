"""Where a conversation stands: its last messages, its current goal, and what its context was made of. For a day.

In Redis where there is one, under `session:{user_id}:{conversation_id}`, else in the table `session_states`. The goal
is the one thing that cannot be made again, so the table always has it, and Redis a copy once it is committed; without
Redis the rest goes to the table too. Messages are checked against their conversation whenever they are read, so a copy
that is out of date is never shown; it goes with the conversation, or a day after it was last written.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from redis import Redis
from sqlalchemy import Text as SqlText
from sqlalchemy import cast, delete, func, select, text, update
from sqlalchemy.orm import Session

from memory import copies
from memory.conversations.transcript import weighed
from memory.errors import InvalidError, NotFoundError
from memory.ids import among
from memory.models import Conversation, Message, SessionState
from memory.record.journal import record
from memory.redaction.redaction import secrets_of
from memory.redaction.telling import begin_to_tell
from memory.remote.redis_link import RedisLink
from memory.texts.needles import Needles

LIFE = timedelta(hours=24)
KEPT = 20
# Read back from the newest until these are reached: messages of a megabyte must not come twenty at a time.
ENOUGH_TOKENS = 16_000
LONGEST_GOAL = 2000

# Fields of the state, in both places; `seen` says which state of the conversation the messages are of.
GOAL, MESSAGES, SEEN, SUMMARY = "goal", "messages", "seen", "summary"

_SAVE = text("""
INSERT INTO session_states (user_id, conversation_id, state, expires_at)
VALUES (:user_id, :conversation_id, CAST(:state AS jsonb), :expires_at)
ON CONFLICT (user_id, conversation_id) DO UPDATE SET
    state = CASE WHEN session_states.expires_at > :now THEN session_states.state ELSE '{}' END || excluded.state,
    expires_at = excluded.expires_at
""")

# Locked from here on: whoever sets another goal or forgets it comes after the copy that is made of it.
_PROLONG = text("""
UPDATE session_states SET expires_at = :expires_at
WHERE user_id = :user_id AND conversation_id = :conversation_id AND expires_at > :now
RETURNING state->>'goal'
""")

# A conversation that is being deleted is either seen here, and its copies are dropped after this, or gone.
_HOLD = text("SELECT 1 FROM conversations WHERE user_id = :user_id AND id = :conversation_id FOR KEY SHARE")

_LOCK = text("SELECT 1 FROM conversations WHERE user_id = :user_id AND id = ANY(:ids) ORDER BY id FOR UPDATE")


@dataclass(frozen=True, slots=True)
class Standing:
    """The goal and the last messages, oldest first: {id, sequence, role, content, token_count, created_at}.

    There are `KEPT` messages at most, and fewer where the last of them have `ENOUGH_TOKENS` already. The goal is left
    out where it says what a forgotten memory said that can still be brought back.
    """

    goal: str | None
    messages: tuple[Mapping[str, Any], ...]


class SessionStates:
    """Reads and writes states of conversations; they must be the session's user's. The caller commits."""

    def __init__(self, redis: RedisLink | None = None) -> None:
        self._redis = redis

    def standing(self, session: Session, conversation: Conversation, *, now: datetime) -> Standing:
        """Return goal and last messages as they are now, and keep the messages if they were not at hand."""
        row = self._row(session, conversation, now)
        goal, seen = _shown_goal(session, conversation, row.get(GOAL), now), _seen(conversation)
        for kept in (self._copy(conversation, SEEN, MESSAGES), row):
            if kept.get(SEEN) == seen and MESSAGES in kept:
                return Standing(goal, tuple(kept[MESSAGES]))
        messages = _last_messages(session, conversation)
        self._save(session, conversation, {SEEN: seen, MESSAGES: messages}, now)
        return Standing(goal, tuple(messages))

    def set_goal(
        self, session: Session, conversation: Conversation, goal: str | None, *, now: datetime, actor: str
    ) -> None:
        """Set what the conversation is after, or nothing with None; `copy_goal` takes it to Redis once it is committed.

        Raises `InvalidError` for a goal that is blank or longer than 2,000 characters, `NotFoundError` when the
        conversation was deleted meanwhile.
        """
        if goal is not None and not 1 <= len(goal.strip()) <= LONGEST_GOAL:
            raise InvalidError(GOAL, f"must be between 1 and {LONGEST_GOAL} characters")
        if not _hold(session, conversation):
            raise NotFoundError("there is no such conversation")
        begin_to_tell(session)
        _save_row(session, conversation, {GOAL: goal.strip() if goal is not None else None}, now)
        action = "conversation.goal_set" if goal is not None else "conversation.goal_cleared"
        record(session, conversation.user_id, action, actor=actor, now=now, subject_id=conversation.id)

    def copy_goal(self, session: Session, conversation: Conversation, *, now: datetime) -> None:
        """Copy the goal to Redis, once it is committed: an uncommitted one would stay there if the commit failed."""
        if self._redis is not None:
            self._save(session, conversation, {}, now)

    def summary(self, session: Session, conversation: Conversation, *, now: datetime) -> dict[str, Any]:
        """Return what `keep_summary` kept, {} if there is nothing."""
        for kept in (self._copy(conversation, SUMMARY), self._row(session, conversation, now)):
            if kept.get(SUMMARY):
                return dict(kept[SUMMARY])
        return {}

    def keep_summary(
        self, session: Session, conversation: Conversation, summary: Mapping[str, Any], *, now: datetime
    ) -> None:
        """Keep what the next context of the conversation can begin with."""
        self._save(session, conversation, {SUMMARY: dict(summary)}, now)

    def _row(self, session: Session, conversation: Conversation, now: datetime) -> dict[str, Any]:
        statement = select(SessionState.state).where(
            SessionState.user_id == conversation.user_id,
            SessionState.conversation_id == conversation.id,
            SessionState.expires_at > now,
        )
        return session.scalar(statement) or {}

    def _copy(self, conversation: Conversation, *fields: str) -> dict[str, Any]:
        if self._redis is None:
            return {}
        nothing: dict[str, Any] = {}
        return self._redis.ask(lambda client: _read(client, _name(**_scope(conversation)), fields), nothing)

    def _save(self, session: Session, conversation: Conversation, changes: Mapping[str, Any], now: datetime) -> None:
        if not _hold(session, conversation):
            return
        if self._redis is not None:
            goal = session.scalar(_PROLONG, {**_scope(conversation), "now": now, "expires_at": now + LIFE})
            copied = {**changes, GOAL: goal}
            if self._redis.ask(lambda client: _write(client, _name(**_scope(conversation)), copied), False):
                return
        _save_row(session, conversation, changes, now)


def drop_states(session: Session, user_id: UUID, conversation_ids: Collection[UUID]) -> None:
    """Drop all that is kept of these conversations: from the table now, from Redis when the transaction commits."""
    if not conversation_ids:
        return
    # Conversations before states, as a state is kept while its conversation is held.
    session.execute(_LOCK, {"user_id": user_id, "ids": list(conversation_ids)})
    session.execute(
        delete(SessionState).where(
            SessionState.user_id == user_id, among(SessionState.conversation_id, conversation_ids)
        )
    )
    copies.drop_after_commit(session, [_name(user_id, each) for each in conversation_ids])


def drop_goals(session: Session, needles: Needles) -> None:
    """Drop every goal that says one of the texts: from the table now, from Redis when the transaction commits.

    Works with the user whom the transaction is confined to; the caller commits.
    """
    if not needles:
        return
    goal, mine = SessionState.state[GOAL].astext, SessionState.user_id == func.app_user()
    goals = session.execute(select(SessionState.user_id, SessionState.conversation_id, goal).where(mine, goal != ""))
    said = {each: user_id for user_id, each, text_ in goals if needles.in_text(text_)}
    if said:
        found = (mine, SessionState.conversation_id.in_(said))
        # Locked in the order of their ids: two who forget at once may come to the same goals.
        session.execute(
            select(SessionState.conversation_id).where(*found).order_by(SessionState.conversation_id).with_for_update()
        )
        session.execute(
            update(SessionState).where(*found).values(state=SessionState.state.op("-")(cast(GOAL, SqlText)))
        )
        copies.drop_after_commit(session, [_name(user_id, each) for each, user_id in said.items()])


def _shown_goal(session: Session, conversation: Conversation, goal: str | None, now: datetime) -> str | None:
    if goal is None:
        return None
    secrets = secrets_of(session, conversation.user_id, now)
    return None if secrets is not None and secrets.needles.in_text(goal) else goal


def _scope(conversation: Conversation) -> dict[str, UUID]:
    return {"user_id": conversation.user_id, "conversation_id": conversation.id}


def _hold(session: Session, conversation: Conversation) -> bool:
    return session.scalar(_HOLD, _scope(conversation)) is not None


def _save_row(session: Session, conversation: Conversation, changes: Mapping[str, Any], now: datetime) -> None:
    values = {**_scope(conversation), "state": json.dumps(changes), "now": now, "expires_at": now + LIFE}
    session.execute(_SAVE, values)


def _name(user_id: UUID, conversation_id: UUID) -> str:
    return f"session:{user_id}:{conversation_id}"


def _seen(conversation: Conversation) -> list[Any]:
    return [conversation.message_count, conversation.updated_at.isoformat()]


def _last_messages(session: Session, conversation: Conversation) -> list[dict[str, Any]]:
    columns = (
        Message.id,
        Message.sequence,
        Message.role,
        Message.content,
        Message.token_count,
        Message.created_at,
    )
    mine = (Message.user_id == conversation.user_id, Message.conversation_id == conversation.id)
    last = weighed(mine, KEPT, Message.token_count, newest_first=True)
    newest = select(*columns).join(last, Message.id == last.c.id).where(*mine, last.c.before < ENOUGH_TOKENS)
    rows = session.execute(newest.order_by(Message.sequence.desc())).all()
    return [{**row._mapping, "id": str(row.id), "created_at": row.created_at.isoformat()} for row in reversed(rows)]


def _write(client: Redis, name: str, changes: Mapping[str, Any]) -> bool:
    pipeline: Any = client.pipeline(transaction=True)
    for field, value in changes.items():
        if value is None:
            pipeline.hdel(name, field)
        else:
            # A goal is a word of the user's own; the rest is JSON.
            pipeline.hset(name, field, value if isinstance(value, str) else json.dumps(value))
    pipeline.expire(name, LIFE)
    pipeline.execute()
    return True


def _read(client: Redis, name: str, fields: Sequence[str]) -> dict[str, Any]:
    found: Any = client.hmget(name, list(fields))
    try:
        return {field: json.loads(value) for field, value in zip(fields, found, strict=True) if value is not None}
    except ValueError:
        # This server did not write that; what it was a copy of is read instead.
        return {}
