"""Measures of a ranking against the set of ids that were right.

Pure functions of `ranked`, best first, and `relevant`. A repeated id counts at its first place only. Measures
at k look at the first `k` >= 1 ids and raise ValueError for a smaller `k`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from collections.abc import Set as AbstractSet

import numpy as np

Ids = Sequence[Hashable]
IdSet = AbstractSet[Hashable]


def precision_at(ranked: Ids, relevant: IdSet, k: int) -> float:
    """Relevant ids among the first k, divided by k (also where fewer were returned), in [0, 1]."""
    return sum(each in relevant for each in _top(ranked, k)) / k


def reciprocal_rank(ranked: Ids, relevant: IdSet) -> float:
    """1 / rank of the first relevant id, 0 if there is none."""
    return next((1 / rank for rank, each in enumerate(dict.fromkeys(ranked), 1) if each in relevant), 0.0)


def ndcg_at(ranked: Ids, relevant: IdSet, k: int) -> float:
    """Discounted gain over that of the ideal order of all relevant ids, in [0, 1]; ValueError where there is none.

    Binary gain, discount 1 / log2(rank + 1): Järvelin and Kekäläinen 2002.
    """
    if not relevant:
        raise ValueError("undefined without relevant ids")
    gains = (_discount(rank) for rank, each in enumerate(_top(ranked, k), 1) if each in relevant)
    ideal = math.fsum(_discount(rank) for rank in range(1, min(k, len(relevant)) + 1))
    return math.fsum(gains) / ideal


def percentile(values: Sequence[float], q: float) -> float:
    """The q-th percentile, q in [0, 100], interpolated linearly; ValueError for no values or another q."""
    if not values:
        raise ValueError("a percentile needs at least one value")
    return float(np.percentile(values, q))


def _discount(rank: int) -> float:
    return 1 / math.log2(rank + 1)


def _top(ranked: Ids, k: int) -> list[Hashable]:
    if k < 1:
        raise ValueError("k must be at least 1")
    return list(dict.fromkeys(ranked))[:k]
