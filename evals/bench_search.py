"""How long a search takes among many memories, stage by stage, beside the bare exact scan of the same vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import islice
from statistics import mean
from typing import Any
from uuid import UUID

import psycopg
from pgvector import HalfVector
from sqlalchemy.orm import Session

from evals.stock import model_of
from evals.tables import table
from evals.timing import Latency, latency, timed
from memory.embedding.cache import CachedEmbedder
from memory.storage.database import user_session
from retrieval.lookup.candidates import Source
from retrieval.policy import NAMED
from retrieval.query import Dense, Query, Result
from retrieval.ranking.types import Vector
from retrieval.search import search
from tasks.runtime import Runtime

WARM_UP = 20
NEAREST = 10
# Ranking and SQL may take so many times the bare scan.
LARGEST_RATIO = 2.5

_BARE = """
SELECT memory_id FROM embeddings
WHERE user_id = %s AND space_id = %s AND model_id = %s AND live AND vector IS NOT NULL
ORDER BY vector <=> %s::halfvec LIMIT 100
"""


@dataclass(frozen=True, slots=True)
class SearchBench:
    """What was measured, in milliseconds. `stages` are of searches with the question's vector in the cache.

    The keyword leg runs beside the semantic one, so the stages add up to more than the whole. `ranking_and_sql` is a
    whole search less the embedding of the question; `transaction` adds beginning and
    committing to a cached search. `dense_recall` is the share of the ten nearest vectors that the semantic leg found.
    """

    memories: int
    bare_owner: Latency
    bare_app: Latency
    uncached: Latency
    cached: Latency
    transaction: Latency
    ranking_and_sql: Latency
    stages: dict[str, Latency]
    dense_recall: float

    @property
    def ratio(self) -> float:
        """Return the median of ranking and SQL over the median of the bare scan under row-level security."""
        return round(self.ranking_and_sql.p50 / self.bare_app.p50, 2)


def bench_search(
    runtime: Runtime, user_id: UUID, space_id: UUID, questions: Sequence[str], *, memories: int, now: datetime
) -> SearchBench:
    """Measure searches for different questions in a space that holds `memories`, after a warm-up."""
    bench = _Bench(runtime, user_id, space_id, memories, now)
    with user_session(runtime.sessions, user_id) as session:
        model = model_of(session, user_id)
        session.expunge(model)
    remembering = runtime.providers.embedder(model, asked=True)
    # A cache of one entry never holds the next question.
    forgetting = CachedEmbedder(remembering.embedder, size=1)
    questions = [*questions[:WARM_UP], *questions]
    vectors = [remembering.embed_one(each)[0] for each in questions]
    uncached = bench.run(Dense.by(model, forgetting), questions)
    cached, owner, app = bench.beside_scans(Dense.by(model, remembering), questions, vectors)
    results = [result for result, _ in cached]
    return SearchBench(
        memories=memories,
        bare_owner=latency(owner),
        bare_app=latency(app),
        uncached=latency([result.timings["total"] for result, _ in uncached[WARM_UP:]]),
        cached=latency([result.timings["total"] for result in results]),
        transaction=latency([milliseconds for _, milliseconds in cached]),
        ranking_and_sql=latency([each.timings["total"] - each.timings["embed"] for each in results]),
        stages=_stages(results),
        dense_recall=bench.dense_recall(Dense.by(model, remembering), questions, vectors),
    )


@dataclass(frozen=True, slots=True)
class _Bench:
    runtime: Runtime
    user_id: UUID
    space_id: UUID
    memories: int
    now: datetime

    def run(self, dense: Dense, questions: Sequence[str]) -> list[tuple[Result, float]]:
        """Return the result of each search and the milliseconds of its whole transaction."""
        return [timed(lambda each=each: self._transaction(dense, each)) for each in questions]  # type: ignore[misc]

    def _transaction(self, dense: Dense, question: str) -> Result:
        with user_session(self.runtime.sessions, self.user_id) as session:
            return self._search(session, dense, question)

    def _search(self, session: Session, dense: Dense, question: str) -> Result:
        query = Query(self.user_id, self.space_id, question, scope_size=self.memories)
        result = search(session, query, NAMED["balanced"], dense=dense, now=self.now, reader=self.runtime.reader)
        if result.error or result.degraded:
            raise RuntimeError(f"a search went without {', '.join(result.degraded)}")
        return result

    def beside_scans(
        self, dense: Dense, questions: Sequence[str], vectors: Sequence[Vector]
    ) -> tuple[list[tuple[Result, float]], list[float], list[float]]:
        """Return searches, and milliseconds of exact scans as the owner and as the application's role.

        One of each in turn, so that whatever else this machine does slows all three alike.
        """
        databases = self.runtime.databases
        scope = (self.user_id, self.space_id, dense.model_id)
        searches, owned, confined = [], [], []
        with self._connection(databases.owner) as owner, self._connection(databases.app) as app:
            for question, vector in zip(questions, vectors, strict=True):
                values = (*scope, HalfVector(vector).to_text())
                owned.append(timed(lambda: owner.execute(_BARE, values).fetchall())[1])  # noqa: B023 - run at once
                searches += self.run(dense, [question])
                confined.append(timed(lambda: app.execute(_BARE, values).fetchall())[1])  # noqa: B023 - run at once
        return searches[WARM_UP:], owned[WARM_UP:], confined[WARM_UP:]

    def dense_recall(self, dense: Dense, questions: Sequence[str], vectors: Sequence[Vector]) -> float:
        """Return recall@10 of the semantic leg against the exact scan, the mean over the questions."""
        shares = []
        with self._connection(self.runtime.databases.owner) as owner:
            for question, vector in zip(questions, vectors, strict=True):
                values = (self.user_id, self.space_id, dense.model_id, HalfVector(vector).to_text())
                exact = {row[0] for row in owner.execute(_BARE, values).fetchmany(NEAREST)}
                with user_session(self.runtime.sessions, self.user_id) as session:
                    query = Query(self.user_id, self.space_id, question, scope_size=self.memories)
                    near = Source(session, query, NAMED["balanced"], self.now).semantic_leg(dense, vector)
                shares.append(len(exact & set(islice(near.cosines, NEAREST))) / len(exact))
        return round(mean(shares), 4)

    @contextmanager
    def _connection(self, url: str) -> Iterator[psycopg.Connection[Any]]:
        with psycopg.connect(url, options="-c jit=off") as connection:
            connection.execute("SELECT set_config('app.user_id', %s, true)", [str(self.user_id)])
            yield connection


def _stages(results: Sequence[Result]) -> dict[str, Latency]:
    names = dict.fromkeys(name for result in results for name in result.timings if name != "total")
    return {name: latency([each.timings.get(name, 0.0) for each in results]) for name in names}


def to_dict(bench: SearchBench) -> dict[str, Any]:
    """Return the measurements in values that JSON can carry."""
    return {**asdict(bench), "ratio": bench.ratio, "largest_ratio": LARGEST_RATIO}


def to_text(bench: SearchBench) -> str:
    """Return the measurements as a table."""
    rows = {
        "bare exact scan, owner": bench.bare_owner,
        "bare exact scan, app role": bench.bare_app,
        "search, question embedded": bench.uncached,
        "search, question cached": bench.cached,
        "  with begin and commit": bench.transaction,
        "ranking and SQL": bench.ranking_and_sql,
        **{f"  {name}": each for name, each in bench.stages.items()},
    }
    body = table(("milliseconds", "p50", "p95"), [(name, each.p50, each.p95) for name, each in rows.items()])
    verdict = f"ranking and SQL / bare scan: {bench.ratio:.2f} (at most {LARGEST_RATIO})"
    verdict += f"\nrecall@{NEAREST} of the semantic leg against the exact scan: {bench.dense_recall:.3f}"
    return f"{bench.memories} memories, {bench.cached.count} questions\n\n{body}\n\n{verdict}"
