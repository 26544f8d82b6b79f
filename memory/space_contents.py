"""What is in a space, and what would become of it if the space were removed."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Row, Select, select
from sqlalchemy.orm import Session

from memory.models import STATUSES, Conversation, Entity, Forgotten, Memory, Space, Token
from memory.spaces import DEFAULT_SPACE, get_space

Plans = dict[str, dict[str, int]]


@dataclass(frozen=True, slots=True)
class Inside:
    """The rows in a space, as far as they matter to its removal.

    `twins` are its active memories that the pool has as well, each with the pool's; `renamed` are conversations of an
    `external_id` that the pool has as well; `forgotten` may still be restored.
    """

    memories: Sequence[Row[Any]]
    conversations: Sequence[Row[Any]]
    entities: Sequence[UUID]
    tokens: Sequence[UUID]
    forgotten: Sequence[UUID]
    pool: Sequence[Row[Any]]
    twins: dict[UUID, UUID]
    renamed: Sequence[UUID]


@dataclass(frozen=True, slots=True)
class Contents:
    """What is in a space. `plans` says how many of each thing each choice touches; the default space has no choice.

    `digest` is another one as soon as any of it changes.
    """

    memories: dict[str, int]
    conversations: int
    messages: int
    episodes: int
    entities: int
    tokens: int
    restorable: int
    plans: Plans
    digest: str


def contents_of(session: Session, user_id: UUID, space: Space) -> Contents:
    """Return what is in a space of the user, and what would become of it."""
    pool = get_space(session, user_id, DEFAULT_SPACE)
    return count(look(session, space, pool), space, pool)


def look(session: Session, space: Space, pool: Space) -> Inside:
    """Return what is in a space."""
    held = (Memory.pinned | Memory.manually_saved).label("held")
    columns = (Memory.id, Memory.status, Memory.version, Memory.text_digest, held)
    memories = session.execute(_within(space, Memory, *columns)).all()
    active = session.execute(_within(pool, Memory, *columns).where(Memory.status == "active")).all()
    same = {row.text_digest: row.id for row in active}
    talks = (Conversation.id, Conversation.external_id, Conversation.message_count, Conversation.episodes)
    conversations = session.execute(_within(space, Conversation, *talks)).all()
    taken = set(session.scalars(_within(pool, Conversation, Conversation.external_id)))
    return Inside(
        memories=memories,
        conversations=conversations,
        entities=session.scalars(_within(space, Entity, Entity.id)).all(),
        tokens=session.scalars(_within(space, Token, Token.id).where(Token.revoked_at.is_(None))).all(),
        forgotten=_forgotten(session, space),
        pool=active,
        twins={row.id: same[row.text_digest] for row in memories if row.status == "active" and row.text_digest in same},
        renamed=[row.id for row in conversations if row.external_id in taken],
    )


def _within(space: Space, model: Any, *columns: Any) -> Select[*tuple[Any, ...]]:
    return select(*columns).where(model.user_id == space.user_id, model.space_id == space.id).order_by(model.id)


def _forgotten(session: Session, space: Space) -> Sequence[UUID]:
    was_in = Forgotten.row["space_id"].astext == str(space.id)
    statement = select(Forgotten.id).where(Forgotten.user_id == space.user_id, was_in).order_by(Forgotten.id)
    return session.scalars(statement).all()


def count(inside: Inside, space: Space, pool: Space) -> Contents:
    """Return how much is in a space, with the plans and the digest."""
    memories = Counter(row.status for row in inside.memories)
    plans = _plans(inside, pool) if space.id != pool.id else {}
    return Contents(
        memories={status: memories[status] for status in STATUSES},
        conversations=len(inside.conversations),
        messages=sum(row.message_count for row in inside.conversations),
        episodes=sum(row.episodes for row in inside.conversations),
        entities=len(inside.entities),
        tokens=len(inside.tokens),
        restorable=len(inside.forgotten),
        plans=plans,
        digest=_digest(inside, plans),
    )


def _plans(inside: Inside, pool: Space) -> Plans:
    memories, conversations = len(inside.memories), len(inside.conversations)
    gone = {"entities_dropped": len(inside.entities), "tokens_revoked": len(inside.tokens)}
    renamed = {"conversations_renamed": len(inside.renamed)}
    active = sum(row.status == "active" for row in inside.memories)
    return {
        "move": {
            "memories_moved": memories - len(inside.twins),
            "memories_merged": len(inside.twins),
            "memories_trimmed": _trimmed(inside, pool),
            "conversations_moved": conversations,
            **renamed,
            **gone,
        },
        "archive": {"memories_archived": active, "memories_moved": memories, "conversations_archived": conversations}
        | renamed
        | gone,
        "forget": {
            "memories_forgotten": memories,
            "restorable_dropped": len(inside.forgotten),
            "conversations_deleted": conversations,
            "messages_deleted": sum(row.message_count for row in inside.conversations),
            "episodes_deleted": sum(row.episodes for row in inside.conversations),
            **gone,
        },
    }


def _trimmed(inside: Inside, pool: Space) -> int:
    """Return how many memories the pool's soft cap would take after a move; what is pinned or saved stays."""
    moved = [row for row in inside.memories if row.status == "active" and row.id not in inside.twins]
    merged_into = {inside.twins[row.id] for row in inside.memories if row.id in inside.twins and row.held}
    loose = sum(not row.held for row in moved) + sum(not row.held and row.id not in merged_into for row in inside.pool)
    return min(loose, max(0, len(moved) + len(inside.pool) - pool.soft_cap))


def _digest(inside: Inside, plans: Plans) -> str:
    rows: list[Any] = [
        [[str(row.id), row.status, row.version] for row in inside.memories],
        [[str(row.id), row.message_count] for row in inside.conversations],
        *([str(each) for each in ids] for ids in (inside.entities, inside.tokens, inside.forgotten)),
        plans,
    ]
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:32]
