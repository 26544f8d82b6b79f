"""How likely the best must be, taken together, to answer."""

from __future__ import annotations

import pytest
from retrieval_builders import candidate

from retrieval.about import NOTHING_ASKED, understand
from retrieval.policy import Policy
from retrieval.silence import Judge
from retrieval.types import Score, Scored
from retrieval.words import Question

POLICY = Policy(sure_reading=0.2, worded_reading=0.05, named_reading=0.4)


def is_answered(*sureness, policy=POLICY, places=(), asked=NOTHING_ASKED):
    read = [
        Scored(candidate(n, sureness=each, places=places), Score(0.5, 0, 0, 0.5), 0.5, 0.0, 0.0, asked=asked)
        for n, each in enumerate(sureness, 1)
    ]
    return Judge(policy, asked).is_answered(read)


def test_the_first_in_rank_counts_twice():
    assert is_answered(0.4, 0.1)
    assert not is_answered(0.1, 0.4)


def test_of_the_others_the_likeliest_counts():
    assert is_answered(0.15, 0.01, 0.5, 0.02)
    assert not is_answered(0.15, 0.01, 0.2, 0.02)


def test_one_alone_must_be_surer_than_one_beside_which_another_is_likely():
    assert is_answered(0.3, 0.3)
    assert not is_answered(0.3)
    assert is_answered(0.5)


def test_what_was_not_read_does_not_count():
    assert not is_answered()
    assert not is_answered(None, None)
    assert is_answered(None, 0.4, 0.1)


def test_less_is_enough_where_one_has_all_words():
    asked = understand("Which car?", Question(["car"], [1.0]))
    assert is_answered(0.08, 0.08, places=(0,), asked=asked)
    assert not is_answered(0.08, 0.08, asked=asked)


@pytest.mark.parametrize(
    ("places", "expected"), [((0,), False), ((1,), False), ((0, 1), True)], ids=["the name", "all but it", "both"]
)
def test_more_is_needed_of_what_has_the_name_alone_or_all_but_that(places, expected):
    asked = understand("Where does Anna swim on Mondays?", Question(["anna", "swim", "on"], [1.0, 1.0, 1.0]))
    assert is_answered(0.3, 0.3, places=places, asked=asked) is expected
    assert is_answered(0.5, 0.5, places=places, asked=asked)


def test_the_likeliest_is_asked_whether_it_has_a_name_alone():
    asked = understand("Where does Anna swim on Mondays?", Question(["anna", "swim", "on"], [1.0, 1.0, 1.0]))
    read = [
        Scored(candidate(n, sureness=sure, places=places), Score(0.5, 0, 0, 0.5), 0.5, 0.0, 0.0, asked=asked)
        for n, (sure, places) in enumerate(((0.30, (0, 1)), (0.32, (0,)), (0.01, (0, 1))), 1)
    ]
    assert not Judge(POLICY, asked).is_answered(read)
    assert Judge(POLICY, asked).is_answered([read[0], read[2], read[0]])


@pytest.mark.parametrize(("least", "expected"), [(0.0, True), (1.0, False)])
def test_a_policy_may_take_anything_that_was_read_and_nothing(least, expected):
    policy = Policy(sure_reading=least)
    assert is_answered(0.0, 0.0, policy=policy) is expected
    assert is_answered(0.9, 0.99, policy=policy) is expected
