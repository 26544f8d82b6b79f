"""Ask every LoCoMo question of its own conversation, under each policy, and report what was found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from evals.locomo import Conversation, Question
from evals.locomo_import import space_slug
from evals.quality import Answered, Hits, measure
from evals.reference import AVAILABLE, reference_bm25
from evals.report import Report, Variant
from evals.timing import latency
from memory.database import act_as
from memory.embedding.models import active_model
from memory.models import Memory
from memory.spaces import get_space
from retrieval.policy import FUSIONS, LEGS, NAMED, Leg, Policy
from retrieval.query import Dense, Query, Result
from retrieval.search import search
from tasks.runtime import Runtime

Progress = Callable[[int], None]


def variants() -> dict[str, Policy]:
    """Return every policy worth comparing, by name: the named ones, each fusion, and each leg alone."""
    balanced = NAMED["balanced"]
    fusions = {f"fusion {fusion}": replace(balanced, fusion=fusion) for fusion in FUSIONS}
    return {**NAMED, **fusions, **{f"{leg} alone": _alone(leg) for leg in LEGS}}


def _alone(leg: Leg) -> Policy:
    """Return the policy that ranks by one leg's score and by nothing else."""
    return replace(
        NAMED["balanced"],
        name=leg,
        fusion="convex",
        legs=(leg,),
        beta=0.0,
        gamma=0.0,
        context_weight=0.0,
        date_boost=0.0,
        speaker_boost=0.0,
        time_boost=0.0,
        detail_boost=0.0,
        min_score=0.0,
        mmr_lambda=1.0,
    )


def evaluate(
    runtime: Runtime,
    user_id: UUID,
    conversations: Sequence[Conversation],
    policies: Mapping[str, Policy],
    *,
    limit: int = 10,
    now: datetime,
    on_progress: Progress = lambda _questions: None,
) -> Report:
    """Measure each policy on every question that has evidence; nothing is written.

    The conversations must have been imported and embedded. Latencies are of whole searches with the question's
    vector in the cache. A search that fails or goes without a leg raises `RuntimeError`: it would measure
    something else.
    """
    examiner = _Examiner(runtime, user_id, limit, now)
    examiner.warm_up(conversations)
    found = [examiner.variant(name, policy, conversations, on_progress) for name, policy in policies.items()]
    return Report(tuple(found), examiner.reference(conversations) if AVAILABLE else None)


def scored(conversation: Conversation) -> list[Question]:
    """Return the questions that have evidence."""
    return [question for question in conversation.questions if question.evidence]


@dataclass(frozen=True, slots=True)
class _Examiner:
    runtime: Runtime
    user_id: UUID
    limit: int
    now: datetime

    @contextmanager
    def rolled_back(self) -> Iterator[Session]:
        """Give a session whose writes never happened: a search saves last scores."""
        with self.runtime.sessions() as session:
            act_as(session, self.user_id)
            try:
                yield session
            finally:
                session.rollback()

    def warm_up(self, conversations: Sequence[Conversation]) -> None:
        """Put every question's vector into the cache."""
        with self.rolled_back() as session:
            embedder = self._dense(session).embedder
        for conversation in conversations:
            for question in scored(conversation):
                embedder.embed_one(question.text)

    def variant(
        self, name: str, policy: Policy, conversations: Sequence[Conversation], on_progress: Progress
    ) -> Variant:
        answered: list[Answered] = []
        milliseconds: list[float] = []
        for conversation in conversations:
            for question in scored(conversation):
                hits, elapsed = self._ask(conversation, question, policy)
                answered.append(measure(question, hits))
                milliseconds.append(elapsed)
                on_progress(1)
        return Variant(name, tuple(answered), latency(milliseconds))

    def _ask(self, conversation: Conversation, question: Question, policy: Policy) -> tuple[Hits, float]:
        with self.rolled_back() as session:
            space = get_space(session, self.user_id, space_slug(conversation))
            query = Query(self.user_id, space.id, question.text, limit=self.limit, token_budget=None)
            result = search(session, query, policy, dense=self._dense(session), now=self.now)
        _complete(result, question)
        return [hit.ranked.scored.candidate.source_ids for hit in result.hits], result.timings["total"]

    def _dense(self, session: Session) -> Dense:
        model = active_model(session, self.user_id)
        if model is None:
            raise RuntimeError("the user has no embedding model: import the conversations and embed them first")
        return Dense(model.id, model.dimensions, self.runtime.providers.embedder(model))

    def reference(self, conversations: Sequence[Conversation]) -> tuple[Answered, ...]:
        """Return what BM25 by another implementation finds."""
        balanced = NAMED["balanced"]
        answered: list[Answered] = []
        for conversation in conversations:
            questions = scored(conversation)
            with self.rolled_back() as session:
                space = get_space(session, self.user_id, space_slug(conversation))
                turns = _turns_of(session, space.id)
                texts = [question.text for question in questions]
                found = reference_bm25(session, self.user_id, space.id, texts, k1=balanced.k1, b=balanced.b)
            for question, scores in zip(questions, found, strict=True):
                answered.append(measure(question, [turns[each] for each in list(scores)[: self.limit]]))
        return tuple(answered)


def _turns_of(session: Session, space_id: UUID) -> dict[UUID, list[str]]:
    rows = session.execute(select(Memory.id, Memory.source_ids).where(Memory.space_id == space_id))
    return {memory_id: list(source_ids) for memory_id, source_ids in rows}


def _complete(result: Result, question: Question) -> None:
    if result.error or result.degraded:
        raise RuntimeError(f"the search for {question.text!r} went without {', '.join(result.degraded)}")
