"""Reading what was said: messages in their order, a page at a time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import ColumnElement, Subquery, Text, cast, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased, undefer

from memory.cursors import check_limit
from memory.drafts.payloads import LARGEST_PAYLOAD
from memory.errors import NotFoundError
from memory.models import Conversation, Episode, Message

LARGEST_PAGE = 1000
PAYLOAD_BYTES = func.coalesce(func.octet_length(cast(Message.payload, Text)), 0)


@dataclass(frozen=True, slots=True)
class MessagePage:
    """Some messages in the order asked for, and the sequence number that the next page follows (None at the end)."""

    messages: Sequence[Message]
    next_cursor: int | None


def list_messages(
    session: Session,
    user_id: UUID,
    conversation_id: UUID,
    *,
    limit: int,
    cursor: int | None,
    newest_first: bool = False,
    with_payload: bool = False,
) -> MessagePage:
    """Return a page of the messages after (or, newest first, before) the sequence number `cursor`.

    It ends before `limit` where it has as much as one message may have.
    """
    check_limit(limit, LARGEST_PAGE)
    conditions = [Message.user_id == user_id, Message.conversation_id == conversation_id]
    if cursor is not None:
        conditions.append(Message.sequence < cursor if newest_first else Message.sequence > cursor)
    size = func.octet_length(Message.content) + (PAYLOAD_BYTES if with_payload else 0)
    at_once = weighed(conditions, limit + 1, size, newest_first=newest_first)
    statement = select(Message, at_once.c.many).join(at_once, Message.id == at_once.c.id)
    statement = statement.where(Message.user_id == user_id, at_once.c.before < LARGEST_PAYLOAD)
    if with_payload:
        statement = statement.options(undefer(Message.payload))
    rows = session.execute(statement.order_by(_order(Message.sequence, newest_first)).limit(limit)).all()
    messages = [message for message, _ in rows]
    more = bool(rows) and rows[0].many > len(messages)
    return MessagePage(messages, messages[-1].sequence if more else None)


def weighed(
    conditions: Sequence[ColumnElement[bool]],
    most: int,
    size: ColumnElement[int] | InstrumentedAttribute[int],
    *,
    newest_first: bool,
) -> Subquery:
    """Return the ids of the first `most` messages, each with its size, that of those before it, and their number."""
    first = select(Message.id, Message.sequence, size.label("size")).where(*conditions)
    some = first.order_by(_order(Message.sequence, newest_first)).limit(most).subquery("some")
    before = func.sum(some.c.size).over(order_by=_order(some.c.sequence, newest_first)) - some.c.size
    columns = (some.c.id, some.c.size, before.label("before"), func.count().over().label("many"))
    return select(*columns).subquery("weighed")


def _order(sequence: ColumnElement[int] | InstrumentedAttribute[int], newest_first: bool) -> ColumnElement[int]:
    return sequence.desc() if newest_first else sequence.asc()


@dataclass(frozen=True, slots=True)
class EpisodeOf:
    """An episode of a conversation, the sequence number of the message it begins with, and the state of its vector.

    `reply` is what the assistant said first.
    """

    episode: Episode
    sequence: int
    ready: bool
    reply: str

    @property
    def turns(self) -> tuple[str, str]:
        """Return what the user said and what the assistant said, the latter empty where the middle is left out."""
        text = self.episode.text.removeprefix("user: ")
        # Compared with the whole reply, as the user's own text may have a line that begins like this.
        asked, _, rest = text.partition(f"\nassistant: {self.reply}")
        if asked == text:
            asked, _, replied = text.partition("\nassistant: ")
            return asked, replied
        return asked, f"{self.reply}{rest}"


@dataclass(frozen=True, slots=True)
class EpisodePage:
    """Some episodes in their order, and the sequence number that the next page follows (None at the end)."""

    episodes: Sequence[EpisodeOf]
    next_cursor: int | None


def list_episodes(
    session: Session, user_id: UUID, conversation_id: UUID, *, limit: int, cursor: int | None
) -> EpisodePage:
    """Return a page of the episodes that begin after the sequence number `cursor`; raises `InvalidError`."""
    check_limit(limit, LARGEST_PAGE)
    begins = (Message.user_id == Episode.user_id) & (Message.id == Episode.message_id)
    reply = aliased(Message)
    replies = (reply.user_id == Episode.user_id) & (reply.id == Episode.reply_id)
    statement = select(Episode, Message.sequence, reply.content).join(Message, begins).join(reply, replies)
    statement = statement.where(Episode.user_id == user_id, Episode.conversation_id == conversation_id)
    if cursor is not None:
        statement = statement.where(Message.sequence > cursor)
    rows = session.execute(statement.order_by(Message.sequence).limit(limit + 1)).all()
    page = [EpisodeOf(episode, sequence, not episode.needs_embedding, said) for episode, sequence, said in rows[:limit]]
    return EpisodePage(page, page[-1].sequence if len(rows) > limit else None)


def get_message(session: Session, user_id: UUID, conversation_id: UUID, message_id: UUID) -> Message:
    """Return a message of this conversation with its payload; raises `NotFoundError`."""
    message = session.get(Message, (user_id, message_id), options=[undefer(Message.payload)])
    if message is None or message.conversation_id != conversation_id:
        raise NotFoundError("there is no such message")
    return message


def payloads_of(session: Session, user_id: UUID, ids: Collection[UUID]) -> Sequence[Message]:
    """Return those of the ids that are messages of the user with their payloads, in the order of their sequence."""
    mine = select(Message).where(Message.user_id == user_id, Message.id.in_(ids)).order_by(Message.sequence)
    return session.scalars(mine.options(undefer(Message.payload))).all()


def known_messages(session: Session, user_id: UUID, ids: Collection[UUID], *, within: UUID | None) -> frozenset[UUID]:
    """Return those of the ids that are messages of the user, and of the space `within`."""
    asked = select(Message.id).where(Message.user_id == user_id, Message.id.in_(ids))
    if within is not None:
        inside = (Conversation.user_id == user_id, Conversation.id == Message.conversation_id)
        asked = asked.where(select(Conversation.id).where(*inside, Conversation.space_id == within).exists())
    return frozenset(session.scalars(asked))
