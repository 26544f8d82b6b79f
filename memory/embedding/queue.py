"""Which vectors are wanted: the rows that wait, their claims, and what came of them.

`memories.needs_embedding` is the truth: it is false only while the active model has a vector of the present text.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector
from sqlalchemy import text
from sqlalchemy.orm import Session

MAX_ATTEMPTS = 6
# A claim whose worker was killed falls due again after this. A worker that lives renews its claims well before, so
# the lease need not outlast the slowest batch; if it lapses all the same, a row is embedded twice and stored once.
LEASE = timedelta(seconds=6)
BACKOFF = timedelta(seconds=2)
LONGEST_BACKOFF = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Job:
    """One text to embed with one model. `version` is the memory's at the time of the claim."""

    user_id: UUID
    memory_id: UUID
    model_id: UUID
    version: int
    attempts: int
    text: str


# The lock on the model waits for a flip that is deleting it, instead of failing on the foreign key.
_ENQUEUE = text("""
INSERT INTO embeddings (user_id, memory_id, model_id, space_id, live, version, due_at, created_at, updated_at)
SELECT m.user_id, m.id, e.id, m.space_id, m.status = 'active', m.version, :now, :now, :now
FROM memories m JOIN embedding_models e ON e.user_id = m.user_id
WHERE m.user_id = :user_id AND m.id = ANY(:ids)
FOR KEY SHARE OF e
ON CONFLICT (user_id, memory_id, model_id) DO UPDATE SET
    state = 'pending', vector = NULL, version = excluded.version, attempts = 0, error = NULL,
    due_at = excluded.due_at, created_at = excluded.created_at, updated_at = excluded.updated_at
""")

_ENQUEUE_MISSING = text("""
INSERT INTO embeddings (user_id, memory_id, model_id, space_id, live, version, due_at, created_at, updated_at)
SELECT m.user_id, m.id, e.id, m.space_id, m.status = 'active', m.version, :now, :now, :now
FROM memories m JOIN embedding_models e ON e.user_id = m.user_id
WHERE m.user_id = :user_id AND NOT EXISTS (
    SELECT 1 FROM embeddings x WHERE x.user_id = m.user_id AND x.memory_id = m.id AND x.model_id = e.id
)
ORDER BY m.id
FOR KEY SHARE OF m, e
ON CONFLICT DO NOTHING
""")

# Every statement below looks rows up by the ids that it is given, and joins nothing else: while a user's rows are new,
# the planner's statistics do not know them yet, and a join is then done by comparing every row with every other.
_DUE = text("""
SELECT memory_id, model_id FROM embeddings
WHERE user_id = :user_id AND state = 'pending' AND due_at <= :now
ORDER BY due_at LIMIT :most FOR UPDATE SKIP LOCKED
""")

_CLAIM = text("""
UPDATE embeddings SET attempts = attempts + 1, due_at = :lease_ends
WHERE user_id = :user_id AND memory_id = ANY(:memory_ids) AND model_id = :model_id
RETURNING memory_id, attempts
""")

_TEXTS = text("SELECT id, version, text FROM memories WHERE user_id = :user_id AND id = ANY(:memory_ids)")

_RENEW = text("""
UPDATE embeddings e SET due_at = :lease_ends
FROM unnest(CAST(:memory_ids AS uuid[]), CAST(:model_ids AS uuid[]), CAST(:versions AS int[]))
    AS v(memory_id, model_id, version)
WHERE e.user_id = :user_id AND e.memory_id = ANY(:memory_ids) AND e.memory_id = v.memory_id
  AND e.model_id = v.model_id AND e.version = v.version AND e.state = 'pending'
""")

# Memories before vectors, in the order of the ids: as an edit or a trim locks them, so that none waits for the other.
_LOCK = text("""
SELECT id FROM memories WHERE user_id = :user_id AND id = ANY(:memory_ids) ORDER BY id FOR NO KEY UPDATE
""")

# A text that was changed while its vector was made has a newer version, and keeps waiting.
_STORE = text("""
UPDATE embeddings SET state = 'ready', vector = :vector, error = NULL, updated_at = :now
WHERE user_id = :user_id AND memory_id = :memory_id AND model_id = :model_id
  AND version = :version AND state <> 'ready'
""")

# The memories are locked, so their version is that of the vectors just stored, or newer, and then they keep waiting.
_MARK_DONE = text("""
UPDATE memories m SET needs_embedding = false
WHERE m.user_id = :user_id AND m.id = ANY(:memory_ids) AND m.needs_embedding
  AND m.version = ANY(
      SELECT e.version FROM embeddings e
      WHERE e.user_id = m.user_id AND e.memory_id = m.id AND e.model_id = :model_id AND e.state = 'ready')
""")

_SERVES = text("SELECT state = 'active' FROM embedding_models WHERE user_id = :user_id AND id = :model_id")

_FAIL = text("""
UPDATE embeddings SET error = :error, state = :state, due_at = :due_at, updated_at = :now
WHERE user_id = :user_id AND memory_id = :memory_id AND model_id = :model_id
  AND version = :version AND state = 'pending'
""")

_RETRY_FAILED = text("""
UPDATE embeddings SET state = 'pending', attempts = 0, error = NULL, due_at = :now
WHERE user_id = :user_id AND state = 'error'
""")


def enqueue(session: Session, user_id: UUID, memory_ids: Sequence[UUID], now: datetime) -> None:
    """Ask for vectors of these memories by every model of the user, whatever vectors there were."""
    if memory_ids:
        session.execute(_ENQUEUE, {"user_id": user_id, "ids": list(memory_ids), "now": now})


def enqueue_missing(session: Session, user_id: UUID, now: datetime) -> int:
    """Ask for every vector that the user's models lack; return how many were added."""
    return int(session.execute(_ENQUEUE_MISSING, {"user_id": user_id, "now": now}).rowcount)  # type: ignore[attr-defined]


def retry_failed(session: Session, user_id: UUID, now: datetime) -> int:
    """Let rows in error wait again; return how many."""
    return int(session.execute(_RETRY_FAILED, {"user_id": user_id, "now": now}).rowcount)  # type: ignore[attr-defined]


def claim(session: Session, user_id: UUID, most: int, now: datetime) -> list[Job]:
    """Take up to `most` due rows, skipping those that another worker is taking; the caller commits.

    A claim counts as an attempt and lapses after `LEASE` unless it is renewed, so a killed worker loses nothing.
    """
    scope = {"user_id": user_id}
    due: dict[UUID, list[UUID]] = defaultdict(list)
    for memory_id, model_id in session.execute(_DUE, {**scope, "most": most, "now": now}):
        due[model_id].append(memory_id)
    ids = [memory_id for group in due.values() for memory_id in group]
    # Read after the claim: what an edit changed before it shows here, with the version that goes with it.
    attempts = {
        (memory_id, model_id): n
        for model_id, group in due.items()
        for memory_id, n in session.execute(
            _CLAIM, {**scope, "memory_ids": group, "model_id": model_id, "lease_ends": now + LEASE}
        )
    }
    texts = {row.id: row for row in session.execute(_TEXTS, {**scope, "memory_ids": ids})} if ids else {}
    return [
        Job(user_id, memory_id, model_id, texts[memory_id].version, tried, texts[memory_id].text)
        for (memory_id, model_id), tried in attempts.items()
        if memory_id in texts
    ]


def renew(session: Session, jobs: Sequence[Job], now: datetime) -> None:
    """Keep the claims of jobs of one user from lapsing for another `LEASE`; the caller commits."""
    parameters = {
        "user_id": jobs[0].user_id,
        "memory_ids": [job.memory_id for job in jobs],
        "model_ids": [job.model_id for job in jobs],
        "versions": [job.version for job in jobs],
        "lease_ends": now + LEASE,
    }
    session.execute(_RENEW, parameters)


def store(session: Session, jobs: Sequence[Job], vectors: NDArray[np.float32], now: datetime) -> None:
    """Write vectors, shape (len(jobs), dimensions), of jobs of one user and one model; the caller commits."""
    if not jobs:
        return
    user_id, model_id = jobs[0].user_id, jobs[0].model_id
    ids = [job.memory_id for job in jobs]
    rows = [
        {
            "user_id": user_id,
            "memory_id": job.memory_id,
            "model_id": model_id,
            "version": job.version,
            "vector": HalfVector(vector),
            "now": now,
        }
        for job, vector in zip(jobs, vectors, strict=True)
    ]
    session.execute(_LOCK, {"user_id": user_id, "memory_ids": ids})
    # Row by row in one round trip, each vector in its binary form: as one array they would travel as text.
    session.connection().execute(_STORE, rows)
    if session.scalar(_SERVES, {"user_id": user_id, "model_id": model_id}):
        session.execute(_MARK_DONE, {"user_id": user_id, "memory_ids": ids, "model_id": model_id})


def fail(session: Session, job: Job, error: str, *, permanent: bool, now: datetime) -> None:
    """Put a job back with exponential back-off and jitter, or mark it `error` after the last attempt."""
    over = permanent or job.attempts >= MAX_ATTEMPTS
    parameters = {
        "user_id": job.user_id,
        "memory_id": job.memory_id,
        "model_id": job.model_id,
        "version": job.version,
        "error": error[:500],
        "state": "error" if over else "pending",
        "due_at": now + backoff(job.attempts),
        "now": now,
    }
    session.execute(_FAIL, parameters)


def backoff(attempts: int) -> timedelta:
    """Return 2 s, 4 s, 8 s … for attempts 1, 2, 3 …, at most ten minutes, times 0.5 to 1.5 at random."""
    wait: timedelta = min(BACKOFF * 2 ** min(max(0, attempts - 1), 20), LONGEST_BACKOFF)
    return wait * random.uniform(0.5, 1.5)  # noqa: S311 - spreads retries, guards nothing
