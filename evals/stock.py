"""Fill a space with many memories at once, past the write path: what is measured afterwards is reading."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Engine, insert, text
from sqlalchemy.orm import Session

from memory.drafts.drafts import Draft
from memory.drafts.prepared import prepare
from memory.embedding.indexes import maintain_indexes
from memory.embedding.models import active_model, note_success
from memory.ids import new_id
from memory.models import Embedding, EmbeddingModel, Memory, Space
from memory.spaces.spaces import create_space
from memory.storage.database import make_engine, user_session
from memory.texts.fingerprints import to_signed
from retrieval.lookup.candidates import EXACT_SCAN_LIMIT
from tasks.runtime import Runtime

SPACE = "bench"
BATCH = 1000
# The time between two memories: with ten thousand, they span a year.
STEP = timedelta(hours=1)

Vectors = NDArray[np.float32]
Progress = Callable[[int], None]


def stock(
    runtime: Runtime,
    user_id: UUID,
    texts: Sequence[str],
    *,
    now: datetime,
    vectors: Vectors | None = None,
    room: int = 0,
    at_rest: bool = True,
    on_progress: Progress = lambda _rows: None,
) -> UUID:
    """Store different texts in a new space, embedded; return the space's id.

    The space holds `room` more. At the end the database is brought to rest, unless `at_rest` is False.

    `vectors`, of shape (len(texts), dimensions), stand for embeddings that would take minutes; without them the
    user's model makes the real ones. `on_progress` is told how many rows were stored, then how many embedded.
    """
    runtime.backfill.adopt(user_id)
    with user_session(runtime.sessions, user_id) as session:
        space = create_space(session, user_id, SPACE, soft_cap=len(texts) + room, now=now, actor="bench")
        session.expunge(space)
    for start in range(0, len(texts), BATCH):
        batch = texts[start : start + BATCH]
        rows = [memory_row(space, each, now - STEP * (start + place)) for place, each in enumerate(batch)]
        # One transaction for each batch: the planner counts only rows that are committed, and would otherwise choose
        # the plan for a few rows.
        with user_session(runtime.sessions, user_id) as session:
            session.execute(insert(Memory), rows)
            if vectors is not None:
                _store_vectors(session, rows, vectors[start : start + BATCH])
        on_progress(len(batch))
    runtime.backfill.run(on_progress)
    if at_rest:
        bring_to_rest(runtime)
    return space.id


def bring_to_rest(runtime: Runtime) -> None:
    """Do what autovacuum and the worker would do in time, so that plans and indexes are those of a database at rest."""
    owner: Engine = make_engine(runtime.databases.owner, pool_size=1)
    with owner.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM ANALYZE"))
    maintain_indexes(owner, EXACT_SCAN_LIMIT)
    owner.dispose()


def around(centres: Vectors, count: int, seed: int = 0) -> Vectors:
    """Return `count` random unit vectors, shape (count, dimensions), each near one of the unit rows `centres`."""
    chance = np.random.default_rng(seed)
    noise = chance.standard_normal((count, centres.shape[1])) / np.sqrt(centres.shape[1])
    rows = centres[chance.integers(len(centres), size=count)] + noise
    scaled: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return scaled


def model_of(session: Session, user_id: UUID) -> EmbeddingModel:
    """Return the user's active model; raises `RuntimeError` when there is none."""
    model = active_model(session, user_id)
    if model is None:
        raise RuntimeError("the user has no embedding model")
    return model


def memory_row(space: Space, said: str, created_at: datetime) -> dict[str, Any]:
    """Return the columns of a memory as the write path would fill them, with an id of its own."""
    prepared = prepare(Draft(said))
    return {
        "user_id": space.user_id,
        "id": new_id(),
        "space_id": space.id,
        "type": "note",
        "role": "user",
        "text": said,
        "text_digest": prepared.digest,
        "template_digest": prepared.template,
        "simhash": to_signed(prepared.simhash),
        "importance": 0.5,
        "needs_embedding": True,
        "created_at": created_at,
        "updated_at": created_at,
    }


def _store_vectors(session: Session, rows: Sequence[dict[str, Any]], vectors: Vectors) -> None:
    """Mark the rows as embedded, by vectors that no model made."""
    user_id = rows[0]["user_id"]
    model = model_of(session, user_id)
    note_success(session, user_id, model.id, vectors.shape[1])
    ready = [
        {
            "user_id": user_id,
            "memory_id": row["id"],
            "model_id": model.id,
            "space_id": row["space_id"],
            "state": "ready",
            "version": 1,
            "due_at": row["created_at"],
            "created_at": row["created_at"],
            "updated_at": row["created_at"],
            "vector": vector,
        }
        for row, vector in zip(rows, vectors, strict=True)
    ]
    session.execute(insert(Embedding), ready)
    done = text("UPDATE memories SET needs_embedding = false WHERE user_id = :user_id AND id = ANY(:ids)")
    session.execute(done, {"user_id": user_id, "ids": [row["id"] for row in rows]})
