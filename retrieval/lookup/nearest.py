"""The memories that say nearly the same as one that is stored: its neighbours by vector."""

from __future__ import annotations

from uuid import UUID

from pgvector import HalfVector
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from memory.embedding.likeness import likeness, unrelated_cosine
from memory.models import Embedding, EmbeddingModel, Memory
from memory.storage.driver import fetch
from memory.storage.shelves import MEMORIES
from retrieval.lookup.candidates import EXACT_SCAN_LIMIT, from_binary
from retrieval.lookup.statements import approximate_statement, exact_statement


def neighbours_of(
    session: Session, memory: Memory, model: EmbeddingModel, *, scope_size: int, most: int
) -> list[tuple[UUID, float]]:
    """Return the active memories of its space that come nearest to a memory, the nearest first, with their cosines.

    These are on the scale where texts that have nothing to do with each other have 0 by the model.
    What is compared is the whole of each: a text that says what one passage of this one says is not nearly the same.
    Empty while it has no vector by the model. Every vector of the space is compared while `scope_size`, the number of
    memories in it, is small; beyond that the model's index answers.
    """
    mine = (Embedding.user_id == memory.user_id, Embedding.memory_id == memory.id, Embedding.model_id == model.id)
    vector = from_binary(session.scalar(select(func.halfvec_send(Embedding.vector)).where(*mine)))
    if vector is None:
        return []
    if scope_size <= EXACT_SCAN_LIMIT:
        statement = exact_statement(MEMORIES, most + 1, filtered=False, passages=False)
    else:
        statement = approximate_statement(
            MEMORIES, str(model.id), vector.shape[0], most + 1, filtered=False, passages=False
        )
    values = {
        "user_id": memory.user_id,
        "space_id": memory.space_id,
        "vector": HalfVector(vector),
        "model_id": model.id,
    }
    rows = fetch(session, statement, values)
    unrelated = unrelated_cosine(model)
    near = [(found, likeness(1.0 - distance, unrelated)) for found, _scope, distance in rows if found != memory.id]
    return near[:most]
