"""One throwaway database for all tests of the evaluation, with the hand-made conversation in it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
from evals_data import sample

from evals import corpus
from evals.locomo import Conversation, parse
from evals.locomo_import import Counts, import_conversations
from evals.throwaway import add_user, temporary_home, throwaway
from memory.ids import new_id
from tasks.runtime import Runtime

NOW = datetime(2024, 1, 1, tzinfo=UTC)
Place = tuple[Runtime, UUID]


@pytest.fixture(autouse=True)
def quick_installations(one_bundled_model: None) -> None:
    """Load no model for each of the many runtimes."""


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
