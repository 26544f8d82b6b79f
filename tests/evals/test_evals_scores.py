from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from evals.dataset import Question
from evals.means import compare, interval, measure, measures
from evals.scores import Outcome, grouped, misses, scores


def outcome(found: Sequence[str | Sequence[str]], *expected: str, together: Sequence[str] = (), **more: Any) -> Outcome:
    """Each hit stands for one id, or for several; `together` are expected ids that one memory holds."""
    asked = Question("q", "c", "?", "here", frozenset(expected))
    holders: Mapping[str, Any] = dict.fromkeys(together, "one") | {e: e for e in expected if e not in together}
    hits = tuple((each,) if isinstance(each, str) else tuple(each) for each in found)
    return Outcome(asked, hits, grouped(asked.expected, holders), 5.0, **more)


def test_the_measures_by_hand() -> None:
    got = scores(outcome(["x", "b", "a"], "a", "b", "c"))
    # Discounts 1/log2(3) and 1/log2(4) of what 1, 1/log2(3) and 1/log2(4) would be.
    expected = {"recall@1": 0, "recall@5": 2 / 3, "recall@10": 2 / 3, "hit@5": 1, "MRR": 0.5, "nDCG@10": 0.5307213}
    assert {name: got[name] for name in expected} == pytest.approx(expected)
    assert "precision@5" not in got


def test_a_hit_covers_everything_that_its_memory_stands_for() -> None:
    got = scores(outcome([("b", "a", "x")], "a", "b", together=("a", "b")))
    assert (got["recall@1"], got["nDCG@10"], got["MRR"]) == (1.0, 1.0, 1.0)


def test_a_hit_that_merged_several_right_ones_is_one_of_them() -> None:
    merged = scores(outcome([("b", "a")], "a", "b"))
    assert (merged["recall@1"], merged["MRR"]) == (1.0, 1.0)
    # Each item once: here the hit stands for the one that no other brings, and does not take a second place.
    both = scores(outcome(["a", ("a", "b")], "a", "b"))
    assert (both["MRR"], both["nDCG@10"]) == (1.0, 1.0)


def test_what_was_not_stored_counts_as_missed() -> None:
    alone = frozenset({"lost"})
    assert grouped(frozenset({"a", "b", "lost"}), {"a": 1, "b": 1}) == {frozenset({"a", "b"}), alone}
    assert scores(outcome(["a"], "a", "lost"))["recall@10"] == 0.5


def test_places_are_of_hits_and_not_of_ids() -> None:
    assert scores(outcome([("x", "y", "z"), "a"], "a"))["MRR"] == pytest.approx(1 / 2)


def test_recall_is_cut_at_the_place() -> None:
    got = scores(outcome(["a", *(f"x{n}" for n in range(5)), "b"], "a", "b"))
    assert (got["recall@5"], got["recall@10"]) == (0.5, 1.0)


def test_precision_needs_five_expected_memories() -> None:
    assert scores(outcome(["a", "x", "b"], *"abcde"))["precision@5"] == pytest.approx(0.4)
    assert "precision@5" not in scores(outcome(["a"], *"abcde", together="ab"))


@pytest.mark.parametrize(("found", "abstention"), [([], 1), (["x"], 0)])
def test_nothing_is_expected_of_some(found: list[str], abstention: float) -> None:
    assert scores(outcome(found))["abstention"] == abstention


def test_a_session_is_found_by_any_of_its_turns() -> None:
    ten = tuple(frozenset({each}) for each in ("s9", *["s8"] * 9, "s2"))
    got = scores(outcome(["x"] * 11, "a", "b", sessions=frozenset({"s9", "s2"}), found_sessions=ten))
    # The eleventh hit is too late.
    assert (got["session recall@10"], got["session hit@10"], got["recall@10"]) == (0.5, 1.0, 0.0)


def test_sessions_are_ranked_by_their_best_hit_where_that_was_asked_for() -> None:
    found = outcome(["x"], "a", "b", sessions=frozenset({"s2", "s12"}), found_sessions=(frozenset(),))
    assert "recall@10 of sessions" not in scores(found)
    ranked = replace(found, ranked_sessions=tuple(f"s{n}" for n in range(1, 20)))
    assert scores(ranked)["recall@10 of sessions"] == 0.5


def test_without_sessions_there_is_no_such_measure() -> None:
    assert "session recall@10" not in scores(outcome(["a"], "a"))


def test_budget_and_safety_count_only_where_they_were_tried() -> None:
    assert not {"token budget", "safety"} & scores(outcome(["a"], "a")).keys()
    assert scores(outcome(["a"], "a", safe=False, compliant=True))["safety"] == 0.0


@pytest.mark.parametrize(
    ("got", "missed"),
    [
        (outcome(["a"], "a"), False),
        (outcome(["x"], "a"), True),
        (outcome([]), False),
        (outcome(["x"]), True),
        (outcome(["a"], "a", safe=False), True),
        (outcome(["a"], "a", compliant=False), True),
        # Six right memories do not fit into five places.
        (outcome(list("abcde"), *"abcdef"), False),
        (outcome([("a", "b"), "c", "d", "e", "f"], *"abcdef", together="ab"), False),
    ],
)
def test_a_question_missed_what_it_could_have_brought(got: Outcome, missed: bool) -> None:
    assert misses(got) is missed


def test_the_interval_holds_the_mean_and_narrows_with_more_values() -> None:
    few, many = interval([0.0, 1.0] * 5), interval([0.0, 1.0] * 500)
    assert few[0] < many[0] < 0.5 < many[1] < few[1]


def test_of_differences_that_are_none_one_in_twenty_is_more_than_chance() -> None:
    chance = np.random.default_rng(5)
    found = [measure(chance.normal(size=size).tolist()).differs for size in (6, 8, 10) for _ in range(150)]
    # The middle 95 % of the resamples would leave zero out in one of eight.
    assert sum(found) / len(found) == pytest.approx(0.05, abs=0.025)


def test_the_interval_of_many_values_holds_the_middle_of_the_resamples() -> None:
    low, high = interval([0.0, 1.0] * 5000)
    assert (low, high) == (pytest.approx(0.5 - 1.96 * 0.005, abs=6e-4), pytest.approx(0.5 + 1.96 * 0.005, abs=6e-4))


def test_means_are_over_the_questions_that_have_the_measure() -> None:
    found = measures([{"MRR": 1.0, "recall@5": 0.0}, {"MRR": 0.0}])
    assert [(name, each.mean, each.cases) for name, each in found.items()] == [("recall@5", 0.0, 1), ("MRR", 0.5, 2)]


def test_two_runs_are_compared_question_by_question() -> None:
    found = compare({"a": {"MRR": 1.0}, "b": {"MRR": 0.5}}, {"a": {"MRR": 0.5}, "b": {"MRR": 0.5}, "c": {"MRR": 1.0}})
    assert (found["MRR"].mean, found["MRR"].cases) == (0.25, 2)


def test_a_difference_is_one_when_its_interval_leaves_zero_out() -> None:
    certain = compare({str(n): {"MRR": 1.0} for n in range(9)}, {str(n): {"MRR": n % 2 / 9} for n in range(9)})
    chance = compare({"a": {"MRR": 1.0}, "b": {"MRR": 0.0}}, {"a": {"MRR": 0.0}, "b": {"MRR": 1.0}})
    assert (certain["MRR"].differs, chance["MRR"].differs) == (True, False)


@pytest.mark.parametrize(("questions", "differs"), [(1, False), (5, False), (6, True)])
def test_of_few_questions_no_difference_is_more_than_chance(questions: int, differs: bool) -> None:
    better, worse = ({str(n): {"MRR": value} for n in range(questions)} for value in (1.0, 0.0))
    assert compare(better, worse)["MRR"].differs is compare(worse, better)["MRR"].differs is differs
