"""Embed what waits, batch by batch, for as many users as have something waiting."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import accumulate, chain, groupby, pairwise
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.exc import OperationalError, SQLAlchemyError
from sqlalchemy.orm import Session, sessionmaker
from sqlalchemy.sql.functions import Function
from tenacity import Retrying, before_sleep_log, retry_if_exception_type, stop_after_delay, wait_exponential

from memory.database import user_session
from memory.embedding import queue
from memory.embedding.base import EmbeddingError
from memory.embedding.cache import Vector
from memory.embedding.models import flip_if_complete, note_dimensions, reconcile
from memory.embedding.passages import passages
from memory.embedding.providers import Providers
from memory.embedding.queue import Job, Made
from memory.errors import DomainError
from memory.models import EmbeddingModel, Memory
from memory.shelves import MEMORIES

logger = logging.getLogger(__name__)

BATCH = 256
# So many of a batch are for one user at least, as each who has some costs a transaction.
LEAST_SHARE = 16
# Characters that are embedded before what was made of them is stored: of long texts a batch would take minutes.
PORTION = 1 << 18
PATIENCE = 30.0  # seconds to wait for a database that is away
Clock = Callable[[], datetime]
T = TypeVar("T")


def utc_now() -> datetime:
    """Return the present moment in UTC."""
    return datetime.now(UTC)


class Backfill:
    """The worker's loop over waiting rows. One instance per process; sessions are opened per step."""

    def __init__(self, sessions: sessionmaker[Session], providers: Providers, clock: Clock = utc_now) -> None:
        self._sessions = sessions
        self._providers = providers
        self._clock = clock
        # How many rows could not be embedded when they were tried, so far: each counts as often as that was so.
        self.given_back = 0

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
        self._flip(user_id)
        return queued

    def _flip(self, user_id: UUID) -> None:
        with user_session(self._sessions, user_id) as session:
            flip_if_complete(session, user_id, now=self._clock())

    def adopt(self, user_id: UUID) -> int:
        """Give one user the right model and queue what it lacks; returns how many rows were queued."""
        return self._sweep_user(user_id)

    def run(self, on_progress: Callable[[int], None] = lambda _done: None) -> int:
        """Embed everything that is due; returns how many rows were settled, well or badly.

        Outlives a database that starts again: what was claimed then falls due by itself.
        """
        total = 0
        while done := self._patiently(self.step):
            total += done
            on_progress(done)
        return total

    @staticmethod
    def _patiently(action: Callable[[], T]) -> T:
        return Retrying(
            retry=retry_if_exception_type(OperationalError),
            wait=wait_exponential(0.25, max=2),
            stop=stop_after_delay(PATIENCE),
            before_sleep=before_sleep_log(logger, logging.WARNING),
            reraise=True,
        )(action)

    def step(self) -> int:
        """Claim one batch, embed it and store it; returns how many rows it claimed (0 when nothing is due)."""
        self._adopt_unqueued()
        jobs = self._claim()
        with Claims(self._sessions, jobs, self._clock) as claims:
            for (user_id, model_id), group in groupby(sorted(jobs, key=_model_of), key=_model_of):
                for batch in _portions(group):
                    self._embed(user_id, model_id, batch)
                    claims.settle(batch)
        return len(jobs)

    def _claim(self) -> list[Job]:
        """Claim a batch of what is due, some of it for every user: an import of one must not make all others wait."""
        users = self._across_users(func.users_with_due_embeddings(self._clock(), BATCH))
        share = max(LEAST_SHARE, BATCH // max(1, len(users)))
        jobs: list[Job] = []
        have_more: list[UUID] = []
        for user_id in users:
            mine = self._claim_of(user_id, min(share, BATCH - len(jobs)))
            jobs += mine
            if len(mine) == share:
                have_more.append(user_id)
        for user_id in have_more:
            jobs += self._claim_of(user_id, BATCH - len(jobs))
        return jobs

    def _claim_of(self, user_id: UUID, most: int) -> list[Job]:
        if most <= 0:
            return []
        with user_session(self._sessions, user_id) as session:
            return queue.claim(session, user_id, most, self._clock())

    def next_due(self) -> datetime | None:
        """Return when the next waiting row falls due, None when no row waits."""
        with self._sessions() as session:
            return session.scalar(select(func.next_due_embedding()))

    def _adopt_unqueued(self) -> None:
        for user_id in self._across_users(func.users_with_unqueued_items()):
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
            texts = [job.text for job in jobs if job.shelf is MEMORIES]
            known = self._providers.known_vectors(session, model, texts, self._clock())
        with self._failing(jobs):
            made = self._made(model, jobs, known)
            # The work is done: a deadlock or a database that starts again is no reason to do it twice.
            self._patiently(lambda: self._store(model, jobs, made, known))
        self._flip(user_id)

    def _made(self, model: EmbeddingModel, jobs: list[Job], known: Mapping[str, Vector]) -> list[Made]:
        parts = [passages(job.text) for job in jobs]
        try:
            texts = [*(job.text for job in jobs), *chain.from_iterable(parts)]
            rows = self._providers.embed_texts(model, texts, known)
        except (EmbeddingError, DomainError):
            raise
        except Exception as error:
            # The boundary to strangers' code: one text that it cannot bear must not stop everyone's.
            logger.exception("the embedding model %r failed", model.model)
            raise EmbeddingError(f"the model failed ({type(error).__name__})", permanent=True) from error
        ends = list(accumulate(map(len, parts), initial=len(jobs)))
        return [Made(row, rows[start:end]) for row, (start, end) in zip(rows, pairwise(ends), strict=False)]

    def _store(self, model: EmbeddingModel, jobs: list[Job], made: Sequence[Made], known: Mapping[str, Vector]) -> None:
        dimensions = made[0].vector.shape[0]
        with user_session(self._sessions, model.user_id) as session:
            fixed = note_dimensions(session, model.user_id, model.id, dimensions)
            if fixed is None:
                return  # The model was replaced meanwhile.
            if fixed != dimensions:
                raise EmbeddingError(
                    f"the model returned {dimensions} dimensions, not {fixed} as before", permanent=True
                )
            queue.store(session, jobs, made, self._clock())
            new = {job.text: each.vector for job, each in zip(jobs, made, strict=True) if job.text not in known}
            self._keep(session, model, jobs, new)

    def _keep(self, session: Session, model: EmbeddingModel, jobs: Sequence[Job], made: Mapping[str, Vector]) -> None:
        """Keep the vectors of memories for the next time that their texts are embedded.

        The memories are locked by now: what was forgotten meanwhile is not there, and nothing is kept of it.
        """
        ids = [job.item_id for job in jobs if job.shelf is MEMORIES]
        texts = select(Memory.text).where(Memory.user_id == model.user_id, Memory.id.in_(ids))
        present = set(session.scalars(texts)) if ids else set()
        kept = {text: vector for text, vector in made.items() if text in present}
        self._providers.keep_vectors(session, model, kept, self._clock())

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
        self.given_back += len(jobs)
        with user_session(self._sessions, jobs[0].user_id) as session:
            for job in jobs:
                queue.fail(session, job, reason, permanent=permanent, now=now)


class Claims:
    """Renews the claims of a step from a thread while they are worked on."""

    def __init__(self, sessions: sessionmaker[Session], jobs: Sequence[Job], clock: Clock) -> None:
        self._sessions = sessions
        self._clock = clock
        self._open = {(job.shelf, job.item_id, job.model_id): job for job in jobs}
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
        """Renew these no more."""
        for job in jobs:
            self._open.pop((job.shelf, job.item_id, job.model_id), None)

    def _renew_often(self) -> None:
        while not self._done.wait(queue.LEASE.total_seconds() / 3):
            try:
                self.renew()
            except SQLAlchemyError:
                # The next round tries again; if none gets through, the claims lapse, which costs work but no row.
                logger.warning("claims were not renewed", exc_info=True)

    def renew(self) -> None:
        """Renew what is not settled yet."""
        jobs = sorted(self._open.values(), key=_model_of)
        for user_id, mine in groupby(jobs, key=lambda job: job.user_id):
            with user_session(self._sessions, user_id) as session:
                queue.renew(session, list(mine), self._clock())


def _portions(jobs: Iterable[Job]) -> Iterator[list[Job]]:
    """Cut jobs into lists of at most `PORTION` characters, or of one text that has more."""
    portion: list[Job] = []
    size = 0
    for job in jobs:
        if portion and size + len(job.text) > PORTION:
            yield portion
            portion, size = [], 0
        portion.append(job)
        size += len(job.text)
    if portion:
        yield portion


def _model_of(job: Job) -> tuple[UUID, UUID]:
    return (job.user_id, job.model_id)
