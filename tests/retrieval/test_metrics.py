from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.ranking.metrics import ndcg_at, percentile, precision_at, reciprocal_rank

RANKED = ["a", "b", "c", "d"]


def test_precision_is_the_share_of_places_that_are_relevant():
    assert precision_at(RANKED, {"b", "d"}, 4) == 0.5


def test_precision_counts_places_left_empty():
    assert precision_at(["a"], {"a"}, 4) == 0.25


def test_reciprocal_rank_is_that_of_the_first_relevant_id():
    assert reciprocal_rank(RANKED, {"c", "d"}) == pytest.approx(1 / 3)


def test_reciprocal_rank_without_a_relevant_id_is_zero():
    assert reciprocal_rank(RANKED, {"x"}) == 0


def test_ndcg_discounts_by_the_logarithm_of_the_rank():
    # gains at ranks 2 and 4: 1/log2(3) + 1/log2(5) = 0.63093 + 0.43068 = 1.06161
    # ideal of three relevant ids: 1 + 0.63093 + 0.5 = 2.13093; 1.06161 / 2.13093 = 0.49819
    assert ndcg_at(RANKED, {"b", "d", "x"}, 4) == pytest.approx(0.49819, abs=1e-5)


def test_ndcg_of_the_ideal_order_is_one():
    assert ndcg_at(["a", "b", "c"], {"a", "b"}, 3) == pytest.approx(1)


def test_ndcg_ideal_is_limited_to_k_places():
    assert ndcg_at(["a"], {"a", "b", "c"}, 1) == 1


def test_a_repeated_id_counts_once():
    assert precision_at(["a", "a", "b"], {"a", "b"}, 2) == 1


def test_a_gain_without_relevant_ids_is_refused():
    with pytest.raises(ValueError, match="relevant"):
        ndcg_at(RANKED, set(), 3)


@pytest.mark.parametrize("measure", [precision_at, ndcg_at])
def test_a_k_below_one_is_refused(measure):
    with pytest.raises(ValueError, match="k must"):
        measure(RANKED, {"a"}, 0)


@pytest.mark.parametrize(("q", "value"), [(0, 1), (50, 2.5), (100, 4)])
def test_percentiles_are_interpolated(q, value):
    assert percentile([4, 1, 3, 2], q) == value


def test_a_percentile_of_nothing_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        percentile([], 50)


@given(
    st.lists(st.integers(0, 20), max_size=15),
    st.sets(st.integers(0, 20), min_size=1),
    st.integers(1, 20),
)
def test_every_measure_is_between_zero_and_one(ranked, relevant, k):
    values = [measure(ranked, relevant, k) for measure in (precision_at, ndcg_at)]
    assert all(0 <= value <= 1 or math.isclose(value, 1) for value in values)
