from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import func, select, text

from evals.dataset import Collection, DataSet, Item, Question
from evals.errors import MeasureError
from evals.examine import Examiner
from evals.locomo import Conversation
from evals.locomo_set import to_data_set
from evals.long_notes import in_notes
from evals.places import put
from evals.policies import DEFAULT, default_only, variants
from evals.report import run
from memory.models import LastScore, Memory
from memory.storage.database import user_session
from retrieval.policy import NAMED
from retrieval.query import Result
from tasks.runtime import Runtime

pytestmark = pytest.mark.slow

NOW = datetime(2024, 1, 1, tzinfo=UTC)
UV, TEA, CAT = "User prefers uv over pip", "The user drinks green tea", "The cat is called Miso"
Place = tuple[Runtime, UUID]


def small() -> DataSet:
    """Two collections; the cat is in the first alone."""
    many = Collection("many", tuple(Item(str(n), each) for n, each in enumerate((UV, TEA, CAT, "  uv OVER pip "))))
    few = Collection("few", tuple(Item(str(n), each) for n, each in enumerate((UV, TEA))))
    asked = "What is the name of the cat?"
    return DataSet(
        "golden",
        "small",
        (many, few),
        (
            Question("uv", "tools", "Does the user prefer uv or pip?", "many", frozenset("0")),
            Question("cat", "pets", asked, "many", frozenset("2")),
            Question("none", "nothing", asked, "few", frozenset()),
        ),
    )


@pytest.fixture
def talk(newcomer: Place, conversations: list[Conversation]) -> tuple[Examiner, DataSet]:
    runtime, user_id = newcomer
    data = to_data_set(conversations)
    return Examiner(runtime, put(runtime, user_id, data, now=NOW), NOW), data


def test_questions_are_asked_among_their_own_memories_and_by_a_stranger(newcomer: Place) -> None:
    runtime, user_id = newcomer
    data = small()
    examiner = Examiner(runtime, put(runtime, user_id, data, now=NOW), NOW)
    outcomes = run(examiner, data, default_only()).main.outcomes
    assert [each.found[:1] for each in outcomes] == [(("0",),), (("2",),), ()]
    assert all(each.safe and each.compliant and each.milliseconds > 0 for each in outcomes)
    stranger = examiner.placed.stranger
    assert stranger is not None
    with user_session(runtime.sessions, stranger) as session:
        # There is something of theirs to mistake for the owner's.
        assert set(session.scalars(select(Memory.text))) == {item.text for item in data.collections[0].items}


def test_talks_are_refused_that_would_be_in_one_space(newcomer: Place, conversations: list[Conversation]) -> None:
    runtime, user_id = newcomer
    data = to_data_set([*conversations, replace(conversations[0], name="Conv 1")])
    with pytest.raises(MeasureError, match="the talks 'conv-1' and 'Conv 1' would be in one space, conv-1"):
        put(runtime, user_id, data, now=NOW)


def test_notes_that_are_too_long_together_are_no_traceback(newcomer: Place) -> None:
    runtime, user_id = newcomer
    halves = tuple(Item(str(n), "tea " * 10_000) for n in range(2))
    data = in_notes(DataSet("golden", "long", (Collection("long", halves),), ()), 2)
    with pytest.raises(MeasureError, match="the memory 'n1' cannot be stored: text: must be at most"):
        put(runtime, user_id, data, now=NOW)


def test_a_memory_of_another_place_is_a_leak(newcomer: Place) -> None:
    runtime, user_id = newcomer
    data = small()
    examiner = Examiner(runtime, put(runtime, user_id, data, now=NOW), NOW)
    many = examiner.placed.places["many"]
    blind = replace(examiner.placed, places={"many": replace(many, held={})})
    asked = [each for each in data.questions if each.collection == "many"]
    found = replace(examiner, placed=blind).thorough(asked, default_only()[DEFAULT], lambda _: None)
    assert [each.safe for each in found] == [False, False]


def test_a_stranger_who_gets_something_is_a_leak(newcomer: Place) -> None:
    runtime, user_id = newcomer
    data = small()
    examiner = Examiner(runtime, put(runtime, user_id, data, now=NOW), NOW)
    # The owner plays the stranger, whom the database does not stop.
    open_door = replace(examiner, placed=replace(examiner.placed, stranger=user_id))
    found = open_door.thorough(data.questions[:1], default_only()[DEFAULT], lambda _: None)
    assert found[0].safe is False


def test_an_answer_above_the_budget_is_not_compliant(newcomer: Place) -> None:
    class Spendthrift(Examiner):
        def ask(self, *asked: Any, budget: int | None = None, **more: Any) -> Result:
            return super().ask(*asked, **more)

    runtime, user_id = newcomer
    teas = ("green", "black", "white", "yellow", "smoked", "aged", "iced", "salted", "roasted", "wild", "red", "blue")
    notes = tuple(
        Item(kind, f"The user drinks {kind} tea. " + f"Of {kind} tea there is {kind} tea. " * 40) for kind in teas
    )
    asked = Question("tea", "tea", "Which tea does the user drink?", "tea", frozenset(teas))
    placed = put(runtime, user_id, DataSet("golden", "tea", (Collection("tea", notes),), (asked,)), now=NOW)
    never_silent = replace(NAMED[DEFAULT], min_score=0.0)
    for examiner, compliant in ((Examiner(runtime, placed, NOW), True), (Spendthrift(runtime, placed, NOW), False)):
        [outcome] = examiner.thorough([asked], never_silent, lambda _questions: None)
        assert len(outcome.found) > 1
        assert outcome.compliant is compliant


def test_without_a_stranger_nothing_is_said_of_safety(newcomer: Place) -> None:
    runtime, user_id = newcomer
    data = small()
    examiner = Examiner(runtime, put(runtime, user_id, data, now=NOW, alone=False), NOW)
    found = run(examiner, data, default_only()).main
    assert [each.safe for each in found.outcomes] == [None] * 3
    assert (found.mean("safety"), found.mean("token budget")) == (None, 1.0)


def test_who_is_never_silent_answers_what_has_no_answer(newcomer: Place) -> None:
    runtime, user_id = newcomer
    data = small()
    examiner = Examiner(runtime, put(runtime, user_id, data, now=NOW), NOW)
    compared = {name: variants()[name] for name in ("balanced", "never silent")}
    found = run(examiner, data, compared).variants
    assert [each.mean("abstention") for each in found] == [1.0, 0.0]


def test_every_fusion_and_leg_is_a_variant() -> None:
    fusions = {f"fusion {name}" for name in ("convex", "minmax", "rrf", "cosine")}
    assert set(variants()) == {"balanced", "specified", "keyword alone", "semantic alone", "never silent", *fusions}


def test_all_evidence_of_a_small_conversation_is_found_and_its_sessions(talk: tuple[Examiner, DataSet]) -> None:
    examiner, data = talk
    found = run(examiner, data, default_only()).main
    names = ("recall@10", "MRR", "session recall@10", "recall@10 of sessions")
    assert [(found.mean(name), found.measures[name].cases) for name in names] == [(1.0, 4)] * 4
    assert (data.unscored, "5 adversarial" in found.by_category) == (1, True)


def test_a_memory_of_two_turns_answers_for_both(talk: tuple[Examiner, DataSet]) -> None:
    examiner, data = talk
    twice = replace(data, questions=tuple(each for each in data.questions if len(each.expected) == 2))
    (found,) = run(examiner, twice, default_only()).main.outcomes
    assert (len(found.items), found.sessions) == (1, frozenset({"1", "2"}))
    assert run(examiner, twice, default_only()).main.mean("recall@5") == 1.0


def test_the_keyword_leg_finds_what_the_reference_finds(talk: tuple[Examiner, DataSet]) -> None:
    pytest.importorskip("bm25s")
    examiner, data = talk
    found = run(examiner, data, {"keyword alone": variants()["keyword alone"]})
    assert found.reference is not None
    assert {each: got["recall@10"] for each, got in found.reference.cases.items()} == {
        each: got["recall@10"] for each, got in found.main.cases.items()
    }


def test_an_evaluation_leaves_nothing_behind(talk: tuple[Examiner, DataSet], newcomer: Place) -> None:
    runtime, user_id = newcomer
    run(*talk, default_only())
    with user_session(runtime.sessions, user_id) as session:
        assert session.scalar(select(func.count()).select_from(LastScore)) == 0


def test_a_search_without_vectors_measures_nothing(talk: tuple[Examiner, DataSet], newcomer: Place) -> None:
    examiner, data = talk
    runtime, user_id = newcomer
    with user_session(runtime.sessions, user_id) as session:
        session.execute(text("UPDATE embedding_models SET dimensions = 7"))
    with pytest.raises(MeasureError, match="was searched without semantic"):
        run(examiner, data, default_only())


def test_progress_counts_the_questions_that_are_scored(talk: tuple[Examiner, DataSet]) -> None:
    seen: list[int] = []
    run(*talk, variants(), seen.append)
    assert sum(seen) == 5 * len(variants())


def test_a_vector_is_made_once(talk: tuple[Examiner, DataSet]) -> None:
    examiner, data = talk
    examiner.warm_up(data.questions)
    embedder = next(iter(examiner.warm.values())).embedder
    assert all(embedder.embed_one(each.text)[1] for each in data.questions)
