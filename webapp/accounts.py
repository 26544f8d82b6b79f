"""What an account's owner may do to all of it: take everything along, and erase everything."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from flask import Response, stream_with_context
from psycopg.errors import DeadlockDetected
from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from memory.erase import Report, erase_user
from memory.errors import RefusedError
from memory.export import export_at_once
from memory.journal import record
from webapp.context import credential, local_now, runtime, session, utc_now
from webapp.operations import is_incognito

_PIECE = 64 * 1024
_ATTEMPTS = 5


def export_response() -> Response:
    """Answer everything that is kept of the caller as a download that is written while it is read.

    Raises `RefusedError` while the session is incognito, which reads nothing.
    """
    who, now = credential(), utc_now()
    if is_incognito(None):
        raise RefusedError("incognito", "this session is incognito: nothing is read")
    record(session(), who.user_id, "user.exported", actor=who.actor, now=now, subject_id=who.user_id)
    session().commit()
    # In a transaction of its own, which outlives the view.
    rows = export_at_once(runtime().sessions, who.user_id, now=utc_now())
    response = Response(stream_with_context(_in_pieces(rows)), mimetype="application/json")
    response.headers["Content-Disposition"] = f'attachment; filename="commonplace-{local_now():%Y-%m-%d}.json"'
    response.headers["Cache-Control"] = "no-store"
    return response


def _in_pieces(rows: Iterator[str]) -> Iterator[str]:
    """Put rows together, as each piece is a packet of its own."""
    held: list[str] = []
    size = 0
    for row in rows:
        held.append(row)
        size += len(row)
        if size >= _PIECE:
            yield "".join(held)
            held, size = [], 0
    yield "".join(held)


def erase_account() -> Report:
    """Erase the caller with all that is kept of them, and return the signed report."""
    user_id = credential().user_id
    # What this request has read must not be written or refreshed any more.
    session().rollback()
    session().expunge_all()
    with runtime().databases.as_owner() as engine:
        return _erase(engine, user_id)


def _erase(engine: Engine, user_id: UUID) -> Report:
    for _ in range(_ATTEMPTS - 1):
        try:
            return _erase_once(engine, user_id)
        except OperationalError as error:
            if not isinstance(error.orig, DeadlockDetected):
                raise
            # Who was at work meanwhile goes on now, and is waited for.
    return _erase_once(engine, user_id)


def _erase_once(engine: Engine, user_id: UUID) -> Report:
    with Session(engine) as owner, owner.begin():
        return erase_user(owner, user_id, keys=runtime().keys, now=utc_now())
