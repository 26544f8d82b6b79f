"""Who is an admin, and who is let in; one admin stays."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, get_args
from uuid import UUID

from sqlalchemy import Select, Text, cast, or_, select
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Session

from memory.errors import ConflictError, InvalidError, NotFoundError
from memory.models import Token, User
from memory.record.journal import record

Role = Literal["user", "admin"]
ROLES = get_args(Role)
# What only an admin may hold.
ADMIN_SCOPES = ("admin", "service")
_LAST = "this is the last admin: make somebody else one first"


def set_role(session: Session, user_id: UUID, role: str, *, now: datetime, actor: str, by: UUID | None = None) -> bool:
    """Make a user an admin or a plain user, and return whether that changed anything; needs the owner's rights.

    Who is no admin any more loses the tokens that only admins may hold. `by` is the admin who does it, whose own
    record tells of it too. Raises `InvalidError` on `role`, `NotFoundError`, and `ConflictError` for the last admin.
    """
    if role not in ROLES:
        raise InvalidError("role", f"must be one of {', '.join(ROLES)}")
    if role == "user":
        # Tokens are locked before the user, as by those who write with a token; in another order both could wait for
        # each other.
        session.execute(_held_by(user_id).with_only_columns(Token.id))
    user, is_last = _hold(session, user_id)
    if user.role == role:
        return False
    if role == "user":
        if is_last:
            raise ConflictError(_LAST, "role")
        _revoke(session, user_id, now, actor)
    user.role = role
    for whose in sorted({user_id, by or user_id}):
        details = {"role": role}
        record(session, whose, "user.role_changed", actor=actor, now=now, subject_id=user_id, details=details)
    session.flush()
    return True


def set_disabled(
    session: Session, user_id: UUID, *, disabled: bool, now: datetime, actor: str, by: UUID | None = None
) -> bool:
    """Let a user in no more, or again, and return whether that changed anything; needs the owner's rights.

    Every browser and every token of the user is refused from then on, and nothing is deleted: who is let in again finds
    all as it was, tokens included, and has to log in where a browser was refused meanwhile. `by` is as for `set_role`.
    Raises `NotFoundError`, and `ConflictError` for the last admin.
    """
    user, is_last = _hold(session, user_id)
    if (user.disabled_at is not None) == disabled:
        return False
    if disabled and is_last:
        raise ConflictError(_LAST, "disabled")
    user.disabled_at = now if disabled else None
    action = "user.disabled" if disabled else "user.enabled"
    for whose in sorted({user_id, by or user_id}):
        record(session, whose, action, actor=actor, now=now, subject_id=user_id)
    session.flush()
    return True


def hold_to_erase(session: Session, user_id: UUID) -> User:
    """Return a user, locked to be erased; needs the owner's rights.

    Raises `NotFoundError`, and `ConflictError` for the last admin while anybody else has an account.
    """
    user, is_last = _hold(session, user_id)
    if is_last and session.scalar(select(User.id).where(User.id != user_id).limit(1)) is not None:
        raise ConflictError(_LAST)
    return user


def _hold(session: Session, user_id: UUID) -> tuple[User, bool]:
    """Return a user, locked, and whether there would be no admin without this one."""
    # All admins are locked in the order of their ids: of two who take the role from each other at the same moment one
    # must stay. Their work goes on under that lock. This user alone is locked entirely from the start, so that nobody
    # who has written for them can wait for us while we wait for a stronger lock.
    rows = select(User.id).where(or_(User.role == "admin", User.id == user_id)).order_by(User.id)
    users = {each: _locked(session, each, key_share=each != user_id) for each in session.scalars(rows).all()}
    user = users.pop(user_id, None)
    if user is None:
        raise NotFoundError("there is no such user")
    others = [each for each in users.values() if each is not None and each.role == "admin" and each.disabled_at is None]
    return user, user.role == "admin" and not others


def _locked(session: Session, user_id: UUID, *, key_share: bool) -> User | None:
    """Return a user as they are now, locked; with `key_share` what is written for them goes on."""
    return session.get(User, user_id, with_for_update={"key_share": key_share}, populate_existing=True)


def only_admin(session: Session) -> UUID | None:
    """Return the only admin, whom `set_role` keeps one, None where there are more; needs the owner's rights."""
    admins = session.scalars(select(User.id).where(User.role == "admin", User.disabled_at.is_(None)).limit(2)).all()
    return admins[0] if len(admins) == 1 else None


def _held_by(user_id: UUID) -> Select[Token]:
    """Select, and lock, a user's tokens that only an admin may hold."""
    held = Token.scopes.bool_op("&&")(cast(list(ADMIN_SCOPES), ARRAY(Text)))
    mine = select(Token).where(Token.user_id == user_id, Token.revoked_at.is_(None), held)
    return mine.order_by(Token.id).with_for_update()


def _revoke(session: Session, user_id: UUID, now: datetime, actor: str) -> None:
    for token in session.scalars(_held_by(user_id)):
        token.revoked_at = now
        record(session, user_id, "token.revoked", actor=actor, now=now, subject_id=token.id)
