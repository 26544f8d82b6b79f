from __future__ import annotations

import random
from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from retrieval_builders import candidate, candidate_lists

from retrieval.policy import FUSIONS, LEGS, Policy
from retrieval.ranking.fusion import evidence, fuse, keyword_share, rrf_score, speaks_by_meaning

policies = st.builds(
    Policy,
    fusion=st.sampled_from(FUSIONS),
    legs=st.sampled_from([LEGS, ("keyword",), ("semantic",)]),
    semantic_weight=st.floats(0, 1),
    turn_semantic_weight=st.floats(0, 1),
)


def only(found, policy, bound=10.0):
    return fuse([found], policy, bm25_bound=bound)[found.id]


def test_rrf_adds_reciprocal_ranks_by_hand():
    # 1/(60+1) + 1/(60+2) = 0.0163934 + 0.0161290 = 0.0325225
    assert rrf_score([1, 2], k=60) == pytest.approx(0.0325225, abs=1e-7)


def test_rrf_skips_a_leg_that_did_not_list_the_candidate():
    assert rrf_score([None, 4], k=60) == pytest.approx(1 / 64)


def test_rrf_relevance_is_the_score_over_its_maximum():
    # (1/61 + 1/62) / (2/61) = (1 + 61/62) / 2 = 0.9919355
    found = candidate(keyword_rank=1, semantic_rank=2)
    assert only(found, Policy(fusion="rrf")) == pytest.approx(0.9919355, abs=1e-7)


def test_rrf_of_one_leg_gives_its_first_a_full_relevance():
    found = candidate(keyword_rank=1, semantic_rank=9)
    assert only(found, Policy(fusion="rrf", legs=("keyword",))) == pytest.approx(1.0)


def test_convex_weighs_the_cosine_and_the_share_of_the_bound():
    # 0.35 * 0.8 + 0.65 * (4 / 10) = 0.28 + 0.26 = 0.54
    found = candidate(cosine=0.8, bm25=4.0)
    assert only(found, Policy(fusion="convex", semantic_weight=0.35)) == pytest.approx(0.54)


@pytest.mark.parametrize(("fusion", "notes", "turns"), [("convex", 0.72, 0.48), ("minmax", 0.8, 0.2)])
def test_turns_and_notes_have_weights_of_their_own(fusion, notes, turns):
    # convex: 0.8 * 0.8 + 0.2 * 0.4 = 0.72 and 0.2 * 0.8 + 0.8 * 0.4 = 0.48; min-max: first by vectors, last by words
    policy = Policy(fusion=fusion, semantic_weight=0.8, turn_semantic_weight=0.2)
    found = [
        candidate(1, cosine=0.8, semantic_rank=1, bm25=4.0, keyword_rank=2),
        candidate(2, cosine=0.1, semantic_rank=2, bm25=8.0, keyword_rank=1),
    ]
    said = [replace(each, is_turn=True) for each in found]
    first, half = found[0].id, [*found, *(replace(each, id=UUID(int=each.id.int + 9)) for each in said)]
    by = [fuse(each, policy, bm25_bound=10)[first] for each in (found, said, half)]
    assert by == pytest.approx([notes, turns, notes]), "half is not most"


def test_convex_lets_the_words_speak_for_a_missing_cosine():
    assert only(candidate(cosine=None, bm25=4.0), Policy(semantic_weight=0.35)) == pytest.approx(0.4)
    assert only(candidate(cosine=None, bm25=4.0), Policy(legs=("semantic",))) == 0


def test_convex_counts_a_negative_cosine_as_zero():
    assert only(candidate(cosine=-0.9, bm25=4.0), Policy(semantic_weight=0.35)) == pytest.approx(0.26)


@pytest.mark.parametrize(("legs", "relevance"), [(("keyword",), 0.4), (("semantic",), 0.8)])
def test_convex_with_one_leg_is_that_leg(legs, relevance):
    assert only(candidate(cosine=0.8, bm25=4.0), Policy(legs=legs)) == pytest.approx(relevance)


def test_minmax_stretches_each_leg_between_its_worst_and_best():
    # keyword: 2, 4, 6 become 0, 0.5, 1; semantic: 0.9 and 0.5 become 1 and 0; w = 0.5
    # 1: 0.5*0 + 0.5*1 = 0.5    2: 0.5*0.5 + 0.5*0 = 0.25    3: 0.5*1 = 0.5
    found = [
        candidate(1, bm25=2.0, keyword_rank=3, cosine=0.9, semantic_rank=1),
        candidate(2, bm25=4.0, keyword_rank=2, cosine=0.5, semantic_rank=2),
        candidate(3, bm25=6.0, keyword_rank=1),
    ]
    fused = fuse(found, Policy(fusion="minmax", semantic_weight=0.5), bm25_bound=10)
    assert list(fused.values()) == pytest.approx([0.5, 0.25, 0.5])


def test_minmax_of_a_single_value_is_one():
    found = candidate(bm25=3.0, keyword_rank=1)
    assert only(found, Policy(fusion="minmax", semantic_weight=0.35)) == pytest.approx(0.65)


def test_minmax_ignores_scores_of_a_leg_that_did_not_list_the_candidate():
    assert only(candidate(bm25=3.0, keyword_rank=None), Policy(fusion="minmax")) == 0


def test_cosine_prefers_the_cosine():
    assert only(candidate(cosine=0.3, bm25=9.0), Policy(fusion="cosine")) == pytest.approx(0.3)


def test_cosine_falls_back_to_the_keyword_share():
    assert only(candidate(cosine=None, bm25=9.0), Policy(fusion="cosine")) == pytest.approx(0.9)


def test_cosine_does_not_fall_back_to_a_leg_that_is_off():
    assert only(candidate(cosine=None, bm25=9.0), Policy(fusion="cosine", legs=("semantic",))) == 0


@pytest.mark.parametrize("bound", [0.0, -1.0])
def test_without_a_bound_the_keyword_share_is_zero(bound):
    assert keyword_share(3.0, bound) == 0


def test_the_keyword_share_never_exceeds_one():
    assert keyword_share(30.0, 10.0) == 1


def test_evidence_is_the_stronger_leg():
    assert evidence(candidate(cosine=0.3, bm25=4.0), Policy(), 10.0) == pytest.approx(0.4)


def test_evidence_ignores_a_leg_that_is_off():
    found = candidate(cosine=0.3, bm25=4.0)
    assert evidence(found, Policy(legs=("semantic",)), 10.0) == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("cosine", "min_score", "speaks"),
    [(0.17, 0.15, True), (0.17, 0.2, False), (0.12, 0.1, True), (0.17, 0, True), (0.05, 0, False), (None, 0, False)],
)
def test_meaning_speaks_for_what_it_is_evidence_enough_for(cosine, min_score, speaks):
    assert speaks_by_meaning(candidate(cosine=cosine), Policy(min_score=min_score)) is speaks


def test_meaning_that_was_not_asked_speaks_for_nothing():
    assert not speaks_by_meaning(candidate(cosine=0.9), Policy(legs=("keyword",)))


@given(candidate_lists(), policies, st.floats(-1, 100))
def test_relevance_is_between_zero_and_one(found, policy, bound):
    assert all(0 <= value <= 1 for value in fuse(found, policy, bm25_bound=bound).values())


@given(candidate_lists(), policies, st.randoms(use_true_random=False))
def test_relevance_does_not_depend_on_the_order_of_candidates(found, policy, chance: random.Random):
    shuffled = chance.sample(found, len(found))
    assert fuse(found, policy, bm25_bound=20) == fuse(shuffled, policy, bm25_bound=20)
