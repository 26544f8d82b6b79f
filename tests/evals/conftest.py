"""One throwaway database for all tests of the evaluation, with the hand-made conversation in it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import UUID

import pytest
from evals_data import sample

from evals.locomo import Conversation, parse
from evals.locomo_import import Counts, import_conversations
from evals.throwaway import throwaway
from tasks.runtime import Runtime

NOW = datetime(2024, 1, 1, tzinfo=UTC)
Place = tuple[Runtime, UUID]


@pytest.fixture(scope="session")
def place() -> Iterator[Place]:
    with throwaway(now=NOW) as found:
        yield found


@pytest.fixture(scope="session")
def conversations() -> list[Conversation]:
    return parse([sample()])


@pytest.fixture(scope="session")
def imported(place: Place, conversations: list[Conversation]) -> Counts:
    runtime, user_id = place
    counts = import_conversations(runtime.sessions, user_id, conversations, keys=runtime.keys, now=NOW)
    runtime.backfill.run()
    return counts
