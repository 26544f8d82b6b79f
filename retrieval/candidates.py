"""Candidates from the database: both legs, then what ranking needs, then what is shown."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np
from pgvector import HalfVector
from sqlalchemy import Row, text
from sqlalchemy.orm import Session

from retrieval.policy import Policy
from retrieval.query import Dense, Query
from retrieval.statements import (
    approximate_statement,
    exact_statement,
    pool_statement,
    wide_statement,
)
from retrieval.types import Candidate, Scored, Vector

logger = logging.getLogger(__name__)

# Up to here an exact scan is fast enough, and its recall is 1.0.
EXACT_SCAN_LIMIT = 25_000
# The two header words of a halfvec's binary form: dimensions and flags, 16 bits each.
_HEADER = 4
LONG_TEXT_BYTES = 800


@dataclass(frozen=True, slots=True)
class Near:
    """The semantic leg: cosines in order of rank, best first."""

    vector: Vector | None
    cosines: dict[UUID, float]


@dataclass(frozen=True, slots=True)
class Pool:
    """The candidates of both legs without their texts, and the BM25 score that no memory can exceed."""

    candidates: list[Candidate]
    bound: float


NOTHING_NEAR = Near(None, {})


@dataclass(frozen=True, slots=True)
class Source:
    """Reads candidates of one query from one session."""

    session: Session
    query: Query
    policy: Policy
    now: datetime

    def nearest(self, dense: Dense, vector: Vector) -> Near:
        """Run the semantic leg: exact while the scope is small, by HNSW above."""
        values = {**self._scope(), "vector": HalfVector(vector), "model_id": dense.model_id}
        if self.query.scope_size <= EXACT_SCAN_LIMIT:
            statement = exact_statement(filtered=self.query.filtered)
        else:
            statement = approximate_statement(str(dense.model_id), vector.shape[0], filtered=self.query.filtered)
            del values["model_id"]
            self._widen_hnsw()
        return Near(vector, {row.memory_id: 1.0 - row.distance for row in self._run(statement, values)})

    def _run(self, statement: str, values: dict[str, Any]) -> Sequence[Row[Any]]:
        return self.session.connection().exec_driver_sql(statement, values).all()

    def _widen_hnsw(self) -> None:
        # The default of 40 returns fewer rows than the pool asks for; iterating makes up for filtered-out rows.
        settings = "set_config('hnsw.ef_search', :ef, true), set_config('hnsw.iterative_scan', 'strict_order', true)"
        self.session.execute(text(f"SELECT {settings}"), {"ef": str(min(1000, 2 * self._depth()))})

    def pool(self, question: str, near: Near, model_id: UUID | None) -> Pool:
        """Run the keyword leg and join what the semantic leg found; an empty question has no words to look for."""
        values = {
            **self._scope(),
            "question": question,
            "k1": self.policy.k1,
            "b": self.policy.b,
            "near": list(near.cosines),
            "vector": HalfVector(near.vector) if near.vector is not None else None,
            "model_id": model_id,
            "now": self.now,
        }
        rows = self._run(pool_statement(filtered=self.query.filtered), values)
        places = {memory_id: place for place, memory_id in enumerate(near.cosines, start=1)}
        return Pool([_candidate(row, near, places) for row in rows], rows[0].bound if rows else 0.0)

    def widen(self, scored: Sequence[Scored], model_id: UUID | None) -> list[Scored]:
        """Add text, tags, sources and vector; a row that cannot be read is skipped and logged, not served half."""
        values = {
            "user_id": self.query.user_id,
            "ids": [each.candidate.id for each in scored],
            "model_id": model_id,
            "long_text": LONG_TEXT_BYTES,
        }
        rows = {row.id: row for row in self._run(wide_statement(), values)} if scored else {}
        return list(_widened(scored, rows))

    def _depth(self) -> int:
        return max(self.policy.depth, self.query.limit)

    def _scope(self) -> dict[str, Any]:
        scope: dict[str, Any] = {
            "user_id": self.query.user_id,
            "space_id": self.query.space_id,
            "depth": self._depth(),
        }
        if self.query.filtered:
            types = list(self.query.types) if self.query.types is not None else None
            scope |= {"theme": self.query.theme, "types": types, "created_after": self.query.created_after}
        return scope


def _candidate(row: Any, near: Near, places: dict[UUID, int]) -> Candidate:
    return Candidate(
        id=row.id,
        text="",
        type="",
        role="",
        created_at=row.created_at,
        importance=row.importance,
        pinned=row.pinned,
        bm25=row.score or 0.0,
        keyword_rank=row.rank,
        cosine=near.cosines.get(row.id) if row.distance is None else 1.0 - row.distance,
        semantic_rank=places.get(row.id),
        previous_id=row.previous_id,
    )


def _widened(scored: Iterable[Scored], rows: dict[UUID, Any]) -> Iterable[Scored]:
    for each in scored:
        row = rows.get(each.candidate.id)
        if row is None:
            continue  # Forgotten between the two reads.
        try:
            candidate = replace(
                each.candidate,
                text=row.text,
                type=row.type,
                role=row.role,
                theme=row.theme,
                tags=tuple(row.tags),
                source_ids=tuple(row.source_ids),
                summary=row.summary,
                vector=from_binary(row.vector),
            )
        except (TypeError, ValueError):
            logger.exception("the memory %s is malformed and was skipped", row.id)
        else:
            yield replace(each, candidate=candidate)


def from_binary(data: bytes | None) -> Vector | None:
    """Return the vector of a halfvec's binary form: big-endian half precision after a header."""
    if data is None:
        return None
    return np.frombuffer(data, dtype=">f2", offset=_HEADER).astype(np.float32)
