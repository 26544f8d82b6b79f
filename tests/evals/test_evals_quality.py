from __future__ import annotations

import pytest

from evals.locomo import Question
from evals.quality import Answered, by_category, headline, measure

TWO = Question("Which two?", 1, ("D1:1", "D1:2"))


def test_a_hit_covers_every_turn_that_its_memory_came_from() -> None:
    assert measure(TWO, [["D1:2", "D1:1", "D5:5"]]).recall_at_5 == 1.0


def test_places_are_of_hits_and_not_of_turns() -> None:
    found = measure(TWO, [["D9:1", "D9:2", "D9:3"], ["D1:1"]])
    assert found.reciprocal_rank == pytest.approx(1 / 2)


def test_recall_is_cut_at_the_place() -> None:
    found = measure(TWO, [["D1:1"], *([f"D9:{n}"] for n in range(5)), ["D1:2"]])
    assert (found.recall_at_5, found.recall_at_10) == (0.5, 1.0)


def test_nothing_found_scores_nothing() -> None:
    assert measure(TWO, []) == Answered(1, 0.0, 0.0, 0.0, 0.0)


def test_the_headline_leaves_out_questions_without_an_answer() -> None:
    good, bad = Answered(4, 1.0, 1.0, 1.0, 1.0), Answered(5, 0.0, 0.0, 0.0, 0.0)
    assert headline([good, bad]).recall_at_10 == 1.0
    assert by_category([good, bad])[5].questions == 1
