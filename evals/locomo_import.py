"""Put LoCoMo conversations into a user's memory.

Each gets a space. In it a session is a conversation, a turn is a message and a memory that knows where it was said.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.orm import Session, sessionmaker

from evals.errors import MeasureError
from evals.locomo import Conversation, Turn, memory_text
from memory.conversations.conversations import open_conversation
from memory.drafts.drafts import Draft
from memory.ids import new_id
from memory.keys import Keys
from memory.messages.drafts import MessageDraft
from memory.messages.messages import Scribe, append
from memory.models import Conversation as Thread
from memory.models import Memory, Message, Space
from memory.portions import portions
from memory.spaces.spaces import create_space, get_space, update_space
from memory.storage.database import user_session
from memory.writing.remember import remember_many
from retrieval.words.tokens import count

ACTOR = "import"
BATCH = 500
# The cap on memories that a user has by default; raised for a conversation that is longer.
LEAST_CAP = 200
_SESSION_OF = re.compile(r"(.*)/session_\d+", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Counts:
    """What became of the turns. `skipped`: empty, or in the space already; `refused`: forgotten lately."""

    created: int = 0
    merged: int = 0
    refused: int = 0
    skipped: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.created + other.created,
            self.merged + other.merged,
            self.refused + other.refused,
            self.skipped + other.skipped,
        )


def import_conversations(
    sessions: sessionmaker[Session],
    user_id: UUID,
    conversations: Sequence[Conversation],
    *,
    keys: Keys,
    now: datetime,
    on_progress: Callable[[int], None] = lambda _turns: None,
) -> Counts:
    """Store every turn under its id as a source id; `on_progress` is told the number of turns done.

    A turn that repeats another is merged with it, and the memory carries the ids of both. Safe to repeat: turns
    that are there already are skipped. Commits after each batch; the caller nudges the embedder.

    Raises `MeasureError`, and stores nothing, where two would be in one space, or one in a space that has another:
    turns are known by ids that are the same in all, so the one would be taken for the other, and skipped.
    """
    check_slugs(conversations)
    with user_session(sessions, user_id) as session:
        for conversation in conversations:
            _check_space(session, user_id, conversation)
    total = Counts()
    for conversation in conversations:
        slug = space_slug(conversation)
        with user_session(sessions, user_id) as session:
            fresh = _make_room(session, user_id, slug, conversation.turns, now)
        with user_session(sessions, user_id) as session:
            messages = _write_down(session, user_id, slug, conversation, keys=keys, now=now)
        skipped = len(conversation.turns) - len(fresh)
        total += Counts(skipped=skipped)
        on_progress(skipped)
        for batch in portions(fresh, BATCH):
            with user_session(sessions, user_id) as session:
                total += _store(session, user_id, slug, batch, messages, keys=keys, now=now)
            on_progress(len(batch))
    return total


def space_slug(conversation: Conversation) -> str:
    """Return the slug of the conversation's space, at most 64 characters."""
    return re.sub(r"[^a-z0-9._-]+", "-", conversation.name.lower()).strip("._-")[:64].strip("._-") or "locomo"


def check_slugs(conversations: Sequence[Conversation]) -> None:
    """Refuse conversations that would be in one space, and found as if they were one."""
    names: dict[str, str] = {}
    for each in conversations:
        slug = space_slug(each)
        if slug in names:
            raise MeasureError(f"the talks {names[slug]!r} and {each.name!r} would be in one space, {slug}")
        names[slug] = each.name


def _check_space(session: Session, user_id: UUID, conversation: Conversation) -> None:
    """Refuse a conversation whose space has another that was imported."""
    slug = space_slug(conversation)
    external_ids = session.scalars(
        select(Thread.external_id)
        .join(Space, (Space.user_id == Thread.user_id) & (Space.id == Thread.space_id))
        .where(Thread.user_id == user_id, Space.slug == slug, Thread.external_id.is_not(None))
        .order_by(Thread.id)
    )
    found = filter(None, (_SESSION_OF.fullmatch(str(each)) for each in external_ids))
    if others := [each[1] for each in found if each[1] != conversation.name]:
        raise MeasureError(f"the talk {conversation.name!r} would be in the space {slug}, which has {others[0]!r}")


def _store(
    session: Session,
    user_id: UUID,
    slug: str,
    turns: Sequence[Turn],
    messages: Mapping[str, UUID],
    *,
    keys: Keys,
    now: datetime,
) -> Counts:
    drafts = [
        Draft(
            memory_text(turn),
            type="note",
            source_ids=(turn.dia_id,),
            created_at=turn.said_at,
            source_message_id=messages[turn.dia_id],
        )
        for turn in turns
    ]
    outcomes = remember_many(session, user_id, slug, drafts, keys=keys, now=now, actor=ACTOR)
    seen = Counter(outcome.outcome for outcome in outcomes)
    return Counts(seen["created"], seen["merged"], seen["refused"])


def _write_down(
    session: Session, user_id: UUID, slug: str, conversation: Conversation, *, keys: Keys, now: datetime
) -> dict[str, UUID]:
    """Append what the conversations of the sessions lack, and return the message of each turn that says something."""
    space = get_space(session, user_id, slug)
    scribe = Scribe(keys, count, now, ACTOR, str(new_id()))
    found: dict[str, UUID] = {}
    for number, turns in groupby(conversation.turns, key=attrgetter("session")):
        said = [turn for turn in turns if turn.text.strip()]
        if not said:
            continue
        kept, _ = open_conversation(
            session,
            user_id,
            space,
            external_id=f"{conversation.name}/session_{number}",
            title=f"{conversation.name}, session {number}",
            created_at=said[0].said_at,
            within=space.id,
            now=now,
            actor=ACTOR,
        )
        known = _message_ids(session, kept)
        drafts = [_to_message(turn, conversation) for turn in said if turn.dia_id not in known]
        if drafts:
            append(session, user_id, kept.id, drafts, scribe)
            known = _message_ids(session, kept)
        found |= known
    return found


def _message_ids(session: Session, conversation: Thread) -> dict[str, UUID]:
    rows = session.execute(
        select(Message.client_id, Message.id).where(
            Message.user_id == conversation.user_id,
            Message.conversation_id == conversation.id,
            Message.client_id.is_not(None),
        )
    )
    return {str(client_id): message_id for client_id, message_id in rows}


def _to_message(turn: Turn, conversation: Conversation) -> MessageDraft:
    """Return a turn as a message: who speaks first in all is the user, and the names of both stay in the text."""
    role = "user" if turn.speaker == conversation.turns[0].speaker else "assistant"
    return MessageDraft(role, memory_text(turn), client_id=turn.dia_id, created_at=turn.said_at)


def _make_room(session: Session, user_id: UUID, slug: str, turns: Sequence[Turn], now: datetime) -> list[Turn]:
    """Return the turns that the space lacks, after making it, or raising its soft cap, so that none is trimmed."""
    space = session.scalar(select(Space).where(Space.user_id == user_id, Space.slug == slug))
    if space is None:
        space = create_space(session, user_id, slug, soft_cap=LEAST_CAP, now=now, actor=ACTOR)
    known = _source_ids(session, space)
    fresh = [turn for turn in turns if turn.text.strip() and turn.dia_id not in known]
    needed = (space.documents or 0) + len(fresh)
    if needed > space.soft_cap:
        update_space(session, user_id, slug, {"soft_cap": needed}, now=now, actor=ACTOR)
    return fresh


def _source_ids(session: Session, space: Space) -> set[str]:
    statement = select(func.unnest(Memory.source_ids)).where(
        Memory.user_id == space.user_id, Memory.space_id == space.id, Memory.status == "active"
    )
    return set(session.scalars(statement))
