"""What operators see of users: addresses, states and counts, never content; and whether users see each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, ScalarSelect, exists, func, select, text
from sqlalchemy.orm import InstrumentedAttribute, Session, sessionmaker

from memory.embedding.queue import retry_failed
from memory.models import Base, Conversation, Embedding, Memory, Token, User
from memory.storage.database import user_session


@dataclass(frozen=True, slots=True)
class Account:
    """One user: who, since when, and how much of each kind there is."""

    id: UUID
    email: str
    role: str
    created_at: datetime
    disabled_at: datetime | None
    memories: int
    conversations: int
    tokens: int
    failed: int


@dataclass(frozen=True, slots=True)
class AccountPage:
    """Some accounts, by address, and the cursor of the next page (None at the end)."""

    accounts: Sequence[Account]
    next_cursor: str | None


def list_accounts(session: Session, *, limit: int, cursor: str | None = None, named: str) -> AccountPage:
    """Return a page of accounts by address, `named` being in it; needs the owner's connection.

    No two accounts share an address, so the last one of a page is its cursor.
    """
    statement = (
        select(
            User.id,
            User.email,
            User.role,
            User.created_at,
            User.disabled_at,
            _number(Memory.user_id),
            _number(Conversation.user_id),
            _number(Token.user_id, Token.revoked_at.is_(None)),
            _number(Embedding.user_id, Embedding.state == "error"),
        )
        .where(User.email.icontains(named, autoescape=True))
        .order_by(User.email)
        .limit(limit + 1)
    )
    if cursor is not None:
        statement = statement.where(User.email > cursor)
    found = [Account(*row) for row in session.execute(statement)]
    return AccountPage(found[:limit], found[limit - 1].email if len(found) > limit else None)


def _number(owner: InstrumentedAttribute[UUID], *more: ColumnElement[bool]) -> ScalarSelect[int]:
    return select(func.count()).where(owner == User.id, *more).correlate(User).scalar_subquery()


def retry_failed_of_all(sessions: sessionmaker[Session], now: datetime) -> int:
    """Let what failed be tried again at once, of every user who has any; returns how many rows."""
    with sessions() as session:
        users = session.scalars(select(func.users_with_failed_items())).all()
    retried = 0
    for user_id in users:
        with user_session(sessions, user_id) as session:
            retried += retry_failed(session, user_id, now)
    return retried


# Until the transaction ends, or is told otherwise.
_INDEXES_ALONE, _AS_USUAL = text("SET LOCAL enable_seqscan = off"), text("SET LOCAL enable_seqscan = on")


@dataclass(frozen=True, slots=True)
class Isolation:
    """How many tables were asked for rows of other users, and which of them told of any: none, if all is well."""

    tables: int
    leaking: Sequence[str]


def try_to_cross(session: Session, user_id: UUID) -> Isolation:
    """Ask every table for rows of other users, as one user; the session must be confined to that user."""
    owned = {table.name: table.c.user_id for table in Base.metadata.sorted_tables if "user_id" in table.columns}
    asked = {**owned, "users": User.id}
    # Smaller or greater, and not unequal: a key's index knows that at once, and would read all of the user's own else.
    others = (exists().where(whose < user_id) | exists().where(whose > user_id) for whose in asked.values())
    # Where nearly all rows are the user's own, the planner thinks that one of others is met soon, and reads them all.
    session.execute(_INDEXES_ALONE)
    answers = session.execute(select(*others)).one()
    session.execute(_AS_USUAL)
    return Isolation(len(asked), [name for name, told in zip(asked, answers, strict=True) if told])
