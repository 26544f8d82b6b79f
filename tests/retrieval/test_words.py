from __future__ import annotations

from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.policy import Policy
from retrieval.words import times
from retrieval.words.bm25 import Question, TermCounts, score

TEA = Question(["milk", "tea"], [2.0, 1.0], mean_length=4.0)


def said(number, counts, *, after=None, length=4.0, is_turn=True):
    places = [place for place, count in enumerate(counts) if count]
    previous = UUID(int=after) if after is not None else None
    return TermCounts(UUID(int=number), previous, places, [counts[place] for place in places], length, is_turn)


def test_bm25_by_hand():
    # Of mean length, so the damping is k1 = 1.2: 2 * 1 / 2.2 + 1 * 2 / 3.2 = 0.9090909 + 0.625
    alone, _ = score([said(1, [1, 2])], TEA, Policy())
    assert alone.tolist() == [pytest.approx(1.5340909)]


def test_a_neighbours_words_and_length_count_by_the_weight():
    items = [said(1, [1, 0]), said(2, [0, 1], after=1, length=2.0)]
    alone, around = score(items, TEA, Policy(context_weight=0.5))
    # The second: 0.5 * milk and 1 * tea, of length 2 + 0.5 * 4 where 4 + 0.5 * 4 is the mean, so that the damping is
    # 1.2 * (0.25 + 0.75 * 4/6) = 0.9: 2 * 0.5 / 1.4 + 1 * 1 / 1.9
    assert around[1] == pytest.approx(2 * 0.5 / 1.4 + 1 / 1.9)
    assert alone[1] == pytest.approx(1 / (1 + 1.2 * (0.25 + 0.75 * 0.5)))


def test_the_turn_before_gains_from_the_one_after_it_too():
    _, around = score([said(1, [0, 0]), said(2, [1, 1], after=1)], TEA, Policy())
    assert around[0] > 0


@pytest.mark.parametrize("other", [said(1, [1, 1], is_turn=False), said(3, [1, 1])], ids=["a note", "unknown"])
def test_nothing_is_gained_from(other):
    alone, around = score([other, said(2, [1, 0], after=1)], TEA, Policy())
    assert around.tolist() == alone.tolist()


def test_without_weight_there_are_no_neighbours():
    alone, around = score([said(1, [1, 1]), said(2, [1, 0], after=1)], TEA, Policy(context_weight=0))
    assert around.tolist() == alone.tolist()


def test_without_words_nothing_is_scored():
    alone, around = score([said(1, [])], Question(), Policy())
    assert (alone.tolist(), around.tolist()) == ([0], [0])


lists = st.lists(
    st.tuples(st.lists(st.integers(0, 9), min_size=2, max_size=2), st.booleans(), st.floats(1, 99)), max_size=9
)


@given(lists, st.floats(0, 1))
def test_no_score_is_below_zero_or_above_the_bound(rows, weight):
    items = [
        said(n, counts, after=n - 1, length=length, is_turn=turn) for n, (counts, turn, length) in enumerate(rows, 1)
    ]
    for scores in score(items, TEA, Policy(context_weight=weight)):
        assert np.all((scores >= 0) & (scores <= TEA.bound))


@pytest.mark.parametrize("question", ["When is it?", "how long did that take", "In which year was it?"])
def test_a_question_asks_for_a_time(question):
    assert times.asks_when(question)


@pytest.mark.parametrize("question", ["Whenever?", "What does he do in his time off?", "How many years of tea?", ""])
def test_a_question_asks_for_no_time(question):
    assert not times.asks_when(question)


@pytest.mark.parametrize("text", ["Yesterday.", "last week we sang", "in 2021", "at 3pm", "on the 4th", "two days ago"])
def test_a_text_says_a_time(text):
    assert times.says_when(text)


@pytest.mark.parametrize("text", ["We sang.", "room 20215", "Maybe", "I lasted", ""])
def test_a_text_says_no_time(text):
    assert not times.says_when(text)


@pytest.mark.parametrize(
    "text", ["We have moved", "It is now Friday", "no longer", "Wim took over", "She has a new car"]
)
def test_a_text_says_a_change(text):
    assert times.says_change(text)


@pytest.mark.parametrize("text", ["A new car", "We know him", "Moving house", "unchanged", ""])
def test_a_text_says_no_change(text):
    assert not times.says_change(text)


def test_above_twice_the_mean_length_costs_no_more():
    items = [said(number, [1, 1], length=number * TEA.mean_length) for number in (1, 2, 3, 99)]
    mean, twice, thrice, ages = score(items, TEA, Policy())[0]
    assert mean > twice == thrice == ages
