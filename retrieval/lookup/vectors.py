"""Vectors of stored memories, for what compares these with each other."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from uuid import UUID

import numpy as np
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from memory.ids import among
from memory.models import Embedding, EmbeddingModel
from retrieval.lookup.candidates import from_binary
from retrieval.ranking.types import Vector


def unit_vectors(
    session: Session, user_id: UUID, ids: Collection[UUID], model: EmbeddingModel
) -> Mapping[UUID, Vector]:
    """Return the vectors of memories by a model, each of length 1, by their ids; those that have none are not in it."""
    mine = (Embedding.user_id == user_id, Embedding.model_id == model.id, among(Embedding.memory_id, ids))
    rows = session.execute(select(Embedding.memory_id, func.halfvec_send(Embedding.vector)).where(*mine))
    found = {memory_id: from_binary(sent) for memory_id, sent in rows}
    return {each: vector / np.linalg.norm(vector) for each, vector in found.items() if vector is not None}
