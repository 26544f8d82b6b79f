from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from retrieval_builders import scored

from retrieval.ranking.mmr import select


def ids(hits):
    return [hit.scored.candidate.id.int for hit in hits]


components = st.floats(-1, 1, width=32)
items = st.lists(
    st.tuples(
        st.floats(0, 3),
        st.none() | st.lists(components, min_size=3, max_size=3) | st.lists(components, min_size=2, max_size=2),
        st.lists(st.sampled_from("abcd"), max_size=3).map(tuple),
    ),
    max_size=12,
).map(
    lambda rows: sorted(
        (scored(n, total, vector=v, tags=tags) for n, (total, v, tags) in enumerate(rows, start=1)),
        key=lambda item: -item.score.total,
    )
)


def test_a_near_copy_gives_way_to_something_else():
    # lam = 0.5; likeness(1, 2) = 1, likeness(1, 3) = 0.
    # first: 1 with 0.5 * 0.9 = 0.45.  then 2: 0.5 * 0.8 - 0.5 * 1 = -0.10;  3: 0.5 * 0.5 - 0 = 0.25, so 3.
    pool = [scored(1, 0.9, vector=[1, 0]), scored(2, 0.8, vector=[2, 0]), scored(3, 0.5, vector=[0, 1])]
    assert ids(select(pool, limit=3, lam=0.5)) == [1, 3, 2]


def test_the_penalty_is_what_likeness_took():
    # cosine((1, 0), (3, 4)) = 3/5; penalty = (1 - 0.7) * 0.6 = 0.18
    pool = [scored(1, 0.9, vector=[1, 0]), scored(2, 0.8, vector=[3, 4])]
    assert [hit.mmr_penalty for hit in select(pool, limit=2, lam=0.7)] == pytest.approx([0, 0.18])


def test_the_penalty_is_by_the_nearest_hit_and_not_by_their_sum():
    # likeness(3, 1) = 0.8, likeness(3, 2) = 0.6: penalty = 0.1 * 0.8
    pool = [scored(1, 3, vector=[1, 0]), scored(2, 2, vector=[0, 1]), scored(3, 1, vector=[0.8, 0.6])]
    assert select(pool, limit=3, lam=0.9)[2].mmr_penalty == pytest.approx(0.08)


def test_opposite_vectors_are_unlike_and_earn_nothing():
    pool = [scored(1, 0.9, vector=[1, 0]), scored(2, 0.8, vector=[-1, 0])]
    assert select(pool, limit=2, lam=0.5)[1].mmr_penalty == 0


def test_without_a_vector_tags_tell_the_likeness():
    # Jaccard({a, b}, {b, c}) = 1/3; penalty = 0.5 / 3
    pool = [scored(1, 0.9, tags=("a", "b")), scored(2, 0.8, tags=("b", "c"), vector=[1, 0])]
    assert select(pool, limit=2, lam=0.5)[1].mmr_penalty == pytest.approx(1 / 6)


@pytest.mark.parametrize("odd", [[0, 0], [1, 0, 0], [float("nan"), 1]])
def test_an_unusable_vector_counts_as_none(odd):
    pool = [scored(1, 0.9, vector=[1, 0], tags=("a",)), scored(2, 0.8, vector=odd, tags=("a",))]
    assert select(pool, limit=2, lam=0.5)[1].mmr_penalty == pytest.approx(0.5)


def test_a_tie_goes_to_fewer_shared_tags():
    # 2 and 3 have the same total and the same likeness (0) to 1; 2 shares a tag with it.
    pool = [
        scored(1, 0.9, vector=[1, 0], tags=("a",)),
        scored(2, 0.5, vector=[0, 1], tags=("a",)),
        scored(3, 0.5, vector=[0, 1], tags=("b",)),
    ]
    assert ids(select(pool, limit=2, lam=0.5)) == [1, 3]


def test_a_tie_in_value_and_tags_goes_to_the_higher_total():
    # after 1: 2 has 0.5 * 0.8 - 0.5 * 0.3 = 0.25, 3 has 0.5 * 0.5 - 0 = 0.25
    pool = [
        scored(1, 0.9, vector=[1, 0]),
        scored(3, 0.5, vector=[0, 1]),
        scored(2, 0.8, vector=[0.3, 0.91**0.5]),
    ]
    assert ids(select(pool, limit=2, lam=0.5)) == [1, 2]


def test_what_reading_took_beyond_all_relevance_counts():
    # lam = 0.9; 2 has 0.9 * -0.3 = -0.27, and 3 has 0.9 * -0.1 - 0.1 * 1 = -0.19.
    unlike, alike = scored(2, 0.0, vector=[0, 1]), scored(3, 0.0, vector=[1, 0])
    pool = [scored(1, 0.5, vector=[1, 0]), replace(unlike, beyond=0.3), replace(alike, beyond=0.1)]
    assert ids(select(pool, limit=3, lam=0.9)) == [1, 3, 2]


def test_a_complete_tie_goes_by_id():
    assert ids(select([scored(n, 0.5) for n in (2, 3, 1)], limit=3, lam=0.5)) == [1, 2, 3]


def test_ranks_count_from_one():
    assert [hit.rank for hit in select([scored(n, 0.5) for n in (1, 2, 3)], limit=2, lam=0.5)] == [1, 2]


@pytest.mark.parametrize("lam", [0.5, 1.0])
@pytest.mark.parametrize("limit", [0, -1])
def test_no_room_selects_nothing(limit, lam):
    assert select([scored(1, 0.5)], limit=limit, lam=lam) == []


def test_nothing_to_select_from_selects_nothing():
    assert select([], limit=5, lam=0.5) == []


@given(items, st.integers(0, 15), st.floats(0, 1))
def test_the_selection_takes_each_item_at_most_once(pool, limit, lam):
    taken = ids(select(pool, limit=limit, lam=lam))
    assert len(taken) == len(set(taken)) == min(limit, len(pool))


@given(items, st.integers(0, 15))
def test_lambda_one_keeps_the_order(pool, limit):
    assert [hit.scored for hit in select(pool, limit=limit, lam=1.0)] == pool[:limit]


@given(items, st.floats(0, 1))
def test_the_penalty_is_between_zero_and_the_weight_of_diversity(pool, lam):
    assert all(0 <= hit.mmr_penalty <= 1 - lam for hit in select(pool, limit=12, lam=lam))


@given(items, st.floats(0, 1), st.integers(0, 12))
def test_a_smaller_limit_gives_the_beginning_of_a_larger_one(pool, lam, limit):
    assert select(pool, limit=limit, lam=lam) == select(pool, limit=12, lam=lam)[:limit]
