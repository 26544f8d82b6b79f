"""Spaces: the divisions of a user's notebook that keep apart what is in them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from unicodedata import combining
from uuid import UUID

from sqlalchemy import Select, case, func, select, union
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from memory.errors import ConflictError, InvalidError, NotFoundError
from memory.ids import among
from memory.models import DEFAULT_SPACE, Memory, Space
from memory.record.journal import record
from memory.spaces.incognito import follow_defaults
from memory.texts.scripts import normal

LONGEST_RETENTION = 36_500  # days
_ATTEMPTS = 5
# Among more spaces than these nobody looks for one by eye.
MOST_OFFERED = 50
# The spaces of so many memories, the latest, are those that are used.
_LATEST = 300
# Names that stand beside the spaces in addresses: /v1/spaces/policies.
RESERVED = frozenset({"policies"})
SLUG = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?")
EDITABLE = (
    "name",
    "memory_enabled",
    "incognito_default",
    "extract_facts",
    "soft_cap",
    "retention_days",
    "roll_up",
    "policy",
)


def get_space(session: Session, user_id: UUID, slug: str) -> Space:
    """Return the user's space; raises `InvalidError` on the field `space` when there is none."""
    mine = select(Space).where(Space.user_id == user_id, Space.slug == slug)
    # What cannot be a name is not asked for: no column holds all that somebody may send.
    space = session.scalar(mine) if SLUG.fullmatch(slug) else None
    if space is None:
        raise unknown(session, user_id, slug)
    return space


def unknown(session: Session, user_id: UUID, slug: str) -> InvalidError:
    """Return what is to be raised for a name that no space of the user has.

    Where somebody gives the name that people read, as "The Studio", it says the one that is meant.
    """
    meant = slug_of(slug)
    known = meant != slug and session.scalar(select(Space.slug).where(Space.user_id == user_id, Space.slug == meant))
    return InvalidError("space", f"there is no space {slug!r}" + (f"; do you mean {known!r}?" if known else ""))


def slug_of(name: str) -> str:
    """Return a name as an address.

    >>> slug_of(" The kitchen, 2026! "), slug_of("Große Küche")
    ('the-kitchen-2026', 'grosse-kuche')
    """
    plain = "".join(each for each in normal("NFKD", name.casefold()) if not combining(each))
    return re.sub(r"[^a-z0-9]+", "-", plain)[:64].strip("-")


def lock_space(session: Session, user_id: UUID, slug: str) -> Space:
    """Return the user's space, locked until the transaction ends.

    Every write to a space takes this lock first, so that writers of one space follow one another, the look-up of
    duplicates included, and no two of them wait for each other.
    """
    statement = select(Space).where(Space.user_id == user_id, Space.slug == slug).with_for_update(key_share=True)
    space = session.scalar(statement.execution_options(populate_existing=True))
    if space is None:
        raise unknown(session, user_id, slug)
    return space


def lock_space_of(session: Session, memory: Memory, *others: UUID, says: bytes | None = None) -> Space:
    """Lock the space that a memory is in, then the memory and `others` of the user as `lock_tied` does.

    Raises `NotFoundError` when the memory was forgotten while we waited, `ConflictError` as `lock_spaces_of` does.
    """
    place = select(Memory.space_id).where(Memory.user_id == memory.user_id, Memory.id == memory.id)
    spaces = lock_spaces_of(session, memory.user_id, place)
    digests = () if says is None else (says,)
    if not spaces or memory not in lock_tied(session, memory.user_id, {memory.id, *others}, spaces, digests):
        raise NotFoundError("there is no such memory")
    return spaces[0]


def lock_tied(
    session: Session, user_id: UUID, ids: Collection[UUID], spaces: Sequence[Space], says: Collection[bytes] = ()
) -> Sequence[Memory]:
    """Lock memories and all that goes on with them, in the order of their ids, and return all of these, read anew.

    A change of a memory may change what it replaces, what replaces it and what has expired and says the same in one of
    the spaces, or what the digests `says` stand for. Whoever embeds or records locks memories in that order with no
    space, and would wait for who comes to one later. The spaces are locked by the caller, so no ties change.
    """
    mine = Memory.user_id == user_id
    known = session.execute(select(Memory.supersedes, Memory.text_digest).where(mine, among(Memory.id, ids))).all()
    older = {row.supersedes for row in known if row.supersedes is not None}
    there = (mine, Memory.space_id.in_([space.id for space in spaces]), Memory.status == "active")
    tied = union(
        select(Memory.id).where(mine, among(Memory.supersedes, ids)),
        select(Memory.id).where(*there, Memory.text_digest.in_({*says, *(row.text_digest for row in known)})),
    )
    rows = select(Memory).where(mine, among(Memory.id, {*ids, *older, *session.scalars(tied)})).order_by(Memory.id)
    return session.scalars(rows.with_for_update().execution_options(populate_existing=True)).all()


def lock_spaces_of(session: Session, user_id: UUID, places: Select[UUID], *others: UUID) -> Sequence[Space]:
    """Lock the spaces of the user that `places` reads, and `others`, in one order for everyone; return them.

    What they are read from may move to another space while we wait, and is in one of these when we return. Raises
    `ConflictError` when it is moved again and again.
    """
    for _ in range(_ATTEMPTS):
        attempt = session.begin_nested()
        spaces = lock_spaces(session, user_id, {*session.scalars(places), *others})
        if {space.id for space in spaces}.issuperset(session.scalars(places)):
            attempt.commit()
            return spaces
        # The locks go with the savepoint, as a further space may not be waited for.
        attempt.rollback()
    raise ConflictError("what this is about is being moved to another space; nothing was changed")


def lock_spaces(
    session: Session, user_id: UUID, ids: Collection[UUID] | None = None, *, wait: bool = True
) -> Sequence[Space]:
    """Return spaces of the user, all without `ids`, locked in one order for everyone.

    What is in them, or was and can be brought back, is locked after. Without `wait` those are left out that another
    transaction holds.
    """
    statement = select(Space).where(Space.user_id == user_id).order_by(Space.id)
    statement = statement.with_for_update(key_share=True, skip_locked=not wait)
    if ids is not None:
        statement = statement.where(Space.id.in_(ids))
    return session.scalars(statement.execution_options(populate_existing=True)).all()


def lock_space_by_id(session: Session, user_id: UUID, space_id: UUID, *, wait: bool = True) -> Space | None:
    """Return a space of the user, locked; None where it is gone, or, without `wait`, another transaction holds it."""
    return next(iter(lock_spaces(session, user_id, {space_id}, wait=wait)), None)


@dataclass(frozen=True, slots=True)
class SpacePage:
    """Some spaces, the default first, then by name, and the cursor of the next page (None at the end)."""

    spaces: Sequence[Space]
    next_cursor: str | None


def page_spaces(session: Session, user_id: UUID, *, limit: int, cursor: str | None = None) -> SpacePage:
    """Return a page of the user's spaces.

    No two of them share a name, so the last one of a page is its cursor.
    """
    statement = select(Space).where(Space.user_id == user_id).order_by(Space.slug != DEFAULT_SPACE, Space.slug)
    if cursor is not None:
        statement = statement.where(Space.slug != DEFAULT_SPACE)
        # Behind the default come all others, those as well whose names stand before its own.
        statement = statement if cursor == DEFAULT_SPACE else statement.where(Space.slug > cursor)
    found = session.scalars(statement.limit(limit + 1)).all()
    return SpacePage(found[:limit], found[limit - 1].slug if len(found) > limit else None)


def without_memory(session: Session, user_id: UUID) -> Sequence[str]:
    """Return the names of the user's spaces with memory off, in no order."""
    return session.scalars(select(Space.slug).where(Space.user_id == user_id, ~Space.memory_enabled)).all()


def list_spaces(session: Session, user_id: UUID) -> Sequence[Space]:
    """Return all spaces of the user, the default first."""
    statement = select(Space).where(Space.user_id == user_id).order_by(Space.slug != DEFAULT_SPACE, Space.slug)
    return session.scalars(statement).all()


def space_names(session: Session, user_id: UUID, space_ids: Collection[UUID]) -> dict[UUID, str]:
    """Return the names of these spaces of the user by their ids; those that are gone are not in it."""
    mine = select(Space.id, Space.name).where(Space.user_id == user_id, among(Space.id, space_ids))
    return {row.id: row.name for row in session.execute(mine)}


@dataclass(frozen=True, slots=True)
class SpaceOffer:
    """Spaces to choose from, the default first, then by name; how many there are in all, with how many memories."""

    spaces: Sequence[Space]
    number: int
    memories: int


def offer_spaces(session: Session, user_id: UUID, chosen: str | None) -> SpaceOffer:
    """Return all spaces of the user; of more than `MOST_OFFERED` those in which something was stored last.

    The default is among them, and the one that is `chosen`.
    """
    number, memories = func.count().over(), func.sum(Space.documents).over()
    latest = select(Memory.space_id).where(Memory.user_id == user_id)
    latest = latest.order_by(Memory.created_at.desc(), Memory.id.desc()).limit(_LATEST)
    order = (
        Space.slug.not_in([DEFAULT_SPACE, chosen or DEFAULT_SPACE]),
        # Not asked where all are offered anyway.
        case((number > MOST_OFFERED, Space.id.not_in(latest))),
        Space.updated_at.desc(),
        Space.id.desc(),
    )
    statement = select(Space, number, memories).where(Space.user_id == user_id).order_by(*order).limit(MOST_OFFERED)
    rows = session.execute(statement).all()
    spaces = sorted((space for space, _, _ in rows), key=lambda space: (space.slug != DEFAULT_SPACE, space.slug))
    return SpaceOffer(spaces, rows[0][1] if rows else 0, int(rows[0][2]) if rows else 0)


def create_space(
    session: Session, user_id: UUID, slug: str, *, soft_cap: int, now: datetime, actor: str, **fields: Any
) -> Space:
    """Add a space; raises `InvalidError` for a bad field and `ConflictError` when the slug is taken."""
    check_slug(slug)
    if slug in RESERVED:
        raise InvalidError("slug", f"{slug!r} is the address of something else")
    settings = {"soft_cap": soft_cap, **fields, "name": fields.get("name") or slug}
    _check_settings(settings)
    row = {"user_id": user_id, "slug": slug, "created_at": now, "updated_at": now, **settings}
    # Somebody may be adding the same one at this moment, and is waited for.
    added = insert(Space).values(row).on_conflict_do_nothing().returning(Space)
    space = session.scalars(added).one_or_none()
    if space is None:
        raise ConflictError(f"there is a space {slug!r} already", "slug")
    if space.incognito_default:
        follow_defaults(session, user_id)
    record(session, user_id, "space.created", actor=actor, now=now, subject_id=space.id, details={"slug": slug})
    return space


def update_space(
    session: Session, user_id: UUID, slug: str, changes: Mapping[str, Any], *, now: datetime, actor: str
) -> Space:
    """Change settings of a space; unknown fields are refused."""
    space = lock_space(session, user_id, slug)
    was_incognito, was_on = space.incognito_default, space.memory_enabled
    _check_settings(changes)
    for field, value in changes.items():
        setattr(space, field, value)
    space.updated_at = now
    if space.incognito_default and not was_incognito:
        session.flush()
        follow_defaults(session, user_id)
    details = {"slug": slug, "fields": sorted(changes)}
    record(session, user_id, "space.changed", actor=actor, now=now, subject_id=space.id, details=details)
    if space.memory_enabled != was_on:
        switched = f"memory.switched_{'on' if space.memory_enabled else 'off'}"
        record(session, user_id, switched, actor=actor, now=now, subject_id=space.id, details={"slug": slug})
    return space


def _check_settings(changes: Mapping[str, Any]) -> None:
    for field, value in changes.items():
        if field not in EDITABLE:
            raise InvalidError(field, "cannot be set")
        if field == "soft_cap" and not 1 <= value <= 10_000_000:
            raise InvalidError(field, "must be between 1 and 10,000,000")
        if field == "retention_days" and not 0 <= value <= LONGEST_RETENTION:
            raise InvalidError(field, f"must be between 1 and {LONGEST_RETENTION:,} days, or 0 for ever")
        if field == "name" and not 1 <= len(value.strip()) <= 200:
            raise InvalidError(field, "must be between 1 and 200 characters")


def check_slug(slug: str, field: str = "slug") -> None:
    """Refuse what is not lower-case letters, digits, dots, dashes and underscores, 64 at most."""
    if not SLUG.fullmatch(slug):
        raise InvalidError(field, "must be 1 to 64 lower-case letters, digits, dots, dashes or underscores")
