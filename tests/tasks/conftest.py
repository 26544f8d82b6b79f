"""What tests of tasks share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import text

from memory.storage.database import user_session
from tasks.app import huey
from tasks.embedding import queue_breaker
from tasks.runtime import Runtime


@pytest.fixture
def empty_queue(runtime: Runtime) -> Iterator[None]:
    """A queue that has nothing in it, before and after."""
    # Another test may have cut every connection, this thread's to the queue included.
    huey.storage.close()
    queue_breaker.worked()
    huey.flush()
    yield
    huey.flush()


@pytest.fixture
def ask(runtime: Runtime, ada: Any) -> Callable[[str], Any]:
    """Answer what a statement reads first, as Ada."""

    def _ask(statement: str) -> Any:
        with user_session(runtime.sessions, ada.id) as session:
            return session.scalar(text(statement))

    return _ask
