"""What needs the rights of the tables' owner: looking over all users, and saying who is an admin and who is let in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from sqlalchemy.orm import Session

from memory.accounts.roles import set_disabled, set_role
from memory.errors import ConflictError
from memory.operators.jobs import retry_job
from memory.record.journal import record
from memory.storage.database import user_session
from tasks.embedding import nudge
from webapp.context import credential, runtime, session, utc_now


@contextmanager
def as_owner() -> Iterator[Session]:
    """Open a transaction as the owner of the tables, whom row-level security does not bind; commits at the end."""
    with runtime().databases.as_owner() as engine, Session(engine) as owner, owner.begin():
        yield owner


def change_role(user_id: UUID, role: str) -> bool:
    """Make a user an admin or a plain user; returns whether that changed anything."""
    who = credential()
    # What this request has locked so far would wait for the other connection, and that for it.
    session().commit()
    with as_owner() as owner:
        return set_role(owner, user_id, role, now=utc_now(), actor=f"admin:{who.user_id}", by=who.user_id)


def let_in(user_id: UUID, *, disabled: bool) -> bool:
    """Let a user in no more, or again, and return whether that changed anything.

    Raises `ConflictError` for one's own account: who is out cannot come in to let themselves in again.
    """
    who = credential()
    if disabled and user_id == who.user_id:
        raise ConflictError("this is your own account: another admin can disable it", "disabled")
    session().commit()
    with as_owner() as owner:
        return set_disabled(
            owner, user_id, disabled=disabled, now=utc_now(), actor=f"admin:{who.user_id}", by=who.user_id
        )


def retry_one(user_id: UUID, kind: str, item_id: UUID) -> None:
    """Have one job of a user tried again, and note it in the admin's own record."""
    now, who = utc_now(), credential()
    with user_session(runtime().sessions, user_id) as theirs:
        retry_job(theirs, user_id, kind, item_id, now=now)
    details = {"kind": kind, "user": str(user_id)}
    record(session(), who.user_id, "job.retried", actor=who.actor, now=now, subject_id=item_id, details=details)
    session().commit()
    nudge()
