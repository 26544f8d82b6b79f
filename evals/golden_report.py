"""What golden cases measured, against what is asked of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

import numpy as np

from evals.run_golden import Outcome
from evals.tables import Cell, table
from evals.timing import Latency, latency
from retrieval.metrics import hit_at, ndcg_at, precision_at, recall_at, reciprocal_rank

# A case with fewer expected memories cannot fill five places with relevant ones.
ENOUGH = 5
LEAST = {"recall@5": 0.80, "precision@5": 0.70, "token budget": 1.0, "safety": 1.0}
SLOW_MS = 200.0
RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Measure:
    """The mean over `cases` cases, in [0, 1], with a 95 % bootstrap interval."""

    mean: float
    low: float
    high: float
    cases: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """The measures by name, the latencies, and the ids of the cases that missed something."""

    measures: dict[str, Measure]
    by_category: dict[str, dict[str, Measure]]
    latency: Latency
    failing: tuple[str, ...]
    reasons: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Tell whether every threshold was reached."""
        return not self.reasons


def judge(outcomes: Sequence[Outcome]) -> Verdict:
    """Return the verdict on at least one outcome."""
    measures = _measures(outcomes)
    categories = sorted({each.case.category for each in outcomes})
    by_category = {name: _measures([each for each in outcomes if each.case.category == name]) for name in categories}
    reasons = [
        f"{name} is {measures[name].mean:.3f}, below {least}"
        for name, least in LEAST.items()
        if name in measures and measures[name].mean < least
    ]
    took = latency([each.milliseconds for each in outcomes])
    failing = tuple(each.case.id for each in outcomes if _misses(each))
    return Verdict(measures, by_category, took, failing, tuple(reasons))


def scores(outcome: Outcome) -> dict[str, float]:
    """Return each measure that is defined for a case; all are in [0, 1], and more is better."""
    found, expected = outcome.found, outcome.case.expected
    always = {"token budget": float(outcome.compliant), "safety": float(outcome.safe)}
    if not expected:
        return {"abstention": float(not found), **always}
    answered = {f"recall@{k}": recall_at(found, expected, k) for k in (1, 5, 10)}
    if len(expected) >= ENOUGH:
        answered["precision@5"] = precision_at(found, expected, 5)
    return {
        **answered,
        "hit@5": hit_at(found, expected, 5),
        "MRR": reciprocal_rank(found, expected),
        "nDCG@10": ndcg_at(found, expected, 10),
        **always,
    }


def _misses(outcome: Outcome) -> bool:
    got = scores(outcome)
    must = ("abstention", "recall@5", "token budget", "safety")
    # More expected memories than five cannot all be among the first five.
    most = min(1.0, 5 / len(outcome.case.expected)) if outcome.case.expected else 1.0
    return any(got[name] < (most if name == "recall@5" else 1.0) for name in must if name in got)


def _measures(outcomes: Sequence[Outcome]) -> dict[str, Measure]:
    values: dict[str, list[float]] = {}
    for each in outcomes:
        for name, value in scores(each).items():
            values.setdefault(name, []).append(value)
    order = ("recall@1", "recall@5", "recall@10", "precision@5", "hit@5", "MRR", "nDCG@10", "abstention")
    names = [name for name in (*order, "token budget", "safety") if name in values]
    return {name: Measure(fmean(values[name]), *interval(values[name]), len(values[name])) for name in names}


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the mean (Efron and Tibshirani 1993), the same for the same values."""
    chance = np.random.default_rng(0)
    rows = np.asarray(values)
    means = rows[chance.integers(len(rows), size=(RESAMPLES, len(rows)))].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def compare(mine: dict[str, dict[str, float]], theirs: dict[str, dict[str, float]]) -> dict[str, Measure]:
    """Return the paired difference, mine less theirs, of each measure over the cases that both runs have."""
    differences: dict[str, list[float]] = {}
    for case in sorted(mine.keys() & theirs.keys()):
        for name in mine[case].keys() & theirs[case].keys():
            differences.setdefault(name, []).append(mine[case][name] - theirs[case][name])
    return {name: Measure(fmean(each), *interval(each), len(each)) for name, each in sorted(differences.items())}


def to_dict(outcomes: Sequence[Outcome], verdict: Verdict) -> dict[str, Any]:
    """Return the verdict and every case's scores in values that JSON can carry."""
    return {**asdict(verdict), "passed": verdict.passed, "cases": {each.case.id: scores(each) for each in outcomes}}


def to_text(verdict: Verdict) -> str:
    """Return the verdict as tables, with the failing cases by name."""
    rows: list[list[Cell]] = [
        [name, each.mean, each.low, each.high, each.cases] for name, each in verdict.measures.items()
    ]
    columns = ("recall@5", "precision@5", "MRR", "abstention")
    parts: list[list[Cell]] = [
        [name, *(measures[each].mean if each in measures else None for each in columns)]
        for name, measures in verdict.by_category.items()
    ]
    took = f"latency p50 {verdict.latency.p50:.1f} ms, p95 {verdict.latency.p95:.1f} ms"
    if verdict.latency.p95 > SLOW_MS:
        took += f" (warning: above {SLOW_MS:.0f} ms)"
    ending = ["PASS"] if verdict.passed else ["FAIL", *verdict.reasons]
    missed = f"{len(verdict.failing)} cases missed something: {', '.join(verdict.failing) or 'none'}"
    return "\n".join(
        [
            table(("measure", "mean", "95% low", "high", "cases"), rows),
            "",
            table(("category", *columns), parts),
            "",
            took,
            missed,
            *ending,
        ]
    )


def differences_to_text(differences: dict[str, Measure]) -> str:
    """Return a paired comparison as a table."""
    rows: list[list[Cell]] = [[name, each.mean, each.low, each.high, each.cases] for name, each in differences.items()]
    return table(("difference", "mean", "95% low", "high", "cases"), rows)
