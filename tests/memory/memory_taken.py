"""How much of the machine's memory is taken meanwhile."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def within(size: float) -> Iterator[None]:
    """Check that Python's objects made meanwhile never took as many bytes at once."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < size
    finally:
        tracemalloc.stop()
