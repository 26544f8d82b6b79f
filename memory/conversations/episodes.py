"""Episodes: a user's message with the reply to it, written in the transaction that stores the reply.

Messages of the user that follow one another before the reply are one turn, and so is all that the assistant says
before the user speaks again. Calls of tools, their results and system messages in between belong to no episode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from memory.embedding.queue import enqueue
from memory.ids import new_id
from memory.models import Conversation, Episode, Message
from memory.storage.shelves import EPISODES

# Characters. Of a longer turn, its beginning and its end are kept: the question and what it came to.
LONGEST_TEXT = 64_000
LONGEST_SEARCHED = 8_000
# What the turn before adds to what is searched. More would crowd out the turn itself, of which a small embedding
# model reads a few hundred words.
LONGEST_CONTEXT = 300
# A user may talk for long without an answer; a turn begins with so many messages of theirs.
MOST_WAITING = 50
_LEFT_OUT = "\n…\n"

# Returns what the author of a message said: its text without what was recalled from here.
Own = Callable[[Message], str]


def write_episodes(
    session: Session, conversation: Conversation, before: int, messages: Sequence[Message], own: Own, now: datetime
) -> list[UUID]:
    """Begin or extend the episodes that these messages make, all after the sequence number `before`.

    Returns the ids of the episodes that are new or changed, and asks for their vectors. The conversation is locked
    and the messages are flushed; the caller commits, then nudges the embedder.
    """
    if not any(_speaks(message) for message in messages):
        return []
    waiting = _waiting(session, conversation, before)
    newest = _newest(session, conversation)
    changed: dict[UUID, None] = {}
    for message in messages:
        if message.role == "user":
            waiting.append(message)
        elif _speaks(message):
            if waiting:
                newest = _begun(waiting[:MOST_WAITING], message, newest, own)
                session.add(newest)
                waiting = []
            elif newest is not None:
                _extend(newest, message, own)
            if newest is not None:
                changed[newest.id] = None
    session.flush()
    enqueue(session, conversation.user_id, list(changed), now, shelf=EPISODES)
    return list(changed)


def rewrite_episode(session: Session, message: Message, own: Own, now: datetime) -> list[UUID]:
    """Write the episode of a changed message anew, and the next one, to whose context it belongs; return their ids."""
    episode = _episode_of(session, message)
    if episode is None:
        return []
    following = session.scalar(
        _episodes(message.user_id, message.conversation_id).where(Episode.previous_id == episode.id).limit(1)
    )
    changed = [episode, *([following] if following is not None else [])]
    for one in changed:
        _tell(one, _turn(session, one), _previous(session, one), own)
        session.flush()
    ids = [one.id for one in changed]
    enqueue(session, message.user_id, ids, now, shelf=EPISODES)
    return ids


def _speaks(message: Message) -> bool:
    return message.role == "assistant" and message.content != ""


def _messages(user_id: UUID, conversation_id: UUID) -> Select[Message]:
    return select(Message).where(Message.user_id == user_id, Message.conversation_id == conversation_id)


def _replies(user_id: UUID, conversation_id: UUID) -> Select[Message]:
    return _messages(user_id, conversation_id).where(Message.role == "assistant", Message.content != "")


def _episodes(user_id: UUID, conversation_id: UUID) -> Select[Episode]:
    return select(Episode).where(Episode.user_id == user_id, Episode.conversation_id == conversation_id)


def _waiting(session: Session, conversation: Conversation, before: int) -> list[Message]:
    """Return the user's messages up to `before` that have had no reply, the oldest first."""
    scope = (conversation.user_id, conversation.id)
    # Read from the end by the index of sequence numbers, which stops at the first that fits.
    replies = _replies(*scope).with_only_columns(Message.sequence).where(Message.sequence <= before)
    replied = session.scalar(replies.order_by(Message.sequence.desc()).limit(1)) or 0
    since = _messages(*scope).where(Message.role == "user", Message.sequence > replied, Message.sequence <= before)
    return list(session.scalars(since.order_by(Message.sequence).limit(MOST_WAITING)))


def _newest(session: Session, conversation: Conversation) -> Episode | None:
    statement = _episodes(conversation.user_id, conversation.id).order_by(Episode.id.desc()).limit(1)
    # The embedder marks rows of its own accord: what the session has seen of them may be stale.
    return session.scalar(statement.execution_options(populate_existing=True))


def _begun(turn: Sequence[Message], reply: Message, previous: Episode | None, own: Own) -> Episode:
    first = turn[0]
    episode = Episode(
        user_id=first.user_id,
        id=_id_after(previous),
        conversation_id=first.conversation_id,
        message_id=first.id,
        reply_id=reply.id,
        previous_id=previous.id if previous else None,
        version=0,
        needs_enrichment=True,
        created_at=first.created_at,
    )
    _tell(episode, [*turn, reply], previous, own)
    return episode


def _id_after(previous: Episode | None) -> UUID:
    """Return a new id that sorts after the newest of the conversation, whatever the clock of its writer said."""
    fresh = new_id()
    return fresh if previous is None or fresh > previous.id else UUID(int=previous.id.int + 1)


def _tell(episode: Episode, turn: Sequence[Message], previous: Episode | None, own: Own) -> None:
    """Write the texts of an episode from its messages."""
    context = [_ending(previous.searched)] if previous is not None else []
    episode.text = _bounded(_lines(turn, lambda message: message.content), LONGEST_TEXT)
    episode.searched = _bounded([*context, *_lines(turn, own)], LONGEST_SEARCHED)
    _mark_changed(episode)


def _extend(episode: Episode, message: Message, own: Own) -> None:
    """Add what the assistant went on to say, while there is room."""
    text = _bounded([episode.text, *_lines([message], lambda said: said.content)], LONGEST_TEXT)
    searched = _bounded([episode.searched, *_lines([message], own)], LONGEST_SEARCHED)
    if (text, searched) != (episode.text, episode.searched):
        episode.text, episode.searched = text, searched
        _mark_changed(episode)


def _mark_changed(episode: Episode) -> None:
    episode.version += 1
    episode.needs_embedding = episode.needs_enrichment = True


def _lines(messages: Iterable[Message], content: Own) -> list[str]:
    told = ((message.role, content(message)) for message in messages)
    return [f"{role}: {text}" for role, text in told if text.strip()]


def _bounded(lines: Sequence[str], most: int) -> str:
    """Return lines as one text of at most `most` characters, the middle left out where it is longer."""
    text = "\n".join(line for line in lines if line)
    if len(text) <= most:
        return text
    half = (most - len(_LEFT_OUT)) // 2
    return f"{text[:half]}{_LEFT_OUT}{text[-half:]}"


def _ending(text: str) -> str:
    """Return the end of a text, beginning with a whole word, for the turn that follows it."""
    if len(text) <= LONGEST_CONTEXT:
        return text
    cut = text[-LONGEST_CONTEXT:]
    return cut.partition(" ")[2] or cut


def _episode_of(session: Session, message: Message) -> Episode | None:
    """Return the episode in whose turn a message stands: the one of the first of the user's messages before it."""
    scope = (message.user_id, message.conversation_id)
    asked = _messages(*scope).where(Message.role == "user", Message.sequence <= message.sequence)
    last = session.scalar(asked.order_by(Message.sequence.desc()).limit(1))
    if last is None:
        return None
    replies = _replies(*scope).with_only_columns(Message.sequence).where(Message.sequence < last.sequence)
    replied = session.scalar(replies.order_by(Message.sequence.desc()).limit(1)) or 0
    first = session.scalar(asked.where(Message.sequence > replied).order_by(Message.sequence).limit(1))
    if first is None:
        return None
    found = select(Episode).where(Episode.user_id == message.user_id, Episode.message_id == first.id)
    return session.scalar(found.execution_options(populate_existing=True))


def _turn(session: Session, episode: Episode) -> list[Message]:
    """Return the messages that an episode tells: the user's up to the reply, then the assistant's up to the next."""
    first, reply = (session.get_one(Message, (episode.user_id, i)) for i in (episode.message_id, episode.reply_id))
    scope = (episode.user_id, episode.conversation_id)
    after = _messages(*scope).with_only_columns(Message.sequence)
    after = after.where(Message.role == "user", Message.sequence > reply.sequence)
    end = session.scalar(after.order_by(Message.sequence).limit(1))
    asked = _messages(*scope).where(
        Message.role == "user", Message.sequence >= first.sequence, Message.sequence < reply.sequence
    )
    said = _replies(*scope).where(Message.sequence >= reply.sequence)
    if end is not None:
        said = said.where(Message.sequence < end)
    return [
        *session.scalars(asked.order_by(Message.sequence).limit(MOST_WAITING)),
        *session.scalars(said.order_by(Message.sequence)),
    ]


def _previous(session: Session, episode: Episode) -> Episode | None:
    return session.get(Episode, (episode.user_id, episode.previous_id)) if episode.previous_id else None
