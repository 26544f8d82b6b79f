"""What tests of tasks share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

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
