"""Put a data set into a database: its collections in spaces, embedded, and who may not see them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from evals.dataset import Collection, DataSet, Item
from evals.errors import MeasureError
from evals.locomo_import import check_slugs, import_conversations, space_slug
from evals.throwaway import add_user
from memory.drafts.drafts import Draft
from memory.errors import InvalidError
from memory.ids import new_id
from memory.models import Memory
from memory.portions import portions
from memory.spaces.spaces import create_space, get_space
from memory.storage.database import user_session
from memory.writing.remember import remember_many
from tasks.runtime import Runtime

ACTOR = "eval"
BATCH = 500
LEAST_CAP = 200
Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a collection is kept. `held` maps each memory to the ids of the data set that it stands for.

    A memory stands for several where they say the same and were merged. `holders` is the way back: an id that is not
    in it was not stored.
    """

    user_id: UUID
    space_id: UUID
    size: int
    held: Mapping[UUID, tuple[str, ...]]
    holders: Mapping[str, UUID]
    sessions: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Placed:
    """The places by the names of their collections; `stranger` is another user, None where nobody can be added."""

    places: Mapping[str, Place]
    stranger: UUID | None


def put(
    runtime: Runtime,
    user_id: UUID,
    data: DataSet,
    *,
    now: datetime,
    alone: bool = True,
    on_progress: Progress = lambda _memories: None,
) -> Placed:
    """Store and embed a data set; raises `MeasureError` for a memory that was refused, or two talks for one space.

    `alone` says that the database is there for this alone: then a stranger is added, who keeps a copy of the first
    collection, so that there is something to mistake for another's. `on_progress` is told of memories stored.
    """
    if not data.persons:
        check_slugs([each.talk for each in data.collections if each.talk is not None])
    places = {}
    for number, collection in enumerate(data.collections):
        who = user_id if number == 0 or not data.persons else _somebody(runtime, now)
        runtime.backfill.adopt(who)
        places[collection.name] = _put(runtime, who, collection, number, now, on_progress)
    stranger = _somebody(runtime, now) if alone else None
    if stranger is not None:
        runtime.backfill.adopt(stranger)
        _put(runtime, stranger, data.collections[0], 0, now, lambda _memories: None)
    runtime.backfill.run()
    return Placed(places, stranger)


def _somebody(runtime: Runtime, now: datetime) -> UUID:
    return add_user(runtime, f"{new_id()}@example.org", now)


def _put(
    runtime: Runtime, user_id: UUID, collection: Collection, number: int, now: datetime, on_progress: Progress
) -> Place:
    if collection.talk is not None:
        import_conversations(
            runtime.sessions, user_id, [collection.talk], keys=runtime.keys, now=now, on_progress=on_progress
        )
        slug = space_slug(collection.talk)
    else:
        slug = f"{ACTOR}-{number}"
        _remember(runtime, user_id, slug, collection.items, now, on_progress)
    with user_session(runtime.sessions, user_id) as session:
        space = get_space(session, user_id, slug)
        return make_place(session, user_id, space.id, space.documents, collection.sessions or {})


def _remember(
    runtime: Runtime, user_id: UUID, slug: str, items: Sequence[Item], now: datetime, on_progress: Progress
) -> None:
    with user_session(runtime.sessions, user_id) as session:
        create_space(session, user_id, slug, soft_cap=max(LEAST_CAP, len(items)), now=now, actor=ACTOR)
    for batch in portions(items, BATCH):
        drafts = [_draft(each, now) for each in batch]
        with user_session(runtime.sessions, user_id) as session:
            told = remember_many(session, user_id, slug, drafts, keys=runtime.keys, now=now, actor=ACTOR)
        if missing := [each.id for each, outcome in zip(batch, told, strict=True) if outcome.id is None]:
            raise MeasureError(f"the memory {missing[0]!r} was not stored")
        on_progress(len(batch))


def _draft(item: Item, now: datetime) -> Draft:
    try:
        return Draft(item.text, type=item.type, source_ids=(item.id,), created_at=item.created_at or now)
    except InvalidError as error:
        # The data set's reader could not have refused it: the text was put together from several memories, or comes
        # from a file of tasks.
        raise MeasureError(f"the memory {item.id!r} cannot be stored: {error}") from None


def make_place(session: Session, user_id: UUID, space_id: UUID, size: int, sessions: Mapping[str, str]) -> Place:
    """Return the place that a space is, with what its memories were stored as."""
    mine = (Memory.user_id == user_id, Memory.space_id == space_id)
    rows = session.execute(select(Memory.id, Memory.source_ids).where(*mine))
    held = {memory_id: tuple(ids) for memory_id, ids in rows}
    holders = {each: memory_id for memory_id, ids in held.items() for each in ids}
    return Place(user_id, space_id, size, held, holders, sessions)
