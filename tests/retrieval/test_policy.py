from __future__ import annotations

from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.policy import FUSIONS, LEGS, NAMED, RETIRED, Policy, PolicyError, kept_policy, policy_from

policies = st.builds(
    Policy,
    fusion=st.sampled_from(FUSIONS),
    legs=st.sampled_from([LEGS, ("keyword",), ("semantic",)]),
    semantic_weight=st.floats(0, 1),
    turn_semantic_weight=st.floats(0, 1),
    rrf_k=st.integers(1, 1000),
    alpha=st.floats(0.1, 10),
    tau_days=st.floats(0.01, 36500),
    depth=st.integers(1, 500),
    mmr_lambda=st.floats(0, 1),
)


# Known defect: these leave policy_from as ValueError, OverflowError or TypeError instead of PolicyError.


@given(policies)
def test_the_fields_of_a_policy_make_the_same_policy(policy):
    assert policy_from(asdict(policy), Policy()) == policy


def test_without_overrides_the_base_stays():
    assert policy_from({}, NAMED["specified"]) == NAMED["specified"]


def test_a_name_switches_the_base_before_the_overrides():
    assert policy_from({"name": "specified", "rrf_k": 10}, Policy()).beta == 1.0


def test_overrides_are_left_as_they_were():
    overrides = {"name": "specified", "legs": ["keyword"]}
    policy_from(overrides, Policy())
    assert overrides == {"name": "specified", "legs": ["keyword"]}


def test_kept_weights_that_no_policy_has_any_more_mean_nothing():
    kept = {**dict.fromkeys(RETIRED, 0.3), "alpha": 0.5}
    assert kept_policy(kept, Policy()) == policy_from({"alpha": 0.5}, Policy())
    assert RETIRED.isdisjoint(asdict(Policy()))
    for field in RETIRED:
        with pytest.raises(PolicyError, match="is not a policy field; there are fusion, legs, semantic_weight, "):
            policy_from({field: 0.3}, Policy())


@pytest.mark.parametrize("kept", [{"alpha": -1}, {"volume": 11}])
def test_other_kept_weights_are_held_to_what_calls_are(kept):
    with pytest.raises(PolicyError):
        kept_policy(kept, Policy())


@pytest.mark.parametrize(
    ("overrides", "notes", "turns"),
    [
        ({"semantic_weight": 0.9}, 0.9, 0.9),
        ({"turn_semantic_weight": 0.9}, Policy().semantic_weight, 0.9),
        ({"turn_semantic_weight": 0.2, "semantic_weight": 0.9}, 0.9, 0.2),
    ],
)
def test_the_weight_of_the_semantic_leg_rules_turns_too_unless_these_have_one(overrides, notes, turns):
    made = policy_from(overrides, Policy())
    assert (made.semantic_weight, made.turn_semantic_weight) == (notes, turns)


def test_a_bad_weight_of_the_semantic_leg_is_refused_by_the_field_that_was_given():
    with pytest.raises(PolicyError) as refusal:
        policy_from({"semantic_weight": 2}, Policy())
    assert refusal.value.field == "semantic_weight"


def test_a_whole_number_may_come_as_a_float():
    assert policy_from({"depth": 20.0}, Policy()).depth == 20


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "fastest"),
        ("unknown", 1),
        ("fusion", "sum"),
        ("legs", []),
        ("legs", ["graph"]),
        ("legs", "keyword"),
        ("legs", [1]),
        ("alpha", "1"),
        ("alpha", True),
        ("alpha", None),
        ("beta", float("nan")),
        ("beta", float("inf")),
        ("gamma", -0.1),
        ("tau_days", 0),
        ("min_score", 1.1),
        ("mmr_lambda", 2),
        ("rrf_k", 1.5),
        ("depth", 501),
        ("fusion", ["rrf"]),
        pytest.param("depth", float("nan")),
        pytest.param("depth", float("inf")),
        pytest.param("name", ["specified"]),
        pytest.param("alpha", 10**400, id="alpha-huge"),
    ],
)
def test_a_bad_value_is_refused_by_field(field, value):
    with pytest.raises(PolicyError) as refusal:
        policy_from({field: value}, Policy())
    assert refusal.value.field == field


def test_weights_that_are_all_zero_are_refused():
    with pytest.raises(PolicyError, match="alpha"):
        policy_from({"alpha": 0, "beta": 0, "gamma": 0}, Policy())
