"""BM25 by another implementation, on the very tokens that PostgreSQL made: what our keyword leg must agree with.

Needs the package `bm25s`, which is a development dependency; `AVAILABLE` tells whether it is here.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.orm import Session

try:
    import bm25s
except ModuleNotFoundError:
    bm25s = None

AVAILABLE = bm25s is not None

_TERMS = text("""
SELECT m.id, array(
    SELECT t.lexeme FROM unnest(m.tsv) t, generate_series(1, cardinality(t.positions))
) FROM memories m
WHERE m.user_id = :user_id AND m.space_id = :space_id AND m.status = 'active' ORDER BY m.id
""")
_WORDS = text("SELECT tsvector_to_array(to_tsvector('english'::regconfig, :question))")


def reference_bm25(
    session: Session, user_id: UUID, space_id: UUID, questions: Sequence[str], *, k1: float, b: float
) -> list[dict[UUID, float]]:
    """Return, for each question, the score above 0 of each memory of the space, the best first, ties by id.

    The variant of Lucene: idf * tf / (tf + k1 * (1 - b + b * length / mean length)), in double precision. Raises
    `RuntimeError` without the package.
    """
    if bm25s is None:
        raise RuntimeError("the reference needs the package bm25s")
    rows = session.execute(_TERMS, {"user_id": user_id, "space_id": space_id}).all()
    index = bm25s.BM25(k1=k1, b=b, method="lucene", dtype="float64")
    index.index([terms for _, terms in rows], show_progress=False)
    ids = [memory_id for memory_id, _ in rows]
    return [_scores(index, ids, session.scalar(_WORDS, {"question": each})) for each in questions]


def _scores(index: bm25s.BM25, ids: Sequence[UUID], words: list[str]) -> dict[UUID, float]:
    known = [word for word in words if word in index.vocab_dict]
    if not known:
        return {}
    scored = zip(ids, index.get_scores(known).tolist(), strict=True)
    return dict(sorted(((i, s) for i, s in scored if s > 0), key=lambda pair: (-pair[1], pair[0])))
