"""Where something was said: links from what was learned to the message that it was learned from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from flask import url_for
from sqlalchemy import select

from memory.models import Conversation, Message, Space
from webapp.context import credential, session
from webapp.operations import incognito_spaces


@dataclass(frozen=True, slots=True)
class Place:
    """A conversation, or a message in it; the title is empty in a space that incognito keeps closed."""

    url: str
    title: str
    sequence: int | None = None


class Places:
    """The places that a page links to, looked up at once."""

    def __init__(self, conversation_ids: Iterable[UUID | None], message_ids: Iterable[UUID | None]) -> None:
        self._titles = _titles({each for each in conversation_ids if each is not None})
        self._sequences = _sequences({each for each in message_ids if each is not None})

    def of(self, conversation_id: UUID | None, message_id: UUID | None) -> Place | None:
        """Return the place of a message, of a conversation alone, or None where there is neither."""
        if conversation_id is None or conversation_id not in self._titles:
            return None
        title, sequence = self._titles[conversation_id], self._sequences.get(message_id)
        anchor = f"m-{sequence}" if sequence is not None else None
        url = url_for("conversations.show", conversation_id=conversation_id, at=sequence, _anchor=anchor)
        return Place(url, title, sequence)


def _titles(ids: set[UUID]) -> dict[UUID, str]:
    if not ids:
        return {}
    statement = (
        select(Conversation.id, Conversation.title, Space.slug)
        .join(Space, (Space.user_id == Conversation.user_id) & (Space.id == Conversation.space_id))
        .where(Conversation.user_id == credential().user_id, Conversation.id.in_(ids))
    )
    closed = incognito_spaces()
    return {each: "" if slug in closed else title for each, title, slug in session().execute(statement)}


def _sequences(ids: set[UUID]) -> dict[UUID | None, int]:
    if not ids:
        return {}
    mine = select(Message.id, Message.sequence).where(Message.user_id == credential().user_id, Message.id.in_(ids))
    return {row.id: row.sequence for row in session().execute(mine)}
