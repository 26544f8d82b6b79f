"""Means with intervals, and paired differences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

RESAMPLES, PARTS = 2000, 20
# Fewer differences are all of one sign by chance in more than one of twenty times: five of them in one of sixteen.
FEWEST = 6
# As the tables show them; what is not named here comes after, by name.
ORDER = (
    "recall@1",
    "recall@5",
    "recall@10",
    "session recall@10",
    "session hit@10",
    "recall@10 of sessions",
    "precision@5",
    "hit@5",
    "hit@10",
    "MRR",
    "nDCG@10",
    "abstention",
    "token budget",
    "safety",
)

Scores = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Measure:
    """A mean over `cases` questions with a 95 % bootstrap interval."""

    mean: float
    low: float
    high: float
    cases: int

    @property
    def differs(self) -> bool:
        """Tell whether a difference is more than chance: its interval leaves zero out.

        Of fewer questions than `FEWEST` no interval can tell; that of a single one is that one value.
        """
        return self.cases >= FEWEST and (self.low > 0 or self.high < 0)


def measure(values: Sequence[float]) -> Measure:
    """Return the mean of at least one value with its interval."""
    return Measure(fmean(values), *interval(values), len(values))


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the mean (Efron and Tibshirani 1993), the same for the same values."""
    chance = np.random.default_rng(0)
    rows, size = np.asarray(values), (RESAMPLES // PARTS, len(values))
    # In parts: all resamples of many questions at once would fill the memory.
    means = np.concatenate([rows[chance.integers(len(rows), size=size)].mean(axis=1) for _ in range(PARTS)])
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def measures(scored: Sequence[Mapping[str, float]]) -> dict[str, Measure]:
    """Return the mean of each measure over the questions that have it, in the order of the tables."""
    values: dict[str, list[float]] = {}
    for each in scored:
        for name, value in each.items():
            values.setdefault(name, []).append(value)
    return {name: measure(values[name]) for name in sorted(values, key=place)}


def place(name: str) -> tuple[int, str]:
    """Return the sort key of a measure."""
    return (ORDER.index(name) if name in ORDER else len(ORDER), name)


def counted(cases: Scores, apart: Iterable[str]) -> dict[str, dict[str, float]]:
    """Return the scores of the questions that are not among those that stand apart, by their ids."""
    left_out = frozenset(apart)
    return {case: dict(found) for case, found in cases.items() if case not in left_out}


def compare(mine: Scores, theirs: Scores) -> dict[str, Measure]:
    """Return the paired difference, mine less theirs, of each measure over the questions that both runs have."""
    differences: dict[str, list[float]] = {}
    for case in sorted(mine.keys() & theirs.keys()):
        for name in mine[case].keys() & theirs[case].keys():
            differences.setdefault(name, []).append(mine[case][name] - theirs[case][name])
    return {name: measure(differences[name]) for name in sorted(differences, key=place)}
