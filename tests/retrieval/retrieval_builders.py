"""Candidates for tests, with everything that a test does not care about filled in."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import numpy as np
from hypothesis import strategies as st

from retrieval.ranking.types import Candidate, Ranked, Score, Scored

NOW = datetime(2024, 7, 10, 12, tzinfo=UTC)  # a Wednesday


def candidate(number: int = 1, **fields: Any) -> Candidate:
    if (vector := fields.get("vector")) is not None:
        fields["vector"] = np.array(vector, dtype=np.float32)
    defaults: dict[str, Any] = {"text": "text", "type": "fact", "role": "user", "created_at": NOW}
    defaults["bm25_around"] = fields.get("bm25", 0.0)
    return Candidate(**{"id": UUID(int=number), "importance": 0.5} | defaults | fields)


def scored(number: int, total: float, **fields: Any) -> Scored:
    return Scored(candidate(number, **fields), Score(total, 0.0, 0.0, total), total, 0.0)


def ranked(number: int = 1, text: str = "text", **fields: Any) -> Ranked:
    return Ranked(scored(number, 1.0, text=text, **fields), 0.0, number)


def candidate_lists() -> st.SearchStrategy[list[Candidate]]:
    """Up to 12 candidates that one leg, both or neither listed."""
    shape = st.fixed_dictionaries(
        {
            "bm25": st.floats(0, 50),
            "keyword_rank": st.none() | st.integers(1, 100),
            "cosine": st.none() | st.floats(-1, 1),
            "semantic_rank": st.none() | st.integers(1, 100),
            "importance": st.floats(-1, 2),
        }
    )
    return st.lists(shape, max_size=12).map(
        lambda shapes: [candidate(number, **fields) for number, fields in enumerate(shapes, start=1)]
    )
