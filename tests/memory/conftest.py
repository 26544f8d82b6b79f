"""What the tests of the domain share: one call to write, one to load, and a second space."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
from local_provider import Provider
from sqlalchemy import text as sql
from sqlalchemy.orm import Session

from memory.database import make_engine, user_session
from memory.drafts import Draft
from memory.embedding.backfill import utc_now
from memory.embedding.providers import Providers, System
from memory.ids import new_id
from memory.models import Memory, User
from memory.remember import remember
from memory.spaces import DEFAULT_SPACE, create_space
from memory.trace import Outcome


@dataclass(frozen=True)
class Owner:
    """A user without a password: hashing one for every test would take longer than the tests."""

    id: UUID
    runtime: Any

    def session(self) -> Any:
        return user_session(self.runtime.sessions, self.id)


def new_owner(owner: Any, runtime: Any, name: str) -> Owner:
    now = utc_now()
    user = User(id=new_id(), email=f"{name}-{new_id()}@example.org", display_name=name, password_hash="-")
    user.created_at = now
    with Session(owner) as session, session.begin():
        session.add(user)
        session.flush()
        create_space(session, user.id, DEFAULT_SPACE, soft_cap=200, now=now, actor="system")
        return Owner(user.id, runtime)


@pytest.fixture
def ada(owner: Any, runtime: Any) -> Owner:
    """The owner of the memories in a test."""
    return new_owner(owner, runtime, "ada")


@pytest.fixture
def bob(owner: Any, runtime: Any) -> Owner:
    """The stranger."""
    return new_owner(owner, runtime, "bob")


class Book:
    """One person's memories, a transaction per call."""

    def __init__(self, runtime: Any, person: Any) -> None:
        self.runtime = runtime
        self.user_id: UUID = person.id

    def session(self) -> Any:
        return user_session(self.runtime.sessions, self.user_id)

    def write(self, text: str, space: str = "default", now: datetime | None = None, **fields: Any) -> Outcome:
        draft = Draft(text, **fields)
        with self.session() as session:
            return remember(
                session, self.user_id, space, draft, keys=self.runtime.keys, now=now or utc_now(), actor="test"
            )

    def do(self, action: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """Call a domain function in a transaction of its own; `now` and `actor` are filled in."""
        named = {"now": utc_now(), "actor": "test", **named}
        with self.session() as session:
            result = action(session, self.user_id, *args, **named)
            session.flush()
            session.expunge_all()
            return result

    def load(self, memory_id: UUID | None) -> Memory | None:
        with self.session() as session:
            memory = session.get(Memory, (self.user_id, memory_id))
            session.expunge_all()
            return memory

    def one(self, statement: str, **values: Any) -> Any:
        """Return the first column of the first row, as this user sees it."""
        with self.session() as session:
            return session.scalar(sql(statement), values)

    def all(self, statement: str, **values: Any) -> list[Any]:
        with self.session() as session:
            return list(session.scalars(sql(statement), values))


@pytest.fixture
def book(runtime: Any, ada: Any) -> Book:
    return Book(runtime, ada)


@pytest.fixture
def bobs_book(runtime: Any, bob: Any) -> Book:
    return Book(runtime, bob)


@pytest.fixture
def second_space(book: Book) -> str:
    with book.session() as session:
        create_space(session, book.user_id, "second", soft_cap=200, now=utc_now(), actor="test")
    return "second"


@pytest.fixture(scope="session")
def owner(database_url: str, runtime: Any) -> Iterator[Any]:
    """The engine of the tables' owner, whom row-level security does not bind."""
    engine = make_engine(database_url, pool_size=2)
    yield engine
    engine.dispose()


@pytest.fixture
def provider() -> Iterator[Provider]:
    """A remote embedding provider."""

    server = Provider()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def no_model(runtime: Any) -> Providers:
    """Providers of an installation without any model of its own."""
    return Providers(System("none"), runtime.keys)
