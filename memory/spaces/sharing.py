"""Sharing: the memories of a space that have a tag are found in another space as well, where their owner says so.

They stay where they are. Who takes the tag off, or the memory out of the space, has stopped it in the same moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Select, delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session, aliased

from memory.drafts.drafts import MAX_TAG_LENGTH, check_words, without_blanks
from memory.errors import ConflictError, InvalidError, NotFoundError
from memory.models import Memory, Share, Space, Theme
from memory.record.journal import record
from memory.spaces.spaces import get_space, lock_space

# Each of them is one more search in the space that finds them.
MOST_FOUND = 8


@dataclass(frozen=True, slots=True)
class Shared:
    """What of another space a search finds as well: the memories of the space `space_id` that have a tag."""

    space_id: UUID
    slug: str
    tag: str


@dataclass(frozen=True, slots=True)
class Sharing:
    """One share as people read it: whose memories, with which tag, and where they are found; slugs of spaces."""

    space: str
    tag: str
    found_in: str


def check_tag(tag: str) -> None:
    """Refuse what is no tag of a memory; raises `InvalidError` on `tag`."""
    check_words("tag", (tag,), 1, MAX_TAG_LENGTH)


def share(session: Session, user_id: UUID, slug: str, tag: str, found_in: str, *, now: datetime, actor: str) -> Sharing:
    """Let the memories of a space that have a tag, in this spelling, be found in another one; may be said again.

    Raises `InvalidError` on `tag`, on `space` or on `found_in`, and `ConflictError` where `MOST_FOUND` are found there
    already.
    """
    tag = without_blanks(tag)
    check_tag(tag)
    space = get_space(session, user_id, slug)
    if found_in == slug:
        raise InvalidError("found_in", "must be another space than the one that is shared from")
    try:
        # Locked, so that two who share at once do not both come to be the last.
        target = lock_space(session, user_id, found_in)
    except InvalidError as error:
        raise InvalidError("found_in", f"must be a space: {error.message}") from None
    row = {"user_id": user_id, "space_id": space.id, "tag": tag, "found_in": target.id, "created_at": now}
    added = session.scalar(insert(Share).values(row).on_conflict_do_nothing().returning(Share.tag))
    if added is not None:
        there = select(func.count()).where(Share.user_id == user_id, Share.found_in == target.id)
        if (session.scalar(there) or 0) > MOST_FOUND:
            raise ConflictError(f"in the space {found_in!r} {MOST_FOUND} shares are found already", "found_in")
        details = {"space": slug, "found_in": found_in}
        record(session, user_id, "space.shared", actor=actor, now=now, subject_id=space.id, details=details)
    return Sharing(slug, tag, found_in)


def unshare(session: Session, user_id: UUID, sharing: Sharing, *, now: datetime, actor: str) -> None:
    """Stop a share; raises `NotFoundError` where there is none."""
    slugs = select(Space.slug, Space.id).where(
        Space.user_id == user_id, Space.slug.in_([sharing.space, sharing.found_in])
    )
    ids = {row.slug: row.id for row in session.execute(slugs)}
    mine = (Share.user_id == user_id, Share.tag == without_blanks(sharing.tag))
    between = (Share.space_id == ids.get(sharing.space), Share.found_in == ids.get(sharing.found_in))
    gone = session.scalar(delete(Share).where(*mine, *between).returning(Share.space_id))
    if gone is None:
        raise NotFoundError("there is no such share")
    details = {"space": sharing.space, "found_in": sharing.found_in}
    record(session, user_id, "space.unshared", actor=actor, now=now, subject_id=gone, details=details)


def sharings(session: Session, user_id: UUID, space_id: UUID) -> Sequence[Sharing]:
    """Return what is shared from a space, then what is found in it, each in the order of the other's name and tag."""
    space, target = aliased(Space), aliased(Space)
    statement = (
        select(space.slug, Share.tag, target.slug)
        .join(space, (space.user_id == Share.user_id) & (space.id == Share.space_id))
        .join(target, (target.user_id == Share.user_id) & (target.id == Share.found_in))
        .where(Share.user_id == user_id, (Share.space_id == space_id) | (Share.found_in == space_id))
        .order_by(Share.space_id != space_id, space.slug, target.slug, Share.tag)
    )
    return [Sharing(*row) for row in session.execute(statement)]


def shared_ids(session: Session, user_id: UUID, shared: Shared, *, now: datetime) -> Sequence[UUID]:
    """Return which memories a share lets be found: the active ones that have its tag."""
    return session.scalars(_found_by(user_id, shared, now)).all()


def shares_theme(session: Session, user_id: UUID, shared: Sequence[Shared], slug: str, *, now: datetime) -> bool:
    """Tell whether a memory that these shares let be found has the theme of this slug."""
    theme = select(Theme.id).where(Theme.user_id == user_id, Theme.slug == slug).scalar_subquery()
    of_it = (_found_by(user_id, each, now).where(Memory.theme_id == theme).limit(1) for each in shared)
    return any(session.scalar(found) is not None for found in of_it)


def _found_by(user_id: UUID, shared: Shared, now: datetime) -> Select[UUID]:
    tagged = func.memories_tagged(shared.tag, None).column_valued("tagged")
    mine = (Memory.user_id == user_id, Memory.space_id == shared.space_id, Memory.status == "active")
    return select(Memory.id).where(Memory.id.in_(select(tagged)), *mine, Memory.unexpired(now))


def found_in_of(session: Session, memory: Memory) -> Sequence[Sharing]:
    """Return the shares by which a memory is found in other spaces, were it active."""
    target = aliased(Space)
    statement = (
        select(Space.slug, Share.tag, target.slug)
        .join(Space, (Space.user_id == Share.user_id) & (Space.id == Share.space_id))
        .join(target, (target.user_id == Share.user_id) & (target.id == Share.found_in))
        .where(Share.user_id == memory.user_id, Share.space_id == memory.space_id, Share.tag.in_(memory.tags))
        .order_by(target.slug, Share.tag)
    )
    return [Sharing(*row) for row in session.execute(statement)]
