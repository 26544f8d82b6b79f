"""Themes: what memories are filed under, in any space."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, func, or_, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session, aliased

from memory.cursors import unknown_cursor
from memory.errors import ConflictError, InvalidError, NotFoundError
from memory.ids import new_id
from memory.models import AuditEvent, Memory, Space, Theme
from memory.record.journal import record
from memory.spaces.spaces import SLUG, check_slug, lock_spaces

_CURSOR = re.compile(rf"(\d{{1,9}}):({SLUG.pattern})", re.ASCII)


def list_themes(
    session: Session,
    user_id: UUID,
    *,
    space_id: UUID | None = None,
    outside: Collection[str] = (),
    named: str = "",
    most: int | None = None,
    after: tuple[int, str] | None = None,
) -> Sequence[tuple[Theme, int]]:
    """Return the user's themes with the number of active memories in each, the fullest first, `most` at most.

    With `space_id` only memories of that space count, and only themes that it has: another space's themes would
    tell what is in it. `outside` are the slugs of spaces of which none counts, and of which no theme is listed that
    has memories there alone. `named` is a part of the slug or the name, in any case; `after` is the number and
    the slug of the theme that those of the next page follow.
    """
    # Counts only columns that the index of themes has, so that the memories themselves are not read.
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
    if after is not None:
        number, slug = after
        statement = statement.having(or_(total < number, (total == number) & (Theme.slug > slug)))
    if named:
        called = (name.icontains(named, autoescape=True) for name in (Theme.slug, Theme.display_name))
        statement = statement.where(or_(*called))
    return [(theme, count) for theme, count in session.execute(statement)]


@dataclass(frozen=True, slots=True)
class ThemePage:
    """Some themes with the number of active memories in each, and the cursor of the next page (None at the end)."""

    themes: Sequence[tuple[Theme, int]]
    next_cursor: str | None


def page_themes(
    session: Session,
    user_id: UUID,
    *,
    space_id: UUID | None,
    outside: Collection[str],
    limit: int,
    cursor: str | None,
) -> ThemePage:
    """Return a page of the themes that `list_themes` returns; raises `InvalidError` for a cursor that is none."""
    after = None if cursor is None else _after(cursor)
    found = list_themes(session, user_id, space_id=space_id, outside=outside, most=limit + 1, after=after)
    shown = found[:limit]
    return ThemePage(shown, f"{shown[-1][1]}:{shown[-1][0].slug}" if len(found) > limit else None)


def _after(cursor: str) -> tuple[int, str]:
    """Return what a cursor says: the number of memories and the slug of the last theme of a page."""
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        raise unknown_cursor()
    return int(found[1]), found[2]


def _spaces_called(user_id: UUID, slugs: Collection[str]) -> Select[UUID]:
    return select(Space.id).where(Space.user_id == user_id, Space.slug.in_(slugs))


def _seen_outside(user_id: UUID, outside: Collection[str]) -> list[ColumnElement[bool]]:
    """Return the condition that a theme has a memory in another space than these, or was never used by any.

    A theme without memories that somebody did not add by itself is not seen: the memory that brought it may have been
    in any space.
    """
    if not outside:
        return []
    # Aliased, as the statement may read memories itself.
    other = aliased(Memory)
    held = select(other.id).where(other.user_id == Theme.user_id, other.theme_id == Theme.id)
    elsewhere = held.where(~other.space_id.in_(_spaces_called(user_id, outside)))
    # Read for all themes at once, as no index leads to the events of one.
    mine = (AuditEvent.user_id == user_id, AuditEvent.subject_id.is_not(None))
    added = select(AuditEvent.subject_id).where(*mine, AuditEvent.action == "theme.created")
    return [or_(elsewhere.exists(), ~held.exists() & Theme.id.in_(added))]


def get_theme(
    session: Session, user_id: UUID, slug: str, *, outside: Collection[str] = (), held: bool = False
) -> Theme:
    """Return the user's theme; raises `NotFoundError`, also for one that only the spaces `outside` have memories of.

    Nobody else changes one that is `held` until the transaction ends.
    """
    mine = select(Theme).where(Theme.user_id == user_id, Theme.slug == slug)
    if held:
        mine = mine.with_for_update(key_share=True).execution_options(populate_existing=True)
    theme = session.scalar(mine.where(*_seen_outside(user_id, outside)))
    if theme is None:
        raise NotFoundError(f"there is no theme {slug!r}")
    return theme


def check_theme(
    session: Session, user_id: UUID, slug: str, *, space_id: UUID | None = None, outside: Collection[str]
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
    return {row.slug: row.id for row in rows}


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
    said = {"display_name": display_name.strip() or spoken(slug), "description": description}
    # Somebody may be adding the same one at this moment, and is waited for.
    added = insert(Theme).values({**_theme_row(user_id, slug, now), **said}).on_conflict_do_nothing().returning(Theme)
    theme = session.scalars(added).one_or_none()
    if theme is None:
        raise ConflictError(f"there is a theme {slug!r} already", "slug")
    record(session, user_id, "theme.created", actor=actor, now=now, subject_id=theme.id, details={"slug": slug})
    return theme


def describe_theme(
    session: Session, user_id: UUID, slug: str, *, display_name: str, description: str, now: datetime, actor: str
) -> Theme:
    """Say anew what a theme is called and what belongs to it; without a name it is called after its slug.

    Raises `NotFoundError`.
    """
    theme = get_theme(session, user_id, slug, held=True)
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
    # Whoever stores a memory under the theme holds its space, so no memory gets it from here on.
    lock_spaces(session, user_id)
    theme = get_theme(session, user_id, slug, outside=outside)
    filed = select(Memory.id).where(Memory.user_id == user_id, Memory.theme_id == theme.id)
    held = len(session.scalars(filed.order_by(Memory.id).with_for_update()).all())
    session.delete(theme)
    # The event is recorded without the theme's name, which would stay in the record for good.
    details = {"memories": held}
    record(session, user_id, "theme.deleted", actor=actor, now=now, subject_id=theme.id, details=details)
    session.flush()
    return held
