"""Incognito: while it is on for a session, nothing is stored, nothing is recalled, no content is logged."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import delete, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from memory.errors import InvalidError
from memory.models import IncognitoSession, Space
from memory.record.journal import record
from memory.storage.unsynchronised import run_unsynchronised

LONGEST_KEY = 200


def start(session: Session, user_id: UUID, session_key: str, *, now: datetime, actor: str) -> None:
    """Turn incognito on for a session, and go on counting what was refused since its last end.

    One that is incognito already stays as it is.
    """
    _check_key(session_key)
    row = session.get(IncognitoSession, (user_id, session_key), with_for_update=True)
    if row is not None and row.active:
        return
    _set(session, user_id, session_key, active=True, now=now)
    record(session, user_id, "incognito.started", actor=actor, now=now)


def end(session: Session, user_id: UUID, session_key: str, *, now: datetime, actor: str) -> int:
    """Turn incognito off for a session, also where a space is so by default; returns how many writes it refused.

    A space that becomes incognito by default later is so for this session too: see `follow_defaults`.
    """
    _check_key(session_key)
    # This makes sure that there is a row to lock, so that nobody else counts in it until it was read.
    count_refusals(session, user_id, session_key, 0, now)
    refused = session.get_one(IncognitoSession, (user_id, session_key), with_for_update=True).refused_writes
    _set(session, user_id, session_key, active=False, now=now)
    _drop_silent(session, user_id)
    details = {"refused_writes": refused}
    record(session, user_id, "incognito.ended", actor=actor, now=now, details=details)
    return refused


def _check_key(session_key: str) -> None:
    if not 1 <= len(session_key) <= LONGEST_KEY:
        raise InvalidError("session", f"must be between 1 and {LONGEST_KEY} characters")


def _set(session: Session, user_id: UUID, session_key: str, *, active: bool, now: datetime) -> None:
    fresh = {"active": active, "refused_writes": 0, "ended_at": None if active else now, "started_at": now}
    statement = insert(IncognitoSession).values(user_id=user_id, session_key=session_key, **fresh)
    # A start keeps the count of refused writes, as only an end tells it; an end keeps when the session started.
    kept = "refused_writes" if active else "started_at"
    values = {name: value for name, value in fresh.items() if name != kept}
    keys = [IncognitoSession.user_id, IncognitoSession.session_key]
    session.execute(statement.on_conflict_do_update(index_elements=keys, set_=values))
    session.expire_all()


def follow_defaults(session: Session, user_id: UUID) -> None:
    """Let sessions that ended incognito follow the defaults of spaces again: an end was not said against a new one."""
    ended = (IncognitoSession.user_id == user_id) & IncognitoSession.active.is_(False)
    session.execute(update(IncognitoSession).where(ended).values(active=None))
    _drop_silent(session, user_id)


def _drop_silent(session: Session, user_id: UUID) -> None:
    """Delete the sessions that are as they would be without a row: agents name a new one for each talk.

    Those are they that follow the defaults, and those that ended while no space is incognito by default: when one
    becomes so, an end that was said before does not count.
    """
    by_default = select(Space.id).where(Space.user_id == user_id, Space.incognito_default).exists()
    said_nothing = or_(IncognitoSession.active.is_(None), IncognitoSession.active.is_(False) & ~by_default)
    mine = (IncognitoSession.user_id == user_id, IncognitoSession.refused_writes == 0, said_nothing)
    # Rows that another transaction holds are left for the next end: two that end at once would wait for each other.
    keys = select(IncognitoSession.session_key).where(*mine).with_for_update(skip_locked=True)
    gone = delete(IncognitoSession).where(IncognitoSession.user_id == user_id, IncognitoSession.session_key.in_(keys))
    run_unsynchronised(session, gone)
    session.expire_all()


def switch_of(session: Session, user_id: UUID, session_key: str) -> bool | None:
    """Return how the session's own switch stands; None where the session follows the defaults of spaces."""
    statement = select(IncognitoSession.active).where(
        IncognitoSession.user_id == user_id, IncognitoSession.session_key == session_key
    )
    return session.scalar(statement)


def is_on(switch: bool | None, space: Space | None) -> bool:
    """Tell whether a session is incognito: by its own switch, else by the space's default."""
    return space is not None and space.incognito_default if switch is None else switch


def closed_by_default(session: Session, user_id: UUID, switch: bool | None) -> Sequence[Space]:
    """Return the spaces that are incognito by their own default in a session with such a switch."""
    if switch is False:
        return ()
    return session.scalars(select(Space).where(Space.user_id == user_id, Space.incognito_default)).all()


def count_refusals(session: Session, user_id: UUID, session_key: str, writes: int, now: datetime) -> None:
    """Count writes that incognito refused; the count is all that is kept of them.

    The switch stays as it is: what one space's default refused must not turn incognito on everywhere.
    """
    statement = insert(IncognitoSession).values(
        user_id=user_id, session_key=session_key, active=None, refused_writes=writes, started_at=now
    )
    # Inserted or added to in one statement: between two, an end could remove the row that the first one found.
    keys = [IncognitoSession.user_id, IncognitoSession.session_key]
    more = {"refused_writes": IncognitoSession.refused_writes + statement.excluded.refused_writes}
    session.execute(statement.on_conflict_do_update(index_elements=keys, set_=more))
