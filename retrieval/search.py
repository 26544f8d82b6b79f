"""One search: scope, both legs, fusion, tri-score, threshold, MMR, token budget."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np
from sqlalchemy import select, text
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError
from sqlalchemy.orm import Session

from memory.embedding.base import EmbeddingError
from memory.models import Space
from retrieval.budget import fit
from retrieval.mmr import select as diversify
from retrieval.policy import Policy
from retrieval.query import MAX_QUERY, Dense, Hit, Query, Result
from retrieval.scoring import rank
from retrieval.statements import (
    SAVE_SCORES,
    approximate_statement,
    exact_statement,
    fetch_statement,
    keyword_statement,
)
from retrieval.types import Candidate, Scored, Vector

logger = logging.getLogger(__name__)

# Up to here an exact scan is fast enough, and its recall is 1.0.
EXACT_SCAN_LIMIT = 25_000
LONG_TEXT_BYTES = 800


def search(
    session: Session,
    query: Query,
    policy: Policy,
    *,
    dense: Dense | None,
    now: datetime,
    correlation_id: str = "",
) -> Result:
    """Find, rank and cut to the budget; writes `last_scores` of what it ranked. The caller commits.

    Works with either leg alone: without `dense`, or when it fails, the answer says `degraded: ["semantic"]`. An
    unreachable database is an empty result with `error`, never an exception.
    """
    run = _Run(query, policy, now)
    try:
        result = run.search(session, dense)
    except SQLAlchemyError:
        logger.exception("search failed [%s]", correlation_id)
        session.rollback()
        result = Result((), policy, degraded=("database",), error=True, timings=run.timings)
    _log(result, query, correlation_id)
    return result


@dataclass
class _Run:
    """The state of one search: what was measured and what was skipped."""

    query: Query
    policy: Policy
    now: datetime
    timings: dict[str, float] = field(default_factory=dict)
    degraded: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def search(self, session: Session, dense: Dense | None) -> Result:
        with self._timed("total"):
            question = self._question()
            vector = self._embed(dense, question) if "semantic" in self.policy.legs else None
            near = self._semantic(session, dense, vector) if dense is not None and vector is not None else {}
            found, bound = self._keyword(session, question, list(near)) if "keyword" in self.policy.legs else ({}, 0.0)
            candidates = self._candidates(session, dense, vector, near, found)
            with self._timed("rank"):
                scored = rank(candidates, self.policy, bm25_bound=bound, question=question, now=self.now)
                ranked = diversify(scored, limit=self.query.limit, lam=self.policy.mmr_lambda)
            with self._timed("budget"):
                budget = self.query.token_budget
                fitted = fit(ranked, budget if budget is not None else 1 << 31)
            with self._timed("persist"):
                self._save_scores(session, scored)
        hits = tuple(Hit(hit, snippet) for hit, snippet in fitted.items)
        return Result(
            hits,
            self.policy,
            token_count=fitted.token_count,
            truncated=fitted.truncated,
            considered=len(candidates),
            degraded=tuple(self.degraded),
            warnings=tuple(self.warnings),
            timings=self.timings,
        )

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.timings[stage] = round((time.perf_counter() - start) * 1000, 3)

    def _question(self) -> str:
        if len(self.query.text) <= MAX_QUERY:
            return self.query.text
        self.warnings.append(f"the query was cut to {MAX_QUERY} characters")
        logger.warning("a query of %d characters was cut to %d", len(self.query.text), MAX_QUERY)
        return self.query.text[:MAX_QUERY]

    def _embed(self, dense: Dense | None, question: str) -> Vector | None:
        """Return the question's vector, or None, and say so, when the provider is absent, fails or has changed."""
        if dense is None:
            self.degraded.append("semantic")
            return None
        with self._timed("embed"):
            try:
                vector, _cached = dense.embedder.embed_one(question)
            except EmbeddingError as error:
                logger.warning("the query was not embedded: %s", error)
                self.degraded.append("semantic")
                return None
        if dense.dimensions is not None and vector.shape[0] != dense.dimensions:
            logger.error("the query has %d dimensions, the model %d", vector.shape[0], dense.dimensions)
            self.degraded.append("semantic")
            return None
        return vector

    def _scope(self) -> dict[str, Any]:
        return {
            "user_id": self.query.user_id,
            "space_id": self.query.space_id,
            "depth": max(self.policy.depth, self.query.limit),
            "theme": self.query.theme,
            "types": list(self.query.types) if self.query.types is not None else None,
            "created_after": self.query.created_after,
        }

    def _semantic(self, session: Session, dense: Dense, vector: Vector) -> dict[UUID, int]:
        """Return the ranks of the nearest memories; an error leaves the keyword leg to answer alone."""
        values = {**self._scope(), "model_id": dense.model_id, "vector": _to_text(vector)}
        with self._timed("semantic"):
            try:
                with session.begin_nested():
                    return self._nearest(session, dense, vector.shape[0], values)
            except DBAPIError as error:
                if error.connection_invalidated:
                    raise
                logger.exception("the semantic leg failed")
                self.degraded.append("semantic")
                return {}

    def _nearest(self, session: Session, dense: Dense, dimensions: int, values: dict[str, Any]) -> dict[UUID, int]:
        statement = exact_statement(self.query)
        if self._documents(session) > EXACT_SCAN_LIMIT:
            statement = approximate_statement(self.query, str(dense.model_id), dimensions)
            # The default of 40 returns fewer rows than the pool asks for.
            session.execute(
                text(
                    "SELECT set_config('hnsw.ef_search', :ef, true),"
                    " set_config('hnsw.iterative_scan', 'strict_order', true)"
                ),
                {"ef": str(min(1000, 2 * values["depth"]))},
            )
        ids = session.scalars(statement, {k: v for k, v in values.items() if k in statement.compile().params})
        return {memory_id: number for number, memory_id in enumerate(ids, start=1)}

    def _documents(self, session: Session) -> int:
        scope = (Space.user_id == self.query.user_id, Space.id == self.query.space_id)
        return session.scalar(select(Space.documents).where(*scope)) or 0

    def _keyword(
        self, session: Session, question: str, also: list[UUID]
    ) -> tuple[dict[UUID, tuple[float, int]], float]:
        """Return (score, rank) per memory and the bound of the scores; those in `also` at any depth."""
        statement = keyword_statement(self.query)
        values = {
            **self._scope(),
            "question": question.replace("\x00", " "),
            "k1": self.policy.k1,
            "b": self.policy.b,
            "also": also,
        }
        found: dict[UUID, tuple[float, int]] = {}
        bound = 0.0
        with self._timed("keyword"):
            wanted = {k: v for k, v in values.items() if k in statement.compile().params}
            for memory_id, score, place, most in session.execute(statement, wanted):
                bound = most or 0.0
                if memory_id is not None:
                    found[memory_id] = (score, place)
        return found, bound

    def _candidates(
        self,
        session: Session,
        dense: Dense | None,
        vector: Vector | None,
        near: Mapping[UUID, int],
        found: Mapping[UUID, tuple[float, int]],
    ) -> list[Candidate]:
        values = {
            "user_id": self.query.user_id,
            "space_id": self.query.space_id,
            "model_id": dense.model_id if dense and vector is not None else None,
            "ids": sorted({*near, *found}),
            "now": self.now,
            "long_text": LONG_TEXT_BYTES,
        }
        with self._timed("fetch"):
            rows = session.execute(fetch_statement(), values).all() if values["ids"] else []
            candidates = [self._candidate(row, vector, near, found) for row in rows]
        return [candidate for candidate in candidates if candidate is not None]

    def _candidate(
        self,
        row: Any,
        vector: Vector | None,
        near: Mapping[UUID, int],
        found: Mapping[UUID, tuple[float, int]],
    ) -> Candidate | None:
        """Return a row as a candidate; one that cannot be read is skipped and logged, not served half."""
        try:
            own = row.vector.to_numpy().astype(np.float32) if row.vector is not None else None
            cosine = float(np.dot(own, vector)) if own is not None and vector is not None else None
            score, place = found.get(row.id, (0.0, 0))
            return Candidate(
                id=row.id,
                text=row.text,
                type=row.type,
                role=row.role,
                created_at=row.created_at,
                importance=row.importance,
                theme=row.theme,
                tags=tuple(row.tags),
                source_ids=tuple(row.source_ids),
                pinned=row.pinned,
                summary=row.summary,
                bm25=score,
                keyword_rank=place if 0 < place <= self._scope()["depth"] else None,
                cosine=cosine,
                semantic_rank=near.get(row.id),
                vector=own,
            )
        except (TypeError, ValueError, AttributeError):
            logger.exception("the memory %s is malformed and was skipped", row.id)
            return None

    def _save_scores(self, session: Session, scored: list[Scored]) -> None:
        """Write the last scores; a memory that is forgotten at this moment must not cost the answer."""
        if not scored:
            return
        parts = [each.score for each in scored]
        values = {
            "user_id": self.query.user_id,
            "ids": [each.candidate.id for each in scored],
            "relevance": [part.relevance for part in parts],
            "recency": [part.recency for part in parts],
            "importance": [part.importance for part in parts],
            "total": [part.total for part in parts],
            "now": self.now,
        }
        try:
            with session.begin_nested():
                session.execute(text("SET LOCAL synchronous_commit = off"))
                session.execute(text(SAVE_SCORES), values)
        except IntegrityError:
            logger.info("scores were not saved: a memory was forgotten meanwhile")


def _to_text(vector: Vector) -> str:
    return "[" + ",".join(f"{value:.6g}" for value in vector.tolist()) + "]"


def query_hash(question: str) -> str:
    """Return 16 hex digits that name a question in logs without saying it."""
    return hashlib.blake2b(question.encode("utf-8", "replace"), digest_size=8).hexdigest()


def _log(result: Result, query: Query, correlation_id: str) -> None:
    logger.info(
        "retrieval correlation_id=%s query_hash=%s user_id=%s results=%d latency_ms=%.1f degraded=%s error=%s",
        correlation_id,
        query_hash(query.text),
        query.user_id,
        len(result.hits),
        result.timings.get("total", 0.0),
        ",".join(result.degraded) or "-",
        result.error,
    )
