from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import UUID

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from evals.corpus import WordModel
from evals.reference import AVAILABLE, reference_bm25
from memory.drafts.drafts import Draft
from memory.spaces.spaces import create_space
from memory.storage.database import user_session
from memory.writing.remember import remember_many
from retrieval.policy import Policy
from retrieval.query import Query
from retrieval.search import search
from retrieval.words.bm25 import LONGEST
from tasks.runtime import Runtime

# Not by importing it, as every process of the tests reads this file, and one of them runs it.
pytestmark = pytest.mark.skipif(not AVAILABLE, reason="bm25s is not here")

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
    policy = Policy(legs=("keyword",), k1=k1, b=b, min_score=0.0, depth=500, mmr_lambda=1.0, respellings=0)
    query = Query(user_id, space_id, question, limit=500, token_budget=None)
    found = search(session, query, policy, dense=None, now=NOW)
    candidates = [hit.ranked.scored.candidate for hit in found.hits]
    return {candidate.id: candidate.bm25 for candidate in candidates}


def longest(session: Session, user_id: UUID, space_id: UUID) -> set[UUID]:
    statement = text("""
        SELECT m.id FROM memories m JOIN spaces s ON s.user_id = m.user_id AND s.id = m.space_id
        WHERE m.user_id = :user_id AND m.space_id = :space_id
          AND (SELECT sum(cardinality(t.positions)) FROM unnest(m.tsv) t) > :most * s.tokens / s.documents""")
    return set(session.scalars(statement, {"user_id": user_id, "space_id": space_id, "most": LONGEST}))


def without(scores: Found, ids: set[UUID]) -> Found:
    return {each: score for each, score in scores.items() if each not in ids}


@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (2.0, 0.0), (0.5, 1.0)])
def test_our_scores_are_those_of_another_implementation(scope: tuple[Session, UUID, UUID], k1: float, b: float) -> None:
    expected = reference_bm25(*scope, QUESTIONS, k1=k1, b=b)
    long = longest(*scope)
    assert len(long) < 10
    for question, scores in zip(QUESTIONS, expected, strict=True):
        found = ours(*scope, question, k1, b)
        assert without(found, long) == pytest.approx(without(scores, long), abs=1e-6)
        # What is longer than twice the mean is damped no more than that.
        for each in long & scores.keys():
            assert found[each] > scores[each] if b > 0 else found[each] == pytest.approx(scores[each])


def test_the_comparison_is_not_of_nothing(scope: tuple[Session, UUID, UUID]) -> None:
    assert sum(map(len, reference_bm25(*scope, QUESTIONS, k1=1.2, b=0.75))) > 1000


@pytest.mark.parametrize("texts", [[], ["the and of it"]])
def test_where_no_word_is_kept_nothing_is_found(newcomer: tuple[Runtime, UUID], texts: list[str]) -> None:
    runtime, user_id = newcomer
    with user_session(runtime.sessions, user_id) as session:
        space_id = create_space(session, user_id, "wordless", soft_cap=10, now=NOW, actor="test").id
        drafts = [Draft(each) for each in texts]
        remember_many(session, user_id, "wordless", drafts, keys=runtime.keys, now=NOW, actor="test")
        assert reference_bm25(session, user_id, space_id, ["Ada?", "the"], k1=1.2, b=0.75) == [{}, {}]
