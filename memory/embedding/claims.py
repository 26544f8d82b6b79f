"""The claims of the rows that a worker is embedding: renewed while it works on them, so that no other takes them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from itertools import groupby
from uuid import UUID

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session, sessionmaker

from memory.clock import Clock
from memory.embedding import queue
from memory.embedding.queue import Job
from memory.errors import first_line
from memory.storage.database import user_session
from memory.storage.shelves import Shelf

logger = logging.getLogger(__name__)


class Claims:
    """Renews the claims of some jobs from a thread of its own until they are settled, or the block ends."""

    def __init__(self, sessions: sessionmaker[Session], jobs: Sequence[Job], clock: Clock) -> None:
        self._sessions = sessions
        self._clock = clock
        self._open = {_key(job): job for job in jobs}
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._renew_often, name="embedding-claims", daemon=True)

    def __enter__(self) -> Claims:
        if self._open:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        if self._thread.is_alive():
            self._thread.join()

    def settle(self, jobs: Sequence[Job]) -> None:
        """Stop renewing the claims of these jobs."""
        for job in jobs:
            self._open.pop(_key(job), None)

    def open(self, jobs: Sequence[Job]) -> list[Job]:
        """Return those of the jobs that are not settled yet."""
        return [job for job in jobs if _key(job) in self._open]

    def _renew_often(self) -> None:
        while not self._done.wait(queue.LEASE.total_seconds() / 3):
            try:
                self.renew()
            except SQLAlchemyError as error:
                # The next round tries again; if none gets through, the claims lapse, which costs work but no row.
                logger.warning("claims were not renewed: %s", first_line(error))

    def renew(self) -> None:
        """Renew the claims of all jobs that are not settled yet."""
        jobs = sorted(self._open.values(), key=_user_of)
        for user_id, mine in groupby(jobs, key=_user_of):
            with user_session(self._sessions, user_id) as session:
                queue.renew(session, list(mine), self._clock())


def _key(job: Job) -> tuple[Shelf, UUID, UUID]:
    return (job.shelf, job.item_id, job.model_id)


def _user_of(job: Job) -> UUID:
    return job.user_id
