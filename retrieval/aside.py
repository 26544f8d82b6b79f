"""One leg of a search on a connection of its own, while the other leg runs on the caller's."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import BoundedSemaphore
from typing import TypeVar
from uuid import UUID

from sqlalchemy import Engine
from sqlalchemy.orm import Session, sessionmaker

from memory.database import user_session

T = TypeVar("T")


class Aside:
    """A few connections and threads for reading beside a caller's transaction.

    Nobody waits for one of them: when all are busy the caller does the work itself, so that searches which hold
    one connection and want a second cannot stop each other. What a caller has not committed is not seen.
    """

    def __init__(self, engine: Engine, workers: int) -> None:
        self._engine = engine
        self._sessions = sessionmaker(engine)
        self._free = BoundedSemaphore(workers)
        # Its threads start when they are first wanted, so a process may fork before that.
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="aside")

    def start(self, user_id: UUID, work: Callable[[Session], T]) -> Future[T] | None:
        """Begin `work` in a transaction confined to one user; None when every connection is busy."""
        if not self._free.acquire(blocking=False):
            return None
        try:
            return self._threads.submit(self._run, user_id, work)
        except RuntimeError:
            # The process is going down and takes no new work.
            self._free.release()
            return None

    def _run(self, user_id: UUID, work: Callable[[Session], T]) -> T:
        try:
            with user_session(self._sessions, user_id) as session:
                return work(session)
        finally:
            self._free.release()

    def close(self) -> None:
        """Let the threads end and close the connections."""
        self._threads.shutdown(wait=True)
        self._engine.dispose()
