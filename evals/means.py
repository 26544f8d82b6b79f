"""Means with intervals, and paired differences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist, fmean
from typing import Any

import numpy as np

RESAMPLES, PARTS = 2000, 20
TAIL = 0.025
_NORMAL = NormalDist()
# With fewer than six differences, all have the same sign by chance more often than one time in twenty: five of them one
# time in sixteen.
FEWEST = 6
# Up to so many persons, all ways to turn the signs of their differences are tried; beyond, a random sample.
EXACT = 12
# The order in which tables show the measures; those not named here follow by name.
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
    """Return the 95 % bootstrap interval of the mean (Efron and Tibshirani 1993), the same for the same values.

    Of few values it is wider than the middle 95 % of the resamples (Hesterberg 2015), which leave the mean out too
    often: those of six differences that were none left zero out in one of seven cases.
    """
    chance = np.random.default_rng(0)
    rows, size = np.asarray(values), (RESAMPLES // PARTS, len(values))
    # In parts: all resamples of many questions at once would fill the memory.
    means = np.concatenate([rows[chance.integers(len(rows), size=size)].mean(axis=1) for _ in range(PARTS)])
    outside = _outside(len(rows))
    low, high = np.quantile(means, [outside, 1 - outside])
    return float(low), float(high)


def _outside(size: int) -> float:
    """Return the share of the resamples beyond each end of an interval of so many values, in [0, 0.025].

    The standard deviation of resamples is too small by the root of (size - 1) / size, and they are tailed as the normal
    distribution is, where Student's is right: its quantile is expanded here (Abramowitz and Stegun 26.7.5).
    """
    free = size - 1
    if free < 1:
        return TAIL
    z = _NORMAL.inv_cdf(1 - TAIL)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    student = z + sum(each / free**power for power, each in enumerate(terms, 1))
    return _NORMAL.cdf(-student * sqrt(size / free))


def chance_of_the_best(differences: Sequence[Sequence[float]], best: int) -> float:
    """Return how likely the best of many would look as good as it does if none were any better, in (0, 1].

    `differences` has a row for each candidate, with the sum of its differences to the same other for each person. The
    signs of a person's differences are as likely the other way round where no candidate is better, and those of all
    candidates turn together, as they were asked the same (Westfall and Young 1993): all ways for up to twelve persons,
    else as many at random, the same for the same values. What did clearly worse is no rival (Hansen 2005). With fewer
    than five persons it is above 0.05 whatever they say.
    """
    sums = np.asarray(differences, dtype=float)
    persons = sums.shape[1]
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    # Each row is divided by its own length: it then counts by how sure it is, not by how large its differences are, and
    # changing signs does not change that length.
    rows = np.divide(sums, lengths, out=np.zeros_like(sums), where=lengths > 0)
    seen = rows.sum(axis=1)
    poor = -np.sqrt(2 * np.log(max(1.0, np.log(persons))))
    rivals = rows[(seen > poor) | (np.arange(len(rows)) == best)]
    signs = _signs(persons)
    # In parts, as the resamples are.
    highest = np.concatenate([(each @ rivals.T).max(axis=1) for each in np.array_split(signs, PARTS)])
    return float(np.mean(highest >= seen[best] - 1e-9))


def _signs(persons: int) -> np.ndarray[Any, np.dtype[np.int8]]:
    """Return ways to turn signs, a row each, the one that turns none among them."""
    if persons <= EXACT:
        ways = np.arange(2**persons)[:, np.newaxis]
        return (1 - 2 * (ways >> np.arange(persons) & 1)).astype(np.int8)
    found = np.random.default_rng(0).choice(np.array([1, -1], dtype=np.int8), size=(2**EXACT, persons))
    found[0] = 1
    return found


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
