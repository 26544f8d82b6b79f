"""What waits for its owner to decide: pairs of memories that say nearly the same, and differ in something."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Select, func, select, tuple_
from sqlalchemy.orm import Session, aliased

from memory.cursors import check_limit, from_cursor, to_cursor
from memory.models import Memory, PossibleUpdate, Space

LARGEST_PAGE = 100


@dataclass(frozen=True, slots=True)
class Undecided:
    """Two active memories of a space, the slug of that, and what they differ in; `newer` is of the later moment."""

    newer: Memory
    older: Memory
    space: str
    differs_in: str


@dataclass(frozen=True, slots=True)
class UndecidedPage:
    """Some pairs, what was stored last first, and the cursor of the next page (None at the end)."""

    pairs: Sequence[Undecided]
    next_cursor: str | None


def list_undecided(
    session: Session,
    user_id: UUID,
    *,
    space_id: UUID | None = None,
    outside: Collection[str],
    limit: int,
    cursor: str | None,
    now: datetime,
) -> UndecidedPage:
    """Return a page of the pairs in a space, or in all but those `outside`, by their slugs.

    A pair of which one is replaced, archived or expired waits for nobody. Raises `InvalidError` on `limit` and on a
    `cursor` that is none.
    """
    check_limit(limit, LARGEST_PAGE)
    stored, other = aliased(Memory), aliased(Memory)
    statement = _pairs(user_id, space_id, outside, now, stored, other)
    # Ids tell when something was stored, so that no index is needed for the few pairs of a user.
    keys = (PossibleUpdate.memory_id, PossibleUpdate.older_id)
    if cursor is not None:
        statement = statement.where(tuple_(*keys) < from_cursor(cursor, kind=UUID))
    columns = (stored, other, Space.slug, PossibleUpdate.differs_in)
    ordered = statement.with_only_columns(*columns).order_by(*(key.desc() for key in keys)).limit(limit + 1)
    found = session.execute(ordered).all()
    pairs = [_pair(*row) for row in found[:limit]]
    last = found[limit - 1] if len(found) > limit else None
    return UndecidedPage(pairs, to_cursor(last[0].id, last[1].id) if last else None)


def count_undecided(session: Session, user_id: UUID, *, outside: Collection[str], now: datetime, most: int) -> int:
    """Return how many pairs `list_undecided` has in all, `most` at most."""
    some = _pairs(user_id, None, outside, now, aliased(Memory), aliased(Memory)).limit(most).subquery()
    return session.scalar(select(func.count()).select_from(some)) or 0


def _pairs(
    user_id: UUID, space_id: UUID | None, outside: Collection[str], now: datetime, stored: Any, other: Any
) -> Select[UUID, UUID]:
    """Return what reads the pairs; `stored` is the memory that came later, in whatever order they are of."""
    statement = (
        select(PossibleUpdate.memory_id, PossibleUpdate.older_id)
        .join(stored, (stored.user_id == PossibleUpdate.user_id) & (stored.id == PossibleUpdate.memory_id))
        .join(other, (other.user_id == PossibleUpdate.user_id) & (other.id == PossibleUpdate.older_id))
        .join(Space, (Space.user_id == stored.user_id) & (Space.id == stored.space_id))
        .where(PossibleUpdate.user_id == user_id, Space.slug.not_in(outside))
    )
    for each in (stored, other):
        statement = statement.where(each.status == "active", each.unexpired(now))
    return statement.where(stored.space_id == space_id) if space_id is not None else statement


def _pair(stored: Memory, other: Memory, space: str, differs_in: str) -> Undecided:
    # What is stored later may be of an earlier day.
    older, newer = sorted((other, stored), key=lambda each: (each.created_at, each is stored))
    return Undecided(newer, older, space, differs_in)
