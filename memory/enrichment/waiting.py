"""Texts that wait to be read: memories whose text is new, and episodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Row
from sqlalchemy import text as sql
from sqlalchemy.orm import Session

from memory.drafts.recalled import authored
from memory.models import DEFAULT_SPACE


@dataclass(frozen=True, slots=True)
class Item:
    """One text with the version that it has; "" if there is nothing in it to be read for."""

    id: UUID
    is_episode: bool
    version: int
    space_id: UUID
    text: str


# So long a memory waits for its vector, by which its neighbours are found.
PATIENCE = timedelta(minutes=1)

# The newest first: a backlog does not keep what was just said waiting.
_MEMORIES = sql("""
SELECT id, version, space_id, text FROM memories
WHERE user_id = :user_id AND enriched_version IS DISTINCT FROM version
  AND (expires_at IS NULL OR expires_at > :now)
  AND space_id NOT IN (SELECT s.id FROM spaces s WHERE s.user_id = :user_id AND NOT s.memory_enabled)
  AND (NOT needs_embedding OR updated_at <= :patient_since
       OR NOT EXISTS (SELECT FROM embedding_models e WHERE e.user_id = :user_id AND e.state = 'active'))
ORDER BY id DESC LIMIT :most
""")
_EPISODES = sql("""
SELECT id, version, conversation_id, message_id, reply_id FROM episodes
WHERE user_id = :user_id AND needs_enrichment ORDER BY id DESC LIMIT :most
""")
_PLACES = sql("""
SELECT c.id, c.space_id, s.slug <> :pool AND s.memory_enabled AS is_read
FROM conversations c JOIN spaces s ON s.user_id = c.user_id AND s.id = c.space_id
WHERE c.user_id = :user_id AND c.id = ANY(:ids)
""")
# From the user's first message to the last of the assistant's before the user speaks again.
_TURN = sql("""
SELECT id, content, recalled FROM messages
WHERE user_id = :user_id AND conversation_id = :conversation_id AND role IN ('user', 'assistant')
  AND sequence >= (SELECT sequence FROM messages WHERE user_id = :user_id AND id = :message_id)
  AND sequence < coalesce((
      SELECT sequence FROM messages
      WHERE user_id = :user_id AND conversation_id = :conversation_id AND role = 'user'
        AND sequence > (SELECT sequence FROM messages WHERE user_id = :user_id AND id = :reply_id)
      ORDER BY sequence LIMIT 1), 2147483647)
ORDER BY sequence
""")


def waiting_items(session: Session, user_id: UUID, most: int, *, now: datetime) -> list[Item]:
    """Return at most so many of the user's texts that wait, those of memories first.

    A memory whose vector is on its way comes after that, or after a minute; one in a space whose memory is off, once it
    is on again; one that has expired, never.
    Episodes of the pool, which has no entities, and of spaces whose memory is off come without text. Of messages
    that carry recalled text, only what their author said is left.
    """
    scope = {"user_id": user_id}
    items = [
        Item(row.id, False, row.version, row.space_id, row.text)
        for row in session.execute(_MEMORIES, {**scope, "most": most, "now": now, "patient_since": now - PATIENCE})
    ]
    episodes = session.execute(_EPISODES, {**scope, "most": most - len(items)}).all() if len(items) < most else ()
    return items + _episode_items(session, user_id, episodes, now)


def _episode_items(session: Session, user_id: UUID, episodes: Sequence[Row[Any]], now: datetime) -> list[Item]:
    if not episodes:
        return []
    ids = list({row.conversation_id for row in episodes})
    asked = {"user_id": user_id, "ids": ids, "pool": DEFAULT_SPACE}
    places = {row.id: row for row in session.execute(_PLACES, asked)}
    items = []
    for row in episodes:
        if place := places.get(row.conversation_id):
            text = _own_words(session, user_id, row, now) if place.is_read else ""
            items.append(Item(row.id, True, row.version, place.space_id, text))
    return items


def _own_words(session: Session, user_id: UUID, episode: Row[Any], now: datetime) -> str:
    turn = {
        "user_id": user_id,
        "conversation_id": episode.conversation_id,
        "message_id": episode.message_id,
        "reply_id": episode.reply_id,
    }
    texts = [
        authored(session, user_id, row.id, row.content, now=now) if row.recalled else row.content
        for row in session.execute(_TURN, turn).all()
    ]
    return "\n\n".join(text for text in texts if text.strip())
