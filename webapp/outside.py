"""How many threads of a process may wait for what is not ours at once: the others are for everybody else."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Slots:
    """So many slots, each for one thread at a time. Nobody waits for one."""

    def __init__(self, most: int) -> None:
        self._free = threading.BoundedSemaphore(most)

    @contextmanager
    def one(self) -> Iterator[bool]:
        """Hold a slot until the block is left; gives whether there was one."""
        is_held = self._free.acquire(blocking=False)
        try:
            yield is_held
        finally:
            if is_held:
                self._free.release()


# A quarter of `webapp.cli.web.THREADS`, each: an endpoint that takes its time, of whomever, holds no more of them.
TRIALS = Slots(4)
SUMMARIES = Slots(4)
# Half of them: a reply that streams in has pauses, of five minutes at most, and nobody knows when it ends.
STREAMS = Slots(8)
