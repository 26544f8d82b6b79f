"""BM25 by another implementation, on the very tokens that PostgreSQL made: what our keyword leg must agree with.

Needs the package `bm25s`, which is a development dependency; `AVAILABLE` tells whether it is here.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.orm import Session

from evals.dataset import DataSet, Question
from evals.examine import Examiner
from evals.places import Place
from evals.scores import Outcome, grouped
from memory.storage.database import user_session
from retrieval.policy import NAMED
from retrieval.words.unspaced import telling

if TYPE_CHECKING:
    import bm25s

AVAILABLE = find_spec("bm25s") is not None

_TERMS = text("""
SELECT m.id, array(
    SELECT t.lexeme FROM unnest(m.tsv) t, generate_series(1, cardinality(t.positions))
) FROM memories m
WHERE m.user_id = :user_id AND m.space_id = :space_id AND m.status = 'active' ORDER BY m.id
""")
_WORDS = text("SELECT tsvector_to_array(to_tsvector('english'::regconfig, in_words(:question)))")


def reference_bm25(
    session: Session, user_id: UUID, space_id: UUID, questions: Sequence[str], *, k1: float, b: float
) -> list[dict[UUID, float]]:
    """Return, for each question, the score above 0 of each memory of the space, the best first, ties by id.

    The variant of Lucene: idf * tf / (tf + k1 * (1 - b + b * length / mean length)), in double precision. Raises
    `RuntimeError` without the package.
    """
    if not AVAILABLE:
        raise RuntimeError("the reference needs the package bm25s")
    # Imported here: it imports scipy, for which every other command would wait too.
    import bm25s  # noqa: PLC0415

    # It reports every index that it builds on standard error.
    logging.getLogger("bm25s").setLevel(logging.WARNING)
    rows = session.execute(_TERMS, {"user_id": user_id, "space_id": space_id}).all()
    if not any(terms for _, terms in rows):
        # bm25s cannot index texts without a single word.
        return [{} for _ in questions]
    index = bm25s.BM25(k1=k1, b=b, method="lucene", dtype="float64")
    index.index([terms for _, terms in rows], show_progress=False)
    ids = [memory_id for memory_id, _ in rows]
    return [_scores(index, ids, session.scalar(_WORDS, {"question": telling(each)})) for each in questions]


def reference_outcomes(examiner: Examiner, data: DataSet) -> list[Outcome]:
    """Return what BM25 by the other implementation brings for each question that has evidence."""
    found = []
    for collection in data.collections:
        place = examiner.placed.places[collection.name]
        asked = [each for each in data.questions if each.collection == collection.name and each.expected]
        found += _asked(examiner, place, asked)
    return found


def _asked(examiner: Examiner, place: Place, asked: Sequence[Question]) -> list[Outcome]:
    policy, texts = NAMED["balanced"], [each.text for each in asked]
    with user_session(examiner.runtime.sessions, place.user_id) as session:
        told = reference_bm25(session, place.user_id, place.space_id, texts, k1=policy.k1, b=policy.b)
    ranked = [[place.held[one] for one in list(scores)[: examiner.limit]] for scores in told]
    return [
        Outcome(each, tuple(found), grouped(each.expected, place.holders), 0.0)
        for each, found in zip(asked, ranked, strict=True)
    ]


def _scores(index: bm25s.BM25, ids: Sequence[UUID], words: list[str]) -> dict[UUID, float]:
    known = [word for word in words if word in index.vocab_dict]
    if not known:
        return {}
    scored = zip(ids, index.get_scores(known).tolist(), strict=True)
    return dict(sorted(((i, s) for i, s in scored if s > 0), key=lambda pair: (-pair[1], pair[0])))
