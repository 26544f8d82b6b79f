"""Spaces and themes: the divisions of a user's notebook."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, func, or_, select, union
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session, aliased

from memory.errors import ConflictError, InvalidError, NotFoundError
from memory.ids import among, new_id
from memory.incognito import follow_defaults
from memory.journal import record
from memory.models import AuditEvent, Memory, Space, Theme

DEFAULT_SPACE = "default"
LONGEST_RETENTION = 36_500  # days
_ATTEMPTS = 5
# Names that stand beside the spaces in addresses: /v1/spaces/policies.
RESERVED = frozenset({"policies"})
SLUG = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?")
EDITABLE = ("name", "memory_enabled", "incognito_default", "soft_cap", "retention_days", "policy")


def get_space(session: Session, user_id: UUID, slug: str) -> Space:
    """Return the user's space; raises `InvalidError` on the field `space` when there is none."""
    mine = select(Space).where(Space.user_id == user_id, Space.slug == slug)
    # What cannot be a name is not asked for: no column holds all that somebody may send.
    space = session.scalar(mine) if SLUG.fullmatch(slug) else None
    if space is None:
        raise InvalidError("space", f"there is no space {slug!r}")
    return space


def lock_space(session: Session, user_id: UUID, slug: str) -> Space:
    """Return the user's space, locked until the transaction ends.

    Every write to a space takes this lock first, so that writers of one space follow one another, the look-up of
    duplicates included, and no two of them wait for each other.
    """
    statement = select(Space).where(Space.user_id == user_id, Space.slug == slug).with_for_update(key_share=True)
    space = session.scalar(statement.execution_options(populate_existing=True))
    if space is None:
        raise InvalidError("space", f"there is no space {slug!r}")
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


def list_spaces(session: Session, user_id: UUID) -> Sequence[Space]:
    """Return the user's spaces, the default first."""
    statement = select(Space).where(Space.user_id == user_id).order_by(Space.slug != DEFAULT_SPACE, Space.slug)
    return session.scalars(statement).all()


def create_space(
    session: Session, user_id: UUID, slug: str, *, soft_cap: int, now: datetime, actor: str, **fields: Any
) -> Space:
    """Add a space; raises `InvalidError` for a bad field and `ConflictError` when the slug is taken."""
    check_slug(slug)
    if slug in RESERVED:
        raise InvalidError("slug", f"{slug!r} is the address of something else")
    taken = select(Space.id).where(Space.user_id == user_id, Space.slug == slug)
    if session.scalar(taken) is not None:
        raise ConflictError(f"there is a space {slug!r} already", "slug")
    space = Space(user_id=user_id, slug=slug, soft_cap=soft_cap)
    space.created_at = space.updated_at = now
    _apply(space, {**fields, "name": fields.get("name") or slug})
    session.add(space)
    session.flush()
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
    _apply(space, changes)
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


def _apply(space: Space, changes: Mapping[str, Any]) -> None:
    for field, value in changes.items():
        if field not in EDITABLE:
            raise InvalidError(field, "cannot be set")
        if field == "soft_cap" and not 1 <= value <= 10_000_000:
            raise InvalidError(field, "must be between 1 and 10,000,000")
        if field == "retention_days" and not 0 <= value <= LONGEST_RETENTION:
            raise InvalidError(field, f"must be between 1 and {LONGEST_RETENTION:,} days, or 0 for ever")
        if field == "name" and not 1 <= len(value.strip()) <= 200:
            raise InvalidError(field, "must be between 1 and 200 characters")
        setattr(space, field, value)


def check_slug(slug: str, field: str = "slug") -> None:
    """Refuse what is not lower-case letters, digits, dots, dashes and underscores, 64 at most."""
    if not SLUG.fullmatch(slug):
        raise InvalidError(field, "must be 1 to 64 lower-case letters, digits, dots, dashes or underscores")


def list_themes(
    session: Session,
    user_id: UUID,
    *,
    space_id: UUID | None = None,
    outside: Collection[str] = (),
    named: str = "",
    most: int | None = None,
) -> Sequence[tuple[Theme, int]]:
    """Return the user's themes with the number of active memories in each, the fullest first, `most` at most.

    With `space_id` only memories of that space count, and only themes that it has: another space's themes would
    tell what is in it. `outside` are the slugs of spaces of which none counts, and of which no theme is listed that
    has memories there alone. `named` is a part of the slug or the name, in any case.
    """
    # Of columns that the index of themes has: the memories themselves need not be looked at.
    total = func.count(Memory.theme_id)
    statement = (
        select(Theme, total)
        .outerjoin(
            Memory,
            (Memory.user_id == Theme.user_id)
            & (Memory.theme_id == Theme.id)
            & (Memory.status == "active")
            & ~Memory.space_id.in_(_spaces_called(user_id, outside)),
        )
        .where(Theme.user_id == user_id, *_seen_outside(user_id, outside))
        .group_by(Theme.user_id, Theme.id)
        .order_by(total.desc(), Theme.slug)
        .limit(most)
    )
    if space_id is not None:
        statement = statement.where(Memory.space_id == space_id)
    if named:
        called = (name.icontains(named, autoescape=True) for name in (Theme.slug, Theme.display_name))
        statement = statement.where(or_(*called))
    return [(theme, count) for theme, count in session.execute(statement)]


def _spaces_called(user_id: UUID, slugs: Collection[str]) -> Select[UUID]:
    return select(Space.id).where(Space.user_id == user_id, Space.slug.in_(slugs))


def _seen_outside(user_id: UUID, outside: Collection[str]) -> list[ColumnElement[bool]]:
    """Return the condition that a theme has a memory in another space than these, or none at all.

    One that is empty was added by itself: what a memory brought and left behind may have been in any space.
    """
    if not outside:
        return []
    # By another name: the statement may read memories itself.
    other = aliased(Memory)
    held = select(other.id).where(other.user_id == Theme.user_id, other.theme_id == Theme.id)
    elsewhere = held.where(~other.space_id.in_(_spaces_called(user_id, outside)))
    # Of all themes at once: no index leads to the events of one.
    mine = (AuditEvent.user_id == user_id, AuditEvent.subject_id.is_not(None))
    added = select(AuditEvent.subject_id).where(*mine, AuditEvent.action == "theme.created")
    return [or_(elsewhere.exists(), ~held.exists() & Theme.id.in_(added))]


def get_theme(session: Session, user_id: UUID, slug: str, *, outside: Collection[str] = ()) -> Theme:
    """Return the user's theme; raises `NotFoundError`, also for one that only the spaces `outside` have memories of."""
    mine = select(Theme).where(Theme.user_id == user_id, Theme.slug == slug)
    theme = session.scalar(mine.where(*_seen_outside(user_id, outside)))
    if theme is None:
        raise NotFoundError(f"there is no theme {slug!r}")
    return theme


def check_theme(
    session: Session, user_id: UUID, slug: str, *, space_id: UUID | None = None, outside: Collection[str] = ()
) -> None:
    """Raise `InvalidError` on the field `theme` when the user has no such theme.

    With `space_id` that is one which no memory of that space has: another space's themes would tell what is in it.
    So would one that has memories in the spaces `outside` alone.
    """
    found = select(Theme.id).where(Theme.user_id == user_id, Theme.slug == slug, *_seen_outside(user_id, outside))
    if space_id is not None:
        of_it = (Memory.user_id == Theme.user_id, Memory.theme_id == Theme.id, Memory.space_id == space_id)
        found = found.where(select(Memory.id).where(*of_it).exists())
    if session.scalar(found) is None:
        raise InvalidError("theme", f"there is no theme {slug!r}")


def ensure_themes(session: Session, user_id: UUID, slugs: set[str], now: datetime) -> dict[str, UUID]:
    """Return the ids of the named themes, adding those that are missing under their slug as name."""
    if not slugs:
        return {}
    for slug in slugs:
        check_slug(slug, "theme")
    # Not an ORM add: another space of the same user may be adding the same theme at this moment.
    missing = [_theme_row(user_id, slug, now) for slug in sorted(slugs)]
    session.execute(insert(Theme).values(missing).on_conflict_do_nothing())
    rows = session.execute(select(Theme.slug, Theme.id).where(Theme.user_id == user_id, Theme.slug.in_(slugs)))
    return {slug: theme_id for slug, theme_id in rows}  # noqa: C416 - a dict of rows does not type-check


def _theme_row(user_id: UUID, slug: str, now: datetime) -> dict[str, Any]:
    return {
        "user_id": user_id,
        "id": new_id(),
        "slug": slug,
        "display_name": spoken(slug),
        "created_at": now,
        "updated_at": now,
    }


def spoken(slug: str) -> str:
    """Return what a theme of this slug is called until somebody gives it another name."""
    return slug.replace("-", " ").replace("_", " ").capitalize()


def create_theme(
    session: Session,
    user_id: UUID,
    slug: str,
    *,
    now: datetime,
    actor: str,
    display_name: str = "",
    description: str = "",
) -> Theme:
    """Add a theme; raises `InvalidError` for a bad slug and `ConflictError` when it is taken."""
    check_slug(slug, "slug")
    if session.scalar(select(Theme.id).where(Theme.user_id == user_id, Theme.slug == slug)) is not None:
        raise ConflictError(f"there is a theme {slug!r} already", "slug")
    theme = Theme(
        user_id=user_id,
        slug=slug,
        display_name=display_name.strip() or spoken(slug),
        description=description,
        created_at=now,
        updated_at=now,
    )
    session.add(theme)
    session.flush()
    record(session, user_id, "theme.created", actor=actor, now=now, subject_id=theme.id, details={"slug": slug})
    return theme


def describe_theme(
    session: Session, user_id: UUID, slug: str, *, display_name: str, description: str, now: datetime, actor: str
) -> Theme:
    """Say anew what a theme is called and what belongs to it; without a name it is called after its slug.

    Raises `NotFoundError`.
    """
    theme = get_theme(session, user_id, slug)
    wanted = {"display_name": display_name.strip() or spoken(slug), "description": description}
    changed = {name: value for name, value in wanted.items() if value != getattr(theme, name)}
    if not changed:
        return theme
    for name, value in changed.items():
        setattr(theme, name, value)
    theme.updated_at = now
    details = {"slug": slug, "fields": sorted(changed)}
    record(session, user_id, "theme.changed", actor=actor, now=now, subject_id=theme.id, details=details)
    return theme


def delete_theme(
    session: Session, user_id: UUID, slug: str, *, outside: Collection[str] = (), now: datetime, actor: str
) -> int:
    """Delete a theme for good; its memories stay, without one. Returns how many these are.

    Raises `NotFoundError`, also for one that only the spaces `outside` have memories of.
    """
    # Whoever stores a memory under it holds its space.
    lock_spaces(session, user_id)
    theme = get_theme(session, user_id, slug, outside=outside)
    filed = select(Memory.id).where(Memory.user_id == user_id, Memory.theme_id == theme.id)
    held = len(session.scalars(filed.order_by(Memory.id).with_for_update()).all())
    session.delete(theme)
    # Without its name, which would stay there for good.
    details = {"memories": held}
    record(session, user_id, "theme.deleted", actor=actor, now=now, subject_id=theme.id, details=details)
    session.flush()
    return held
