"""One person's memories, for tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from inspect import signature
from typing import Any
from uuid import UUID

from sqlalchemy import text as sql

from memory.clock import utc_now
from memory.drafts.drafts import Draft
from memory.models import Memory
from memory.space_removal.contents import Contents, contents_of
from memory.spaces.spaces import get_space
from memory.storage.database import user_session
from memory.writing.remember import remember, remember_many
from memory.writing.trace import Outcome


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

    def write_many(
        self, drafts: Iterable[Draft | str], space: str = "default", now: datetime | None = None
    ) -> list[Outcome]:
        """Remember drafts, or texts, as one batch."""
        batch = [Draft(each) if isinstance(each, str) else each for each in drafts]
        return self.do(remember_many, space, batch, now=now or utc_now())

    def do(self, action: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """Call a domain function in a transaction of its own.

        `now` and `actor` are filled in, and so are `keys` where it takes them.
        """
        named = {"now": utc_now(), "actor": "test", **named}
        if "keys" in signature(action).parameters:
            named.setdefault("keys", self.runtime.keys)
        with self.session() as session:
            result = action(session, self.user_id, *args, **named)
            session.flush()
            session.expunge_all()
            return result

    def contents(self, space: str) -> Contents:
        with self.session() as session:
            found = get_space(session, self.user_id, space)
            return contents_of(session, self.user_id, found, keys=self.runtime.keys, now=utc_now())

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
