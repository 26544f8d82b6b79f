from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import UUID

import pytest
from sqlalchemy.orm import Session

from evals.corpus import WordModel
from evals.reference import reference_bm25
from memory.database import user_session
from memory.drafts import Draft
from memory.remember import remember_many
from memory.spaces import create_space
from retrieval.query import Query
from retrieval.statements import keyword_statement
from tasks.runtime import Runtime

pytest.importorskip("bm25s")

NOW = datetime(2024, 1, 1, tzinfo=UTC)
WORDS = WordModel(seed=7)
QUESTIONS = [*WORDS.questions(25), "xyzzy nothing", "Ada Ada Ada", "the and of"]
Found = dict[UUID, float]


@pytest.fixture(scope="module")
def scope(place: tuple[Runtime, UUID]) -> Iterator[tuple[Session, UUID, UUID]]:
    runtime, user_id = place
    drafts = [Draft(each) for each in WORDS.texts(300)] + [Draft("Ada Ada Ada"), Draft("Ben")]
    with user_session(runtime.sessions, user_id) as session:
        space_id = create_space(session, user_id, "bm25", soft_cap=1000, now=NOW, actor="test").id
        remember_many(session, user_id, "bm25", drafts, keys=runtime.keys, now=NOW, actor="test")
        yield session, user_id, space_id


def ours(session: Session, user_id: UUID, space_id: UUID, question: str, k1: float, b: float) -> Found:
    statement = keyword_statement(Query(user_id, space_id, question))
    values = {"question": question, "k1": k1, "b": b, "depth": 1000, "also": []}
    rows = session.execute(statement, {**values, "user_id": user_id, "space_id": space_id})
    return {memory_id: score for memory_id, score, *_ in rows if memory_id is not None}


@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (2.0, 0.0), (0.5, 1.0)])
def test_our_scores_are_those_of_another_implementation(scope: tuple[Session, UUID, UUID], k1: float, b: float) -> None:
    expected = reference_bm25(*scope, QUESTIONS, k1=k1, b=b)
    for question, scores in zip(QUESTIONS, expected, strict=True):
        assert ours(*scope, question, k1, b) == pytest.approx(scores, abs=1e-6)


def test_the_comparison_is_not_of_nothing(scope: tuple[Session, UUID, UUID]) -> None:
    assert sum(map(len, reference_bm25(*scope, QUESTIONS, k1=1.2, b=0.75))) > 1000
