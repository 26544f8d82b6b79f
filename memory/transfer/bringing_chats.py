"""Bring in chats from elsewhere as conversations: a chat at a time, each whole or not at all, and nothing twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from memory.conversations.conversations import lock_conversation, open_conversation
from memory.errors import InvalidError
from memory.messages.drafts import MAX_BATCH
from memory.messages.messages import TICK, Scribe, append_locked
from memory.models import Conversation, Message, Space
from memory.portions import portions
from memory.spaces.spaces import get_space
from memory.transfer.chat_files import Chat

_BEFORE_ALL = datetime.min.replace(tzinfo=UTC)


def latest_first(chats: Iterable[Chat]) -> list[Chat]:
    """Return those chats in which anything is said, the one that ended last first."""
    said = (chat for chat in chats if chat.messages)
    return sorted(said, key=lambda chat: chat.ended_at or _BEFORE_ALL, reverse=True)


def bring_in_chat(session: Session, user_id: UUID, slug: str, chat: Chat, scribe: Scribe) -> Counter[str]:
    """Store what a chat says that is not there; return how many `chats` are new, `continued`, `there` or `refused`.

    Messages are counted, too. A chat goes on where it was brought in before, whatever space it was moved to since; one
    that is in a space that is incognito by default is refused. It was changed when it ended, and is listed there among
    what was said here. The caller commits, and nudges the embedder. Raises `InvalidError` for an unknown space, and for
    one that is incognito by default.
    """
    space = get_space(session, user_id, slug)
    if space.incognito_default:
        raise InvalidError("space", f"{slug!r} stores nothing: it is incognito by default")
    conversation, new = open_conversation(
        session,
        user_id,
        space,
        external_id=chat.id,
        title=chat.title,
        created_at=chat.created_at or chat.messages[0].created_at,
        now=scribe.now,
        actor=scribe.actor,
    )
    if not new:
        conversation = lock_conversation(session, user_id, conversation.id)
        if session.get_one(Space, (user_id, conversation.space_id)).incognito_default:
            return Counter(refused=1)
    there = _known(session, conversation)
    said = [draft for draft in chat.messages if draft.client_id not in there]
    ended_at = chat.ended_at or scribe.now
    changed_at = ended_at if new else max(ended_at, conversation.updated_at + TICK)
    for some in portions(said, MAX_BATCH):
        append_locked(session, conversation, some, scribe)
        conversation.updated_at = changed_at
    return Counter({"chats" if new else "continued" if said else "there": 1, "messages": len(said)})


def _known(session: Session, conversation: Conversation) -> set[str | None]:
    mine = (Message.user_id == conversation.user_id, Message.conversation_id == conversation.id)
    return set(session.scalars(select(Message.client_id).where(*mine)))
