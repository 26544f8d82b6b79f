"""How likely the best must be to answer."""

from __future__ import annotations

from dataclasses import replace

import pytest
from retrieval_builders import candidate

from retrieval.policy import Policy
from retrieval.ranking.silence import Judge
from retrieval.ranking.types import Score, Scored
from retrieval.words.about import NOTHING_ASKED, understand
from retrieval.words.bm25 import Question

POLICY = Policy(sure_reading=0.2, worded_reading=0.1, topic_reading=0.05, named_reading=0.4)


def is_answered(*sureness, policy=POLICY, places=(), asked=NOTHING_ASKED):
    read = [
        Scored(candidate(n, sureness=each, places=places), Score(0.5, 0, 0, 0.5), 0.5, 0.0, asked=asked)
        for n, each in enumerate(sureness, 1)
    ]
    return Judge(policy, asked).is_answered(read)


KEYS = understand("Where are the keys?", Question(lexemes=["key"], idfs=[1.0], counts=[1.0]))


def found(sureness, *, has_all):
    places = (0,) if has_all else ()
    return Scored(candidate(1, sureness=sureness, places=places), Score(0.5, 0, 0, 0.5), 0.5, 0.0, asked=KEYS)


def wants_the_end(*, has_all=False, **numbers):
    return Judge(Policy(**numbers), KEYS).wants_the_end(found(None, has_all=has_all))


def test_how_unlikely_it_is_matters_where_little_is_enough():
    assert not wants_the_end()
    assert wants_the_end(has_all=True)
    assert wants_the_end(sure_reading=0.01)
    assert wants_the_end(min_score=0.01)


def test_one_that_is_likely_is_enough_and_the_others_take_nothing_from_it():
    assert is_answered(0.21)
    assert is_answered(0.21, 0.01, 0.01)
    assert not is_answered(0.19, 0.19)


def test_where_the_first_has_another_number_all_that_is_read_must_be_surer():
    read = [found(0.21, has_all=False)]
    assert Judge(POLICY, KEYS).is_answered(read)
    assert not Judge(POLICY, KEYS, outranked=True).is_answered(read)


def test_behind_the_first_one_must_be_surer():
    assert not is_answered(0.01, 0.3)
    assert is_answered(0.01, 0.45)
    assert is_answered(0.01, 0.02, 0.01, 0.45)


@pytest.mark.parametrize(
    ("kind", "least"), [({}, 0.1), ({"only_names": True}, 0.05), ({"wants_all": True}, 0.05)], ids=["", "names", "all"]
)
def test_of_what_has_all_words_little_is_enough_and_less_where_nothing_is_asked_of_it(kind, least):
    judge = Judge(POLICY, KEYS, **kind)
    assert judge.is_answered([found(least + 0.01, has_all=True)])
    assert not judge.is_answered([found(least - 0.01, has_all=True)])
    assert judge.is_answered([found(0.01, has_all=False), found(3 * least, has_all=True)])
    assert not judge.is_answered([found(0.15, has_all=False), found(least, has_all=True)])


def test_what_was_not_read_does_not_count():
    assert not is_answered()
    assert not is_answered(None, None)
    assert is_answered(None, 0.4, 0.1)


def test_what_is_faint_ends_no_silence_unless_it_is_shown():
    policy = Policy(sure_reading=0.07, min_score=0.15)
    found = Scored(candidate(1, sureness=0.1), Score(0.5, 0, 0, 0.5), 0.5, 0.0)
    assert Judge(policy, NOTHING_ASKED).is_answered([found])
    assert not Judge(policy, NOTHING_ASKED).is_answered([replace(found, is_faint=True)])
    found.candidate.sureness = 0.2
    assert Judge(policy, NOTHING_ASKED).is_answered([replace(found, is_faint=True)])


def test_less_is_enough_where_one_has_all_words():
    asked = understand("Which car?", Question(["car"], [1.0]))
    assert is_answered(0.12, 0.12, places=(0,), asked=asked)
    assert not is_answered(0.12, 0.12, asked=asked)


@pytest.mark.parametrize(
    ("places", "fits", "expected"),
    [((0,), 0.0, False), ((0, 1), 0.0, True), ((0,), 1.0, True)],
    ids=["another date", "says it", "is of it"],
)
def test_what_has_all_words_for_another_date_has_not_all(places, fits, expected):
    asked = understand("When is the summer concert?", Question(["concert", "summer"], [2.0, 1.0], counts=[1.0, 0.0]))
    read = Scored(candidate(1, sureness=0.15, places=places), Score(0.5, 0, 0, 0.5), 0.5, fits, asked=asked)
    assert Judge(POLICY, asked).is_answered([read]) is expected


@pytest.mark.parametrize(
    ("places", "expected"), [((0,), False), ((1,), False), ((0, 1), True)], ids=["the name", "all but it", "both"]
)
def test_more_is_needed_of_what_has_the_name_alone_or_all_but_that(places, expected):
    asked = understand("Where does Anna swim on Mondays?", Question(["anna", "swim", "on"], [1.0, 1.0, 1.0]))
    assert is_answered(0.3, 0.3, places=places, asked=asked) is expected
    assert is_answered(0.5, 0.5, places=places, asked=asked)


def test_each_is_held_to_what_its_own_words_ask_for():
    asked = understand("Where does Anna swim on Mondays?", Question(["anna", "swim", "on"], [1.0, 1.0, 1.0]))
    read = [
        Scored(candidate(n, sureness=sure, places=places), Score(0.5, 0, 0, 0.5), 0.5, 0.0, asked=asked)
        for n, (sure, places) in enumerate(((0.1, (0, 1)), (0.5, (0,)), (0.5, (0, 1))), 1)
    ]
    assert not Judge(POLICY, asked).is_answered(read[:2])
    assert Judge(POLICY, asked).is_answered(read)


@pytest.mark.parametrize(("least", "expected"), [(0.0, True), (1.0, False)])
def test_a_policy_may_take_anything_that_was_read_and_nothing(least, expected):
    policy = Policy(sure_reading=least)
    assert is_answered(0.0, 0.0, policy=policy) is expected
    assert is_answered(0.9, 0.99, policy=policy) is expected
