"""Users, passwords and tokens."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from uuid import UUID

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy import func, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from memory.errors import ConflictError, InvalidError, NotFoundError
from memory.ids import new_id
from memory.models import DEFAULT_SPACE, AuditEvent, Token, User
from memory.record.journal import record
from memory.spaces.spaces import create_space, get_space
from memory.storage.database import act_as
from memory.storage.driver import fetch
from memory.storage.unsynchronised import run_unsynchronised
from memory.texts.scripts import normal

SCOPES = ("read", "write", "forget", "admin", "service")
SHORTEST_PASSWORD = 10
# The longest life of a token that expires at all.
LONGEST_LIFE = timedelta(days=3650)
# Writing the time of every request would make each a write; a minute is exact enough to spot a stale token.
LAST_USE_GRAIN = timedelta(minutes=1)

# Every request of an agent runs it.
_OPENED = ("user_id", "id", "prefix", "scopes", "space_id", "expires_at", "last_used_at", "revoked_at")
_OPEN = f"SELECT {', '.join(_OPENED)} FROM open_token(%(hash)s)"  # noqa: S608 - names of ours
# The record says which sessions are over: a cookie stays as good as it was, wherever a copy of it lies.
_LOGGED_OUT, _SESSION = "user.logged_out", "session"
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_hasher = PasswordHasher()


@cache
def _nobody() -> str:
    """A hash that no password fits, verified for an unknown address so that it takes as long as a wrong password."""
    return _hasher.hash(secrets.token_hex())


@dataclass(frozen=True, slots=True)
class Credential:
    """Who a request comes from: a token or a browser session, and for whom it acts."""

    user_id: UUID
    actor: str
    scopes: frozenset[str]
    token_id: UUID | None = None
    space_id: UUID | None = None
    session_key: str = ""


def create_user(
    session: Session,
    email: str,
    password: str,
    *,
    soft_cap: int,
    now: datetime,
    role: str = "user",
    display_name: str = "",
) -> User:
    """Add a user with a `default` space; needs the owner's connection.

    Raises `InvalidError` for a bad address or a short password, `ConflictError` when the address is taken.
    """
    email = email.strip().lower()
    if not _EMAIL.fullmatch(email) or len(email) > 254:
        raise InvalidError("email", "must be an e-mail address")
    _check_new(password)
    named = {"email": email, "display_name": display_name or email.partition("@")[0]}
    row = {**named, "role": role, "password_hash": _hasher.hash(in_one_form(password)), "created_at": now}
    # Somebody may be adding the same one at this moment, and is waited for.
    added = insert(User).values(row).on_conflict_do_nothing().returning(User)
    user = session.scalars(added).one_or_none()
    if user is None:
        raise ConflictError(f"there is a user {email} already")
    act_as(session, user.id)
    create_space(session, user.id, DEFAULT_SPACE, soft_cap=soft_cap, now=now, actor="system", name="Default")
    record(session, user.id, "user.created", actor="system", now=now, subject_id=user.id)
    return user


def _check_new(password: str) -> None:
    if len(in_one_form(password)) < SHORTEST_PASSWORD:
        raise InvalidError("password", f"must be at least {SHORTEST_PASSWORD} characters")


def change_password(session: Session, user_id: UUID, old: str, new: str, *, now: datetime, actor: str) -> None:
    """Give a user another password, which ends every browser session that was opened with the old one.

    Raises `InvalidError` on `old` when that is not the password, on `password` when the new one is too short.
    """
    # Locked, so that of two changes at once the later one is checked against the password that the earlier one has set.
    user = session.get_one(User, user_id, with_for_update={"key_share": True}, populate_existing=True)
    if not is_password(user, old):
        raise InvalidError("old", "is not your password")
    set_password(session, user_id, new, now=now, actor=actor)


def set_password(session: Session, user_id: UUID, new: str, *, now: datetime, actor: str) -> None:
    """Give a user another password without asking for the old one; for who runs the server.

    It ends every browser session of the user. Raises `InvalidError` on `password` when it is too short.
    """
    _check_new(new)
    session.get_one(User, user_id).password_hash = _hasher.hash(in_one_form(new))
    record(session, user_id, "user.password_changed", actor=actor, now=now, subject_id=user_id)
    session.flush()


def is_password(user: User, password: str) -> bool:
    """Tell whether this is the user's password."""
    return _fits(user.password_hash, password)


def check_password(session: Session, email: str, password: str) -> UUID | None:
    """Return the id of the user with this address and password, None for any other; takes equally long."""
    row = session.execute(select("*").select_from(func.find_login(email.strip().lower()))).one_or_none()
    fits = _fits(row.password_hash if row else _nobody(), password)
    return row.id if row and fits else None


def _fits(password_hash: str, password: str) -> bool:
    # As earlier versions hashed it, too: as it was typed.
    for typed in dict.fromkeys((in_one_form(password), password)):
        with suppress(VerificationError, InvalidHashError):
            return _hasher.verify(password_hash, typed)
    return False


def in_one_form(password: str) -> str:
    """Return a password in NFKC: one keyboard types a letter with its accent as one character, another as two."""
    return normal("NFKC", password)


def end_session(session: Session, user_id: UUID, session_id: str, *, now: datetime, actor: str) -> None:
    """Log a browser session out for good; `session_id` names it and lets nobody in. The caller commits."""
    details = {_SESSION: session_id}
    record(session, user_id, _LOGGED_OUT, actor=actor, now=now, subject_id=user_id, details=details)


def is_ended(session: Session, user_id: UUID, session_id: str, *, since: datetime) -> bool:
    """Tell whether a browser session was logged out since then."""
    ends = select(AuditEvent.id).where(
        AuditEvent.user_id == user_id,
        AuditEvent.action == _LOGGED_OUT,
        AuditEvent.created_at >= since,
        AuditEvent.details[_SESSION].astext == session_id,
    )
    return session.scalar(select(ends.exists())) or False


def find_user(session: Session, name: str) -> UUID | None:
    """Return the id of the user with this address or id; None where that one is disabled; for service tokens."""
    return session.scalar(select(func.find_user(name.strip().lower())))


def create_token(
    session: Session,
    user_id: UUID,
    name: str,
    scopes: Sequence[str],
    *,
    now: datetime,
    actor: str = "user",
    space: str | None = None,
    expires_at: datetime | None = None,
) -> str:
    """Add a token and return its secret, which is shown this once and kept only as a hash."""
    if not 1 <= len(name.strip()) <= 100:
        raise InvalidError("name", "must be between 1 and 100 characters")
    unknown = sorted(set(scopes) - set(SCOPES))
    if unknown or not scopes:
        raise InvalidError("scopes", f"must be some of {', '.join(SCOPES)}")
    # Locked, so that a user who loses the admin role at this moment loses this token with the others.
    role = select(User.role).where(User.id == user_id).with_for_update(read=True, key_share=True)
    if {"admin", "service"} & set(scopes) and session.scalar(role) != "admin":
        raise InvalidError("scopes", "only an admin may hold the scopes admin and service")
    secret = f"cp_{secrets.token_urlsafe(32)}"
    token = Token(
        user_id=user_id,
        id=new_id(),
        name=name.strip(),
        prefix=secret[:11],
        hash=hash_token(secret),
        scopes=sorted(set(scopes)),
        space_id=get_space(session, user_id, space).id if space else None,
        created_at=now,
        expires_at=expires_at,
    )
    session.add(token)
    session.flush()
    details = {"name": token.name, "prefix": token.prefix, "scopes": token.scopes}
    record(session, user_id, "token.created", actor=actor, now=now, subject_id=token.id, details=details)
    return secret


def hash_token(secret: str) -> bytes:
    """Return the SHA-256 of a token: 256 random bits need no slow hash."""
    return hashlib.sha256(secret.encode()).digest()


def authenticate(session: Session, secret: str, now: datetime) -> Credential | None:
    """Return who holds this token, and confine the session to that user; None when it opens nothing."""
    rows = fetch(session, _OPEN, {"hash": hash_token(secret)})
    if not rows:
        return None
    token = Token(**dict(zip(_OPENED, rows[0], strict=True)))
    if not token.usable(now):
        act_as(session, None)
        return None
    # The look-up set the user for this transaction; the session must do so for those that follow.
    session.info["user_id"] = token.user_id
    _touch(session, token, now)
    return Credential(
        user_id=token.user_id,
        actor=f"token:{token.prefix}",
        scopes=frozenset(token.scopes),
        token_id=token.id,
        space_id=token.space_id,
        session_key=f"token:{token.id}",
    )


def _touch(session: Session, token: Token, now: datetime) -> None:
    if token.last_used_at is None or now - token.last_used_at > LAST_USE_GRAIN:
        mine = (Token.user_id == token.user_id, Token.id == token.id)
        # Skipped where another request of this token holds the row: that one notes the time of use, or is closing the
        # token.
        free = select(Token.id).where(*mine).with_for_update(skip_locked=True, key_share=True).scalar_subquery()
        statement = update(Token).where(Token.user_id == token.user_id, Token.id == free)
        run_unsynchronised(session, statement.values(last_used_at=now))


def find_token(session: Session, given: str) -> Token:
    """Return the token that this is, or whose prefix it is, of any user; needs the owner's connection.

    Raises `NotFoundError`.
    """
    meant = or_(Token.hash == hash_token(given), Token.prefix == given)
    token = session.scalars(select(Token).where(meant)).one_or_none()
    if token is None:
        raise NotFoundError("there is no such token")
    return token


def revoke_token(session: Session, user_id: UUID, token_id: UUID, *, now: datetime, actor: str) -> None:
    """Close a token for good, and once; raises `NotFoundError`."""
    token = session.get(Token, (user_id, token_id), with_for_update=True)
    if token is None:
        raise NotFoundError("there is no such token")
    if token.revoked_at is not None:
        return
    token.revoked_at = now
    record(session, user_id, "token.revoked", actor=actor, now=now, subject_id=token_id)


def list_tokens(session: Session, user_id: UUID) -> Sequence[Token]:
    """Return the user's tokens, the newest first."""
    return session.scalars(select(Token).where(Token.user_id == user_id).order_by(Token.created_at.desc())).all()
