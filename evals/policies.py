"""The policies that are compared with the default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from retrieval.policy import FUSIONS, LEGS, NAMED, Leg, Policy, policy_from

DEFAULT = "balanced"
KEYWORD, SEMANTIC = "keyword alone", "semantic alone"
# A single leg is never silent either; where there are few memories, compare it with this and not with the default.
NEVER_SILENT = "never silent"


def variants() -> dict[str, Policy]:
    """Return every policy worth comparing, by name: the named ones, each fusion, no silence, and each leg alone."""
    balanced = NAMED[DEFAULT]
    fusions = {f"fusion {fusion}": replace(balanced, fusion=fusion) for fusion in FUSIONS}
    silent = {NEVER_SILENT: replace(balanced, min_score=0.0)}
    return {**NAMED, **fusions, **silent, **{f"{leg} alone": _alone(leg) for leg in LEGS}}


def default_only() -> dict[str, Policy]:
    """Return the default policy alone, by name."""
    return {DEFAULT: NAMED[DEFAULT]}


def overridden(numbers: Mapping[str, Any]) -> dict[str, Policy]:
    """Return the default policy with other numbers, by what they are; none without any.

    Raises `PolicyError` as `policy_from` does.
    """
    if not numbers:
        return {}
    name = " ".join(f"{field}={value}" for field, value in numbers.items())
    return {name: policy_from(dict(numbers), NAMED[DEFAULT])}


def _alone(leg: Leg) -> Policy:
    """Return the policy that ranks by one leg's score and by nothing else."""
    return replace(
        NAMED[DEFAULT],
        name=leg,
        fusion="convex",
        legs=(leg,),
        beta=0.0,
        gamma=0.0,
        context_weight=0.0,
        date_boost=0.0,
        speaker_boost=0.0,
        time_boost=0.0,
        change_boost=0.0,
        detail_boost=0.0,
        min_score=0.0,
        mmr_lambda=1.0,
    )
