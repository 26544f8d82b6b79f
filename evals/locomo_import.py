"""Put LoCoMo conversations into a user's memory: a space for each, a memory for each turn."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.orm import Session, sessionmaker

from evals.locomo import Conversation, Turn
from memory.database import user_session
from memory.drafts import Draft
from memory.keys import Keys
from memory.models import Memory, Space
from memory.remember import remember_many
from memory.spaces import create_space, update_space

ACTOR = "import"
BATCH = 500
# As a user would have it; raised where a conversation is longer.
LEAST_CAP = 200


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
    """
    total = Counts()
    for conversation in conversations:
        slug = space_slug(conversation)
        with user_session(sessions, user_id) as session:
            fresh = _make_room(session, user_id, slug, conversation.turns, now)
        skipped = len(conversation.turns) - len(fresh)
        total += Counts(skipped=skipped)
        on_progress(skipped)
        for batch in _batches(fresh):
            with user_session(sessions, user_id) as session:
                total += _store(session, user_id, slug, batch, keys=keys, now=now)
            on_progress(len(batch))
    return total


def space_slug(conversation: Conversation) -> str:
    """Return the slug of the conversation's space, at most 64 characters."""
    return re.sub(r"[^a-z0-9._-]+", "-", conversation.name.lower()).strip("._-")[:64].strip("._-") or "locomo"


def memory_text(turn: Turn) -> str:
    """Return what is remembered of a turn: who said what."""
    return f"{turn.speaker}: {turn.text}"


def _batches(turns: Sequence[Turn]) -> Iterator[Sequence[Turn]]:
    for start in range(0, len(turns), BATCH):
        yield turns[start : start + BATCH]


def _store(session: Session, user_id: UUID, slug: str, turns: Sequence[Turn], *, keys: Keys, now: datetime) -> Counts:
    drafts = [
        Draft(memory_text(turn), type="note", source_ids=(turn.dia_id,), created_at=turn.said_at) for turn in turns
    ]
    outcomes = remember_many(session, user_id, slug, drafts, keys=keys, now=now, actor=ACTOR)
    seen = Counter(outcome.outcome for outcome in outcomes)
    return Counts(seen["created"], seen["merged"], seen["refused"])


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
