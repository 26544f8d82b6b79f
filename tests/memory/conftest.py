"""What the tests of the domain share: one call to write, one to load, and a second space."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from at_once import at_once, waits
from embedding_work import Clock, Work, eight_wide
from local_provider import Provider
from memory_book import Book
from servers import new_home
from sqlalchemy.orm import Session

from memory.clock import utc_now
from memory.embedding.providers import Providers, System
from memory.enrichment.enrich import MODEL_BATCH
from memory.forgetting.forget import forget
from memory.ids import new_id
from memory.models import DEFAULT_SPACE, User
from memory.server.embedded import EmbeddedServer
from memory.spaces.spaces import create_space
from memory.storage.database import make_engine, user_session
from memory.writing.edit import update


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


@pytest.fixture
def others(owner: Any, runtime: Any) -> list[Owner]:
    """More people than a worker serves at once where it asks a language model."""
    return [new_owner(owner, runtime, f"other{number}") for number in range(MODEL_BATCH + 1)]


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
def beside(book: Book, owner: Any) -> Callable[..., Any]:
    """Begin one thing, and another that waits for it; finish the first; return what the other returned or raised.

    `then` is how the first one goes on once the other waits.
    """

    def _beside(
        first: Callable[[Any], Any], second: Callable[[], Any], then: Callable[[Any], Any] | None = None
    ) -> Any:
        with book.session() as session:
            first(session)
            session.flush()
            results: list[Any] = []
            thread = threading.Thread(target=lambda: results.extend(at_once(second)))
            thread.start()
            assert waits(owner), "nothing waited"
            if then is not None:
                then(session)
        thread.join(60)
        return results[0]

    return _beside


@pytest.fixture
def provider() -> Iterator[Provider]:
    """A remote embedding provider."""

    server = Provider()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def no_model(runtime: Any) -> Providers:
    """Providers of an installation without any model of its own."""
    return Providers(System("none"), runtime.keys)


@pytest.fixture
def server_home() -> Iterator[Path]:
    """A data folder in which nothing runs, and whose server may be killed."""
    folder = new_home()
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def own_server() -> Iterator[EmbeddedServer]:
    """A server of this process, in a folder whose name leaves room for its socket."""
    # Folders have such names, too, which a shell and an address would take for something else.
    with tempfile.TemporaryDirectory(prefix="a %20+b?", ignore_cleanup_errors=True) as home:
        server = EmbeddedServer(Path(home))
        yield server
        server.release()


@pytest.fixture
def drop(book: Book) -> Any:
    """Forget a memory."""

    def _drop(memory_id: UUID, undo: timedelta | None = None, **named: Any) -> Any:
        return book.do(forget, memory_id, undo=undo, **named)

    return _drop


@pytest.fixture
def change(book: Book) -> Any:
    """Change what is stored of a memory."""

    def _change(memory_id: UUID, **changes: Any) -> Any:
        return book.do(update, memory_id, changes)

    return _change


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def work(runtime: Any, book: Any, no_model: Providers, clock: Clock, provider: Provider) -> Work:
    """Work by a remote provider of eight dimensions."""
    provider.answer = eight_wide
    made = Work(runtime, book, no_model, clock)
    made.use(provider)
    return made


@pytest.fixture
def local(runtime: Any, book: Any, clock: Clock) -> Work:
    """Work by the bundled model."""
    return Work(runtime, book, runtime.providers, clock)
