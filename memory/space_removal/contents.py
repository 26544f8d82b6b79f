"""What is in a space, and what would become of it if the space were removed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Row, Select, func, intersect, literal, or_, select
from sqlalchemy.dialects.postgresql import aggregate_order_by
from sqlalchemy.orm import Session, aliased

from memory.errors import InvalidError
from memory.ids import among
from memory.keys import Keys
from memory.lineage.summing_up import summaries_naming_any_of
from memory.models import (
    DEFAULT_SPACE,
    STATUSES,
    Conversation,
    Entity,
    Fact,
    Forgotten,
    Memory,
    Message,
    Share,
    Space,
    Token,
)
from memory.redaction.tombstones import Graveyard, graveyard, undo_ends
from memory.spaces.spaces import get_space

Plans = dict[str, dict[str, int]]
_OF_ENTITIES = {"entities_dropped", "entities_moved"}


@dataclass(frozen=True, slots=True)
class Inside:
    """The rows in a space, as far as they matter to its removal, after which they are in another, `pool`.

    `twins` are its active memories that the pool has as well, each with the pool's, where neither has expired; `lapsed`
    are those of the pool that have, and otherwise its own; `renamed` are conversations of an `external_id` that the
    pool has as well; of `forgotten` the text is still there.
    """

    memories: Sequence[Row[Any]]
    conversations: Sequence[UUID]
    tokens: Sequence[UUID]
    forgotten: Sequence[UUID]
    twins: dict[UUID, UUID]
    lapsed: frozenset[UUID]
    renamed: Sequence[UUID]


@dataclass(frozen=True, slots=True)
class Contents:
    """What is in a space. `plans` says how many of each thing each choice touches; the default space has no choice.

    `into` is the space that takes what is kept. `digest` is another one as soon as any of it changes but its entities:
    the worker finds these in what else is there, at any moment.
    """

    memories: dict[str, int]
    conversations: int
    messages: int
    episodes: int
    entities: int
    facts: int
    tokens: int
    restorable: int
    into: str
    plans: Plans
    digest: str


def contents_of(
    session: Session, user_id: UUID, space: Space, *, into: str = DEFAULT_SPACE, keys: Keys, now: datetime
) -> Contents:
    """Return what is in a space of the user, and what would become of it if the space `into` took what is kept.

    Raises `InvalidError` for an unknown space `into`, and for the space itself unless it is the default one.
    """
    pool = taker(session, user_id, space.slug, into)
    return count(session, space, pool, graveyard(session, user_id, pool.id, keys, now), now)


def taker(session: Session, user_id: UUID, slug: str, into: str) -> Space:
    """Return the space that takes what is kept of another; raises `InvalidError` where it cannot."""
    if slug == into != DEFAULT_SPACE:
        raise InvalidError("into", "must be another space than the one that goes")
    try:
        return get_space(session, user_id, into)
    except InvalidError as error:
        raise InvalidError("into", error.message) from None


def look(session: Session, space: Space, pool: Space, now: datetime) -> Inside:
    """Return what is in a space."""
    twins = _twins(session, space, pool, now)
    lapsed = {row.twin_id if row.twin_lapsed else row.id for row in twins if row.lapsed or row.twin_lapsed}
    return Inside(
        memories=session.execute(_within(space, Memory, Memory.id, Memory.status).order_by(Memory.id)).all(),
        conversations=session.scalars(_within(space, Conversation, Conversation.id).order_by(Conversation.id)).all(),
        tokens=session.scalars(_open_tokens(space)).all(),
        forgotten=session.scalars(unpurged(space, now)).all(),
        twins={row.id: row.twin_id for row in twins if not (row.lapsed or row.twin_lapsed)},
        lapsed=frozenset(lapsed),
        renamed=session.scalars(_renamed(space, pool).order_by(Conversation.id)).all(),
    )


def _within(space: Space, model: Any, *columns: Any) -> Select[*tuple[Any, ...]]:
    return select(*columns).where(model.user_id == space.user_id, model.space_id == space.id)


def _open_tokens(space: Space) -> Select[UUID]:
    return _within(space, Token, Token.id).where(Token.revoked_at.is_(None)).order_by(Token.id)


def _shares(space: Space) -> Select[int]:
    """Return what counts the shares from a space and into it."""
    either = or_(Share.space_id == space.id, Share.found_in == space.id)
    return select(func.count()).where(Share.user_id == space.user_id, either)


def _renamed(space: Space, pool: Space) -> Select[UUID]:
    taken = _within(pool, Conversation, Conversation.external_id)
    return _within(space, Conversation, Conversation.id).where(Conversation.external_id.in_(taken))


def unpurged(space: Space, now: datetime) -> Select[UUID]:
    """Return what reads the forgotten memories of a space that are not due; a purge may hold the others for minutes."""
    was_in = (Forgotten.row["space_id"].astext == str(space.id), Forgotten.purge_at > now)
    return select(Forgotten.id).where(Forgotten.user_id == space.user_id, *was_in).order_by(Forgotten.id)


def _held(memory: Any) -> ColumnElement[bool]:
    return or_(memory.pinned, memory.manually_saved)


def _has_lapsed(memory: Any, now: datetime) -> ColumnElement[bool]:
    return func.coalesce(memory.expires_at <= now, False)


_COUNTS = (func.count(), func.count().filter(~_held(Memory)))


def _twins(session: Session, space: Space, pool: Space, now: datetime) -> Sequence[Row[Any]]:
    """Return the active memories that the pool has as well.

    `id`, `held` and `lapsed` are theirs, `twin_id`, `twin_held` and `twin_lapsed` are of the pool's.
    """
    if space.id == pool.id:
        return []
    # By the index of texts alone: of all memories of both, few are the same.
    here, there = (
        select(Memory.text_digest).where(
            Memory.user_id == space.user_id, Memory.space_id == each.id, Memory.status == "active"
        )
        for each in (space, pool)
    )
    both = intersect(here, there).cte("both").prefix_with("MATERIALIZED")
    twin = aliased(Memory)
    columns = [Memory.id, _held(Memory).label("held"), _has_lapsed(Memory, now).label("lapsed")]
    columns += [twin.id.label("twin_id"), _held(twin).label("twin_held"), _has_lapsed(twin, now).label("twin_lapsed")]
    same = (twin.user_id == Memory.user_id) & (twin.space_id == pool.id) & (twin.text_digest == both.c.text_digest)
    statement = (
        _within(space, Memory, *columns)
        .join(both, both.c.text_digest == Memory.text_digest)
        .join(twin, same & (twin.status == "active"))
    )
    return session.execute(statement.where(Memory.status == "active").order_by(Memory.id)).all()


def barred(session: Session, space: Space, stones: Graveyard) -> Sequence[Row[Any]]:
    """Return the active memories, as `id` and `held`, that may not come where these tombstones stand."""
    if not stones.stones:
        return ()
    columns = (Memory.id, Memory.text, Memory.simhash, _held(Memory).label("held"))
    active = session.execute(_within(space, Memory, *columns).where(Memory.status == "active").order_by(Memory.id))
    return [row for row in active if stones.bars(row.text, row.simhash)]


def count(session: Session, space: Space, pool: Space, stones: Graveyard, now: datetime) -> Contents:
    """Return how much is in a space, with the plans and the digest; `stones` are the tombstones of the pool.

    Counted where it is stored, as it may be a lot.
    """
    memories = _memories(session, space)
    conversations = _conversations(session, space)
    facts = _facts(session, space, now)
    elsewhere = _extracted_elsewhere(session, space)
    summaries = session.scalars(summaries_elsewhere(space)).all()
    entities = session.scalar(select(func.count()).select_from(_within(space, Entity, Entity.id).subquery()))
    tokens = session.scalars(_open_tokens(space)).all()
    forgotten = session.scalars(unpurged(space, now).where(undo_ends() > now)).all()
    total = {
        "memories": sum(memories[status] for status in STATUSES),
        "active": memories["active"],
        "summaries_elsewhere": len(summaries),
        "conversations": conversations["total"],
        "messages": conversations["messages"],
        "episodes": conversations["episodes"],
        "entities": entities or 0,
        "facts": facts["total"],
        "facts_true": facts["true_now"],
        "facts_elsewhere": elsewhere,
        "tokens": len(tokens),
        "shares": session.scalar(_shares(space)) or 0,
        "forgotten": len(forgotten),
    }
    may_go = space.id != pool.id and space.slug != DEFAULT_SPACE
    plans = _plans(session, space, pool, stones, memories["loose"], total, now) if may_go else {}
    named = [[str(each) for each in ids] for ids in (tokens, forgotten, sorted(summaries))]
    chosen = [{name: many for name, many in plan.items() if name not in _OF_ENTITIES} for plan in plans.values()]
    digested = json.dumps([memories["digest"], conversations["digest"], facts["digest"], *named, str(pool.id), chosen])
    return Contents(
        memories={status: memories[status] for status in STATUSES},
        conversations=total["conversations"],
        messages=total["messages"],
        episodes=total["episodes"],
        entities=total["entities"],
        facts=total["facts"],
        tokens=total["tokens"],
        restorable=total["forgotten"],
        into=pool.slug,
        plans=plans,
        digest=hashlib.sha256(digested.encode()).hexdigest()[:32],
    )


def _memories(session: Session, space: Space) -> dict[str, Any]:
    """Return how many memories of each status there are, how many active ones are `loose`, and their `digest`."""
    active = Memory.status == "active"
    columns = (
        *(func.count().filter(Memory.status == status).label(status) for status in STATUSES),
        func.count().filter(active & ~_held(Memory)).label("loose"),
        _digest(Memory.id, Memory.status, Memory.version),
    )
    return dict(session.execute(_within(space, Memory, *columns)).mappings().one())


def _conversations(session: Session, space: Space) -> dict[str, Any]:
    columns = (
        func.count().label("total"),
        func.coalesce(func.sum(Conversation.message_count), 0).label("messages"),
        func.coalesce(func.sum(Conversation.episodes), 0).label("episodes"),
        _digest(Conversation.id, Conversation.message_count),
    )
    return dict(session.execute(_within(space, Conversation, *columns)).mappings().one())


def _facts(session: Session, space: Space, now: datetime) -> dict[str, Any]:
    columns = (
        func.count().label("total"),
        func.count().filter(Fact.valid_until.is_(None) | (Fact.valid_until > now)).label("true_now"),
        _digest(Fact.id, Fact.valid_until),
    )
    return dict(session.execute(_within(space, Fact, *columns)).mappings().one())


def summaries_elsewhere(space: Space) -> Select[UUID]:
    """Return what reads the ids of summaries in other spaces of what is here, which are forgotten with it."""
    return summaries_naming_any_of(Memory.id, space.user_id, space.id)


def _extracted_elsewhere(session: Session, space: Space) -> int:
    """Return how many facts of other spaces were extracted from conversations that are here: they go with these."""
    here = select(Conversation.id).where(Conversation.user_id == space.user_id, Conversation.space_id == space.id)
    said = select(Message.id).where(Message.user_id == space.user_id, Message.conversation_id.in_(here))
    facts = (Fact.user_id == space.user_id, Fact.extracted, Fact.space_id != space.id)
    return session.scalar(select(func.count()).where(*facts, Fact.source_message_id.in_(said))) or 0


def _digest(item_id: Any, *states: Any) -> ColumnElement[str | None]:
    """Return the digest of all rows in the order of their ids; NULL without any."""
    said = func.concat_ws(":", item_id, *states)
    listed = func.string_agg(said, aggregate_order_by(literal(","), item_id))
    return func.encode(func.sha256(func.convert_to(listed, "UTF8")), "hex").label("digest")


def _plans(
    session: Session, space: Space, pool: Space, stones: Graveyard, loose: int, total: Mapping[str, int], now: datetime
) -> Plans:
    """Return how many of each thing each choice touches, by the names that a removal answers with."""
    taken = select(func.count()).select_from(_renamed(space, pool).subquery())
    renamed = {"conversations_renamed": session.scalar(taken) or 0}
    gone = {
        "entities_dropped": total["entities"],
        "tokens_revoked": total["tokens"],
        # None goes on from or to the space that takes the rest: more would be found by it than before.
        "shares_ended": total["shares"],
    }
    kept = gone
    if pool.slug != DEFAULT_SPACE:
        kept = {"entities_moved": total["entities"], **gone, "entities_dropped": 0}
    return {
        "move": {
            **_moved(session, space, pool, stones, loose, total, now),
            "conversations_moved": total["conversations"],
            **renamed,
            "facts_moved": total["facts"],
            **kept,
        },
        "archive": {
            "memories_archived": total["active"],
            "memories_moved": total["memories"],
            "conversations_archived": total["conversations"],
            **renamed,
            "facts_moved": total["facts"],
            "facts_ended": total["facts_true"],
            **kept,
        },
        "forget": {
            "memories_forgotten": total["memories"] + total["summaries_elsewhere"],
            "restorable_dropped": total["forgotten"],
            "conversations_deleted": total["conversations"],
            "messages_deleted": total["messages"],
            "episodes_deleted": total["episodes"],
            "facts_deleted": total["facts"] + total["facts_elsewhere"],
            **gone,
        },
    }


def _moved(
    session: Session, space: Space, pool: Space, stones: Graveyard, loose: int, total: Mapping[str, int], now: datetime
) -> dict[str, int]:
    """Return what becomes of memories that are moved: merged, archived, and what goes for them as the pool is full."""
    # In place of what has expired in the pool comes what says the same.
    twins = [row for row in _twins(session, space, pool, now) if not row.twin_lapsed]
    merged = {row.id for row in twins}
    kept_away = [row for row in barred(session, space, stones) if row.id not in merged]
    coming = total["active"] - len(twins) - len(kept_away)
    loose_coming = loose - sum(not row.held for row in (*twins, *kept_away))
    expired, loose_expired = _expired(session, space, [row.id for row in (*twins, *kept_away)], now)
    return {
        "memories_moved": total["memories"] - len(twins),
        "memories_merged": len(twins),
        "memories_trimmed": _trimmed(session, pool, twins, loose_coming - loose_expired, coming - expired, now),
        **({"memories_archived": len(kept_away)} if kept_away else {}),
    }


def _expired(session: Session, space: Space, without: Sequence[UUID], now: datetime) -> tuple[int, int]:
    """Return how many other active memories of a space have expired, and how many of these nothing holds."""
    due = (Memory.status == "active", Memory.expires_at <= now, ~among(Memory.id, without))
    every, loose = session.execute(_within(space, Memory, *_COUNTS).where(*due)).one()
    return every, loose


def _trimmed(
    session: Session, pool: Space, twins: Sequence[Row[Any]], loose_coming: int, coming: int, now: datetime
) -> int:
    """Return how many memories the pool's soft cap would take after a move; what is pinned or saved stays.

    `coming` and `loose_coming` are how many active ones in force are added there, and how many of these nothing holds.
    """
    of_pool = _within(pool, Memory, *_COUNTS).where(Memory.status == "active")
    there, loose_there = session.execute(of_pool).one()
    expired, loose_expired = _expired(session, pool, (), now)
    # One that is held lends that to the pool's own that it is merged into.
    kept_now = {row.twin_id for row in twins if row.held and not row.lapsed and not row.twin_held}
    loose: int = loose_coming + loose_there - loose_expired - len(kept_now)
    return min(loose, max(0, coming + int(there) - expired - pool.soft_cap))
