from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest
from sqlalchemy import func, select

from evals.locomo import Conversation
from evals.run_locomo import evaluate, variants
from memory.database import user_session
from memory.models import LastScore
from tasks.runtime import Runtime

NOW = datetime(2024, 1, 1, tzinfo=UTC)
Place = tuple[Runtime, UUID]

pytestmark = pytest.mark.usefixtures("imported")


def test_every_fusion_and_leg_is_a_variant() -> None:
    assert set(variants()) == {
        "balanced",
        "specified",
        "fusion convex",
        "fusion minmax",
        "fusion rrf",
        "fusion cosine",
        "keyword alone",
        "semantic alone",
    }


def test_the_default_finds_all_evidence_of_a_small_conversation(
    place: Place, conversations: list[Conversation]
) -> None:
    found = evaluate(*place, conversations, {"balanced": variants()["balanced"]}, now=NOW)
    headline = found.variants[0].headline
    assert (headline.questions, headline.recall_at_10, headline.mrr) == (4, 1.0, 1.0)


def test_a_memory_of_two_turns_answers_for_both(place: Place, conversations: list[Conversation]) -> None:
    twice = replace(conversations[0], questions=conversations[0].questions[3:4])
    found = evaluate(*place, [twice], {"balanced": variants()["balanced"]}, now=NOW)
    assert found.variants[0].answered[0].recall_at_5 == 1.0


def test_the_keyword_leg_finds_what_the_reference_finds(place: Place, conversations: list[Conversation]) -> None:
    pytest.importorskip("bm25s")
    found = evaluate(*place, conversations, {"keyword alone": variants()["keyword alone"]}, now=NOW)
    assert found.variants[0].answered == found.reference


def test_an_evaluation_leaves_nothing_behind(place: Place, conversations: list[Conversation]) -> None:
    before = _last_scores(place)
    evaluate(*place, conversations, {"balanced": variants()["balanced"]}, now=NOW)
    assert _last_scores(place) == before


def _last_scores(place: Place) -> int | None:
    runtime, user_id = place
    with user_session(runtime.sessions, user_id) as session:
        return session.scalar(select(func.count()).select_from(LastScore))


def test_progress_counts_the_questions_that_are_scored(place: Place, conversations: list[Conversation]) -> None:
    seen: list[int] = []
    evaluate(*place, conversations, variants(), now=NOW, on_progress=seen.append)
    assert sum(seen) == 5 * len(variants())
