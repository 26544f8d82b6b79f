"""Ask every question of a data set in its place, and note what came. Nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from sqlalchemy.orm import Session

from evals.dataset import Question
from evals.errors import MeasureError
from evals.places import Place, Placed
from evals.scores import Outcome, grouped
from memory.embedding.base import EmbeddingError
from memory.embedding.models import active_model
from memory.storage.database import act_as
from retrieval.policy import Policy
from retrieval.query import DEFAULT_TOKEN_BUDGET, Dense, Query, QueryEmbedder, Result
from retrieval.ranking.types import Vector
from retrieval.search import search
from retrieval.words.about import meant
from retrieval.words.tokens import count
from tasks.runtime import Runtime

LIMIT = 10
# So many hits of one search are enough to rank ten sessions by them.
DEEP = 50
Progress = Callable[[int], None]


class Vectors:
    """Every question's vector, made once: what is measured afterwards is the search."""

    def __init__(self, embedder: QueryEmbedder) -> None:
        self._embedder = embedder
        self._kept: dict[str, Vector] = {}

    def embed_one(self, text: str) -> tuple[Vector, bool]:
        """Return (vector, whether it was there); raises an `EmbeddingError`."""
        if (kept := self._kept.get(text)) is not None:
            return kept, True
        self._kept[text] = self._embedder.embed_one(text)[0]
        return self._kept[text], False


def patient(policy: Policy) -> Policy:
    """Return a policy with time to read all that it wants read: a busy machine says nothing of quality."""
    return replace(policy, reading_ms=60_000.0)


@dataclass(frozen=True, slots=True)
class Examiner:
    """Asks for one run. `warm` keeps what embeds each person's questions, with the model that it serves."""

    runtime: Runtime
    placed: Placed
    now: datetime
    limit: int = LIMIT
    warm: dict[UUID, Dense] = field(default_factory=dict)

    def warm_up(self, questions: Sequence[Question]) -> None:
        """Make the vector of every question; raises `MeasureError` where there is no model, or none that answers."""
        try:
            for question in questions:
                self.dense(self.placed.places[question.collection]).embedder.embed_one(meant(question.text))
        except EmbeddingError as error:
            raise MeasureError(f"the embedding model made no vector: {error}") from error

    def dense(self, place: Place) -> Dense:
        """Return what embeds the questions of a place's owner."""
        if (known := self.warm.get(place.user_id)) is not None:
            return known
        with self._rolled_back(place.user_id) as session:
            model = active_model(session, place.user_id)
            if model is None:
                raise MeasureError("there is no embedding model, or nothing was embedded yet")
            made = Dense.by(model, Vectors(self.runtime.providers.embedder(model, asked=True)))
        return self.warm.setdefault(place.user_id, made)

    def thorough(self, questions: Sequence[Question], policy: Policy, on_progress: Progress) -> list[Outcome]:
        """Return the outcome of each question, asked also within the token budget, and by the stranger.

        Where there is no stranger nothing is said of safety.
        """
        found = []
        for question in questions:
            place = self.placed.places[question.collection]
            within = self.ask(place, question, policy, budget=DEFAULT_TOKEN_BUDGET)
            result = self.ask(place, question, policy)
            safe = self._safe(place, question, policy, result)
            deep = self.ask(place, question, policy, limit=DEEP) if place.sessions else None
            compliant = sum(count(hit.snippet) for hit in within.hits) <= DEFAULT_TOKEN_BUDGET
            found.append(outcome(question, place, result, deep=deep, safe=safe, compliant=compliant))
            on_progress(1)
        return found

    def briefly(self, questions: Sequence[Question], policy: Policy, on_progress: Progress) -> list[Outcome]:
        """Return the outcome of each question, asked once."""
        found = []
        for question in questions:
            place = self.placed.places[question.collection]
            found.append(outcome(question, place, self.ask(place, question, policy)))
            on_progress(1)
        return found

    def ask(
        self, place: Place, question: Question, policy: Policy, *, budget: int | None = None, limit: int | None = None
    ) -> Result:
        """Search a place as its owner; raises `MeasureError` for a search that failed or went without a leg."""
        result = self.try_to_ask(place, question, policy, self.dense(place), budget=budget, limit=limit)
        if result.degraded:
            raise MeasureError(f"question {question.id} was searched without {', '.join(result.degraded)}")
        return result

    def try_to_ask(
        self,
        place: Place,
        question: Question,
        policy: Policy,
        dense: Dense | None,
        *,
        budget: int | None = None,
        limit: int | None = None,
        asker: UUID | None = None,
    ) -> Result:
        """Search a place with or without vectors, as its owner or as another who asks in the owner's name.

        Raises `MeasureError` for a search that failed.
        """
        query = Query(
            place.user_id,
            place.space_id,
            question.text,
            limit=limit or self.limit,
            token_budget=budget,
            scope_size=place.size,
        )
        with self._rolled_back(asker or place.user_id) as session:
            result = search(session, query, patient(policy), dense=dense, now=self.now, reader=self.runtime.reader)
        if result.error:
            raise MeasureError(f"the search of question {question.id} failed")
        return result

    def _safe(self, place: Place, question: Question, policy: Policy, result: Result) -> bool | None:
        """Tell whether the owner got only what is theirs and the stranger nothing; None where there is no stranger.

        The stranger asks in the owner's name and space: the database itself must know who is asking.
        """
        if self.placed.stranger is None:
            return None
        found = self.try_to_ask(place, question, policy, self.dense(place), asker=self.placed.stranger)
        return self._own(place, result) and not found.hits

    def _own(self, place: Place, result: Result) -> bool:
        return all(hit.ranked.scored.candidate.id in place.held for hit in result.hits)

    @contextmanager
    def _rolled_back(self, user_id: UUID) -> Iterator[Session]:
        """Give a session whose writes never happened: a search saves last scores."""
        with self.runtime.sessions() as session:
            act_as(session, user_id)
            try:
                yield session
            finally:
                session.rollback()


def outcome(
    question: Question,
    place: Place,
    result: Result,
    *,
    deep: Result | None = None,
    safe: bool | None = None,
    compliant: bool | None = None,
) -> Outcome:
    """Return what a search brought, in the ids of the data set; `deep` is the same one with more hits."""
    found = _found(place, result)
    return Outcome(
        question,
        tuple(found),
        grouped(question.expected, place.holders),
        result.timings["total"],
        sessions=_sessions(place.sessions, question.expected),
        found_sessions=tuple(_sessions(place.sessions, hit) for hit in found),
        ranked_sessions=_ranked_sessions(place, deep) if deep is not None else None,
        safe=safe,
        compliant=compliant,
        degraded=bool(result.degraded),
    )


def _found(place: Place, result: Result) -> list[tuple[str, ...]]:
    return [place.held.get(hit.ranked.scored.candidate.id, ()) for hit in result.hits]


def _ranked_sessions(place: Place, result: Result) -> tuple[str, ...]:
    """Return each session once, in the order of its best hit."""
    told = (place.sessions[each] for hit in _found(place, result) for each in hit if each in place.sessions)
    return tuple(dict.fromkeys(told))


def _sessions(sessions: Mapping[str, str], ids: Sequence[str] | frozenset[str]) -> frozenset[str]:
    return frozenset(sessions[each] for each in ids if each in sessions)
