"""Embed what waits, batch by batch, for as many users as have something waiting."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import groupby
from typing import Any
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.orm import Session, sessionmaker
from sqlalchemy.sql.functions import Function

from memory.database import user_session
from memory.embedding import queue
from memory.embedding.base import EmbeddingError
from memory.embedding.models import flip_if_complete, note_dimensions, reconcile
from memory.embedding.providers import Providers
from memory.embedding.queue import Job
from memory.errors import DomainError
from memory.models import EmbeddingModel

logger = logging.getLogger(__name__)

BATCH = 256
Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the present moment in UTC."""
    return datetime.now(UTC)


class Backfill:
    """The worker's loop over waiting rows. One instance per process; sessions are opened per step."""

    def __init__(self, sessions: sessionmaker[Session], providers: Providers, clock: Clock = utc_now) -> None:
        self._sessions = sessions
        self._providers = providers
        self._clock = clock

    def sweep(self) -> int:
        """Find what a lost nudge left: users without the right model, memories that nobody queued.

        Returns how many rows were queued.
        """
        return sum(self._sweep_user(user_id) for user_id in self._across_users(func.all_users()))

    def _sweep_user(self, user_id: UUID) -> int:
        now = self._clock()
        with user_session(self._sessions, user_id) as session:
            try:
                reconcile(session, user_id, self._providers.target(session, user_id), now=now)
            except EmbeddingError as error:
                logger.warning("no embedding model for user %s: %s", user_id, error)
            session.flush()
            queued = queue.enqueue_missing(session, user_id, now)
            flip_if_complete(session, user_id, now=now)
        return queued

    def adopt(self, user_id: UUID) -> int:
        """Give one user the right model and queue what it lacks; returns how many rows were queued."""
        return self._sweep_user(user_id)

    def run(self, on_progress: Callable[[int], None] = lambda _done: None) -> int:
        """Embed everything that is due; returns how many rows were settled, well or badly."""
        total = 0
        while done := self.step():
            total += done
            on_progress(done)
        return total

    def step(self) -> int:
        """Claim one batch, embed it and store it; returns how many rows it claimed (0 when nothing is due)."""
        self._adopt_unqueued()
        jobs: list[Job] = []
        for user_id in self._across_users(func.users_with_due_embeddings(self._clock(), BATCH)):
            with user_session(self._sessions, user_id) as session:
                jobs += queue.claim(session, user_id, BATCH - len(jobs), self._clock())
            if len(jobs) >= BATCH:
                break
        for (user_id, model_id), group in groupby(sorted(jobs, key=_model_of), key=_model_of):
            self._embed(user_id, model_id, list(group))
        return len(jobs)

    def next_due(self) -> datetime | None:
        """Return when the next waiting row falls due, None when no row waits."""
        with self._sessions() as session:
            return session.scalar(select(func.next_due_embedding()))

    def _adopt_unqueued(self) -> None:
        for user_id in self._across_users(func.users_with_unqueued_memories()):
            self._sweep_user(user_id)

    def _across_users(self, function: Function[Any]) -> Sequence[UUID]:
        with self._sessions() as session:
            return session.scalars(select(function)).all()

    def _embed(self, user_id: UUID, model_id: UUID, jobs: list[Job]) -> None:
        with user_session(self._sessions, user_id) as session:
            model = session.get(EmbeddingModel, (user_id, model_id))
            if model is None:
                return  # The model was replaced since the claim, and its rows went with it.
            session.expunge(model)
        with self._failing(jobs):
            vectors = self._providers.embedder(model).embedder.embed([job.text for job in jobs])
            now = self._clock()
            with user_session(self._sessions, user_id) as session:
                if not note_dimensions(session, user_id, model_id, vectors.shape[1]):
                    raise EmbeddingError(
                        f"the model returned {vectors.shape[1]} dimensions, not what it had before",
                        permanent=True,
                    )
                queue.store(session, jobs, vectors, now)
            with user_session(self._sessions, user_id) as session:
                flip_if_complete(session, user_id, now=now)

    @contextmanager
    def _failing(self, jobs: list[Job]) -> Iterator[None]:
        try:
            yield
        except (EmbeddingError, DomainError) as error:
            permanent = getattr(error, "permanent", True)
            if permanent and len(jobs) > 1:
                self._one_by_one(jobs)
            else:
                self._give_back(jobs, str(error), permanent=permanent)

    def _one_by_one(self, jobs: list[Job]) -> None:
        """Embed each alone, so that one text that a provider refuses does not take its batch along."""
        for job in jobs:
            self._embed(job.user_id, job.model_id, [job])

    def _give_back(self, jobs: list[Job], reason: str, *, permanent: bool) -> None:
        logger.warning("embedding failed for %d rows: %s", len(jobs), reason)
        now = self._clock()
        with user_session(self._sessions, jobs[0].user_id) as session:
            for job in jobs:
                queue.fail(session, job, reason, permanent=permanent, now=now)


def _model_of(job: Job) -> tuple[UUID, UUID]:
    return (job.user_id, job.model_id)
