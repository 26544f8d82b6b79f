"""Embed what waits, batch by batch, for as many users as have something waiting."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import accumulate, chain, groupby, pairwise
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import func, select
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session, sessionmaker
from sqlalchemy.sql.functions import Function
from tenacity import Retrying, before_sleep_log, retry_if_exception_type, wait_exponential

from memory.clock import Clock, utc_now
from memory.embedding import queue
from memory.embedding.base import EmbeddingError
from memory.embedding.cache import Vector
from memory.embedding.claims import Claims
from memory.embedding.models import flip_if_complete, note_success, reconcile, rest, user_models
from memory.embedding.passages import passages
from memory.embedding.providers import Providers
from memory.embedding.queue import Job, Made
from memory.errors import DomainError
from memory.models import EmbeddingModel, Memory
from memory.storage.database import user_session
from memory.storage.shelves import MEMORIES

logger = logging.getLogger(__name__)

BATCH = 256
# Of each batch every user with waiting rows gets at least so many: each user costs a transaction.
LEAST_SHARE = 16
# Characters that are embedded before the vectors made of them are stored: a batch of long texts takes minutes.
PORTION = 1 << 18
PATIENCE = 30.0  # seconds to wait for a database that is away
# The text by which a provider is tried that has just failed: one that cannot embed this can embed nothing.
PROBE = "ping"
LOOK_AT_ALL = timedelta(hours=1)
T = TypeVar("T")


class Provider(NamedTuple):
    """Whom a model asks, and as whom: what fails for one of its models fails for all."""

    provider_type: str
    endpoint_url: str | None
    api_key: str | None


class AllSeen(NamedTuple):
    """Whether the system's endpoint was healthy when all users were looked at, and when they are to be again."""

    healthy: bool
    until: datetime


class ProviderAwayError(Exception):
    """A provider answers nobody; `pause` is for how long it asked to be left alone."""

    def __init__(self, message: str, pause: timedelta) -> None:
        super().__init__(message)
        self.pause = pause


class EndingError(Exception):
    """This process ends, and what is not embedded yet is left to the next one."""


class Absence(NamedTuple):
    """Why a provider is not asked, until when, and how many times in a row it did not answer."""

    error: ProviderAwayError
    until: datetime
    times: int


Away = dict[Provider, Absence]


class Backfill:
    """The worker's loop over waiting rows. One instance per process; sessions are opened per step."""

    def __init__(self, sessions: sessionmaker[Session], providers: Providers, clock: Clock = utc_now) -> None:
        self._sessions = sessions
        self._providers = providers
        self._clock = clock
        # How often an attempt to embed a row has failed so far; a row that failed twice counts twice.
        self.given_back = 0
        self._all_seen: AllSeen | None = None
        # Users whose rows nobody can queue, as they have no model. They get one by a setting or by the next sweep.
        self._without_model: frozenset[UUID] = frozenset()
        self._ending = threading.Event()
        self._moves = True

    def keep_models(self) -> None:
        """Leave everybody with the model that they have: whoever runs one command may not know which the server has."""
        self._moves = False

    def end_with(self, ending: threading.Event) -> None:
        """Let every run end once this is set, with what it has not embedded given back as it was."""
        self._ending = ending

    def sweep(self) -> int:
        """Find what a lost nudge left: users without the right model, memories that nobody queued.

        Returns how many rows were queued. All users are looked at in the first sweep of a process, when the system's
        endpoint has come or gone, when the clock was set back, and once an hour. Between those only users who lack rows
        are, as a user's own setting takes effect when it is made.
        """
        healthy, seen = self._providers.system_healthy(), self._all_seen
        if seen is None or seen.healthy != healthy or not timedelta() < seen.until - self._clock() <= LOOK_AT_ALL:
            for user_id in self._across_users(func.all_users()):
                self._reconcile(user_id)
                with user_session(self._sessions, user_id) as session:
                    queue.bring_forward(session, user_id, self._clock())
            self._all_seen = AllSeen(healthy, self._clock() + LOOK_AT_ALL)
        # Only the users found here can lack rows: elsewhere a row is made with its model or its memory.
        self._without_model = frozenset()
        lacking = (func.users_with_unqueued_items(), func.users_with_building_models())
        return sum(map(self.adopt, sorted({user_id for each in lacking for user_id in self._across_users(each)})))

    def adopt(self, user_id: UUID) -> int:
        """Give one user the right model and queue what it lacks; returns how many rows were queued."""
        self._reconcile(user_id)
        with user_session(self._sessions, user_id) as session:
            queued = queue.enqueue_missing(session, user_id, self._clock())
        self._flip(user_id)
        return queued

    def _reconcile(self, user_id: UUID) -> None:
        with user_session(self._sessions, user_id) as session:
            if not self._moves and user_models(session, user_id):
                return
            try:
                reconcile(session, user_id, self._providers.target(session, user_id), now=self._clock())
            except EmbeddingError as error:
                logger.warning("no embedding model for user %s: %s", user_id, error)

    def _flip(self, user_id: UUID) -> None:
        with user_session(self._sessions, user_id) as session:
            flip_if_complete(session, user_id, now=self._clock())

    def wake(self) -> None:
        """Let every model that rests be asked at once."""
        for user_id in self._across_users(func.all_users()):
            with user_session(self._sessions, user_id) as session:
                queue.wake(session, user_id)

    def run(self, on_progress: Callable[[int], object] = lambda _done: None) -> int:
        """Embed everything that is due; returns how many rows were settled, well or badly.

        Survives a restart of the database: rows that were claimed then fall due again by themselves. A provider that
        does not answer is asked once, not once for each of its users, and again after a pause that grows, as a run may
        take hours.
        """
        total = 0
        away: Away = {}
        while not self._ending.is_set() and (done := self._patiently(lambda: self.step(away))):
            total += done
            on_progress(done)
        return total

    @staticmethod
    def _patiently(action: Callable[[], T]) -> T:
        return Retrying(
            retry=retry_if_exception_type(OperationalError),
            wait=wait_exponential(0.25, max=2),
            # Only the pauses between attempts count, not the attempts: one alone may take minutes.
            stop=lambda tries: tries.idle_for >= PATIENCE,
            before_sleep=before_sleep_log(logger, logging.WARNING),
            reraise=True,
        )(action)

    def step(self, away: Away | None = None) -> int:
        """Claim one batch, embed it and store it; returns how many rows it claimed (0 when nothing is due).

        Providers in `away` are not asked until the moment that it has for each; those that do not answer are added to
        it.
        """
        away = {} if away is None else away
        self._adopt_unqueued()
        jobs = self._claim()
        with Claims(self._sessions, jobs, self._clock) as claims:
            groups = [list(group) for _, group in groupby(sorted(jobs, key=_model_of), key=_model_of)]
            # The smallest group first, so that nobody waits minutes for what a slow provider makes of somebody else's
            # many texts.
            for group in sorted(groups, key=len):
                self._embed_all(*_model_of(group[0]), group, claims, away)
        return len(jobs)

    def _embed_all(self, user_id: UUID, model_id: UUID, jobs: list[Job], claims: Claims, away: Away) -> None:
        model = self._model(user_id, model_id)
        if model is None:
            return  # It was replaced since the claim, and its rows went with it.
        provider = Provider(model.provider_type, model.endpoint_url, model.api_key)
        absence = away.get(provider)
        if absence is None or self._clock() >= absence.until:
            try:
                for batch in _by_size(jobs):
                    self._embed(model, batch, claims)
            except ProviderAwayError as error:
                times = 1 if absence is None else absence.times + 1
                absence = Absence(error, self._clock() + max(error.pause, queue.backoff(times)), times)
                away[provider] = absence
            except EndingError:
                self._release(user_id, claims.open(jobs))
                claims.settle(jobs)
                return
            else:
                away.pop(provider, None)
                return
        self._rest(model, claims.open(jobs), absence.error)
        claims.settle(jobs)

    def _model(self, user_id: UUID, model_id: UUID) -> EmbeddingModel | None:
        with user_session(self._sessions, user_id) as session:
            model = session.get(EmbeddingModel, (user_id, model_id))
            if model is not None:
                session.expunge(model)
            return model

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
        # This runs before each batch, and so after every write of anybody: users without a model are looked at only
        # once.
        for user_id in self._across_users(func.users_with_unqueued_items()):
            if user_id not in self._without_model and not self.adopt(user_id) and not self._has_model(user_id):
                self._without_model |= {user_id}

    def _has_model(self, user_id: UUID) -> bool:
        with user_session(self._sessions, user_id) as session:
            return bool(user_models(session, user_id))

    def _across_users(self, function: Function[Any]) -> Sequence[UUID]:
        with self._sessions() as session:
            return session.scalars(select(function)).all()

    def _embed(self, model: EmbeddingModel, jobs: list[Job], claims: Claims) -> None:
        """Embed these jobs, or those that the provider can; raises `ProviderAwayError` where it can embed nothing.

        Raises `EndingError` where this process ends.
        """
        if self._ending.is_set():
            raise EndingError
        with user_session(self._sessions, model.user_id) as session:
            # Asked again, as the batch before may have taken minutes: what was forgotten meanwhile is not sent to the
            # endpoint.
            jobs = queue.still_waiting(session, jobs)
            texts = [job.text for job in jobs if job.shelf is MEMORIES]
            known = self._providers.known_vectors(session, model, texts, self._clock())
        if not jobs:
            return
        try:
            made = self._made(model, jobs, known)
            # Only storing is tried again: the vectors are made, and a deadlock or a restart of the database does not
            # change them.
            self._patiently(lambda: self._store(model, jobs, made, known))
        except EmbeddingError as error:
            self._raise_if_away(model, error)
            if len(jobs) > 1:
                # Halved until the one text is found that the provider cannot embed, so that the rest of the batch is
                # embedded.
                middle = len(jobs) // 2
                self._embed(model, jobs[:middle], claims)
                self._embed(model, jobs[middle:], claims)
                return
            self._give_back(jobs[0], error)
        claims.settle(jobs)
        self._flip(model.user_id)

    def _raise_if_away(self, model: EmbeddingModel, error: EmbeddingError) -> None:
        """Find out whether it is the provider that fails, and not the texts."""
        if not error.away:
            try:
                (row,) = self._embedded(model, [PROBE], {})
            except EmbeddingError as error_of_probe:
                error = error_of_probe
            else:
                if model.dimensions in {None, row.shape[0]}:
                    return
        raise ProviderAwayError(str(error), timedelta(seconds=error.pause)) from error

    def _made(self, model: EmbeddingModel, jobs: list[Job], known: Mapping[str, Vector]) -> list[Made]:
        parts = [passages(job.text) for job in jobs]
        rows = self._embedded(model, [*(job.text for job in jobs), *chain.from_iterable(parts)], known)
        ends = list(accumulate(map(len, parts), initial=len(jobs)))
        return [Made(row, rows[start:end]) for row, (start, end) in zip(rows, pairwise(ends), strict=False)]

    def _embedded(
        self, model: EmbeddingModel, texts: Sequence[str], known: Mapping[str, Vector]
    ) -> NDArray[np.float32]:
        try:
            return self._providers.embed_texts(model, texts, known)
        except EmbeddingError:
            raise
        except DomainError as error:
            # This installation cannot use the model any more, such as where its key was encrypted with another secret.
            raise EmbeddingError(str(error), permanent=True, away=True) from error
        except Exception as error:
            if self._ending.is_set():
                # The text is not to blame: while the interpreter ends, it takes away the threads that a model computes
                # with.
                raise EndingError from error
            # The boundary to strangers' code: one text that it cannot bear must not stop everyone's.
            logger.exception("the embedding model %r failed", model.model)
            raise EmbeddingError(f"the model failed ({type(error).__name__})", permanent=True) from error

    def _store(self, model: EmbeddingModel, jobs: list[Job], made: Sequence[Made], known: Mapping[str, Vector]) -> None:
        dimensions = made[0].vector.shape[0]
        with user_session(self._sessions, model.user_id) as session:
            fixed = note_success(session, model.user_id, model.id, dimensions)
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

        The memories are locked by now, so that no vector is kept of one that was forgotten meanwhile.
        """
        ids = [job.item_id for job in jobs if job.shelf is MEMORIES]
        texts = select(Memory.text).where(Memory.user_id == model.user_id, Memory.id.in_(ids))
        present = set(session.scalars(texts)) if ids else set()
        kept = {text: vector for text, vector in made.items() if text in present}
        self._providers.keep_vectors(session, model, kept, self._clock())

    def _give_back(self, job: Job, error: EmbeddingError) -> None:
        logger.warning("a text could not be embedded: %s", error)
        self.given_back += 1
        with user_session(self._sessions, job.user_id) as session:
            queue.fail(session, job, str(error), permanent=error.permanent, now=self._clock())

    def _rest(self, model: EmbeddingModel, jobs: list[Job], error: ProviderAwayError) -> None:
        """Leave a model alone for a while; what waited for it waits on, and has not failed."""
        logger.warning("%d texts wait for an embedding provider: %s", len(jobs), error)
        self.given_back += len(jobs)
        with user_session(self._sessions, model.user_id) as session:
            rest(session, model.user_id, model.id, str(error), pause=error.pause, now=self._clock())
            queue.release(session, jobs, self._clock())

    def _release(self, user_id: UUID, jobs: list[Job]) -> None:
        with user_session(self._sessions, user_id) as session:
            queue.release(session, jobs, self._clock())


def _by_size(jobs: Iterable[Job]) -> Iterator[list[Job]]:
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
