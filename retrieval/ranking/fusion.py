"""Two legs, one relevance: how keyword and semantic scores of a candidate become a number in [0, 1]."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from retrieval.policy import NAMED, Leg, Policy
from retrieval.ranking.types import Candidate


def fuse(candidates: Sequence[Candidate], policy: Policy, *, bm25_bound: float) -> dict[UUID, float]:
    """Relevance in [0, 1] of each candidate by its id, whatever the order of `candidates`.

    `bm25_bound` is the largest BM25 score the question can reach, sum(idf). A leg outside `policy.legs`
    contributes nothing; a leg alone has weight 1. By `policy.fusion`:

    - `convex`: w * cosine + (1 - w) * bm25 / bound, the theoretical-maximum normalisation that makes scores
      comparable between questions, the words of neighbours counted in. Bruch, Gai and Ingber 2023, "An Analysis of
      Fusion Functions for Hybrid Retrieval".
    - `minmax`: the same combination of scores stretched to [0, 1] among what each leg listed.
    - `rrf`: reciprocal ranks over their maximum. Cormack, Clarke and Büttcher 2009.
    - `cosine`: the cosine where there is one, else the keyword share.
    """
    if policy.fusion == "minmax":
        return _minmax(candidates, _weights(candidates, policy))
    if policy.fusion == "convex":
        return _convex(candidates, _weights(candidates, policy), bm25_bound)
    relevance = {"rrf": _rrf, "cosine": _cosine}[policy.fusion]
    return {each.id: clip(relevance(each, policy, bm25_bound)) for each in candidates}


def rrf_score(ranks: Iterable[int | None], k: int) -> float:
    """Sum of 1 / (k + rank) over the 1-based ranks that are not None; not normalised.

    >>> round(rrf_score([1, 3], k=60), 6)  # 1/61 + 1/63 = 0.016393 + 0.015873
    0.032266
    >>> rrf_score([None, None], k=60)
    0.0
    """
    return sum((1 / (k + rank) for rank in ranks if rank is not None), start=0.0)


def keyword_share(bm25: float, bound: float) -> float:
    """How much of the question's largest possible BM25 score was reached, in [0, 1]; 0 without a bound."""
    return clip(bm25 / bound) if bound > 0 else 0.0


def evidence(candidate: Candidate, policy: Policy, bound: float) -> float:
    """The stronger of the absolute scores of the policy's legs, in [0, 1], whatever the other candidates."""
    keyword = keyword_share(candidate.bm25, bound) if "keyword" in policy.legs else 0.0
    semantic = clip(candidate.cosine or 0.0) if "semantic" in policy.legs else 0.0
    return max(keyword, semantic)


def speaks_by_meaning(candidate: Candidate, policy: Policy) -> bool:
    """Tell whether the cosine of a candidate is evidence enough by itself.

    Where the policy asks for no evidence, anything comes: it is enough where it would be by default.
    """
    least = policy.min_score or NAMED["balanced"].min_score
    return "semantic" in policy.legs and candidate.cosine is not None and candidate.cosine >= least


def _weights(candidates: Sequence[Candidate], policy: Policy) -> dict[Leg, float]:
    if len(set(policy.legs)) == 1:
        return {policy.legs[0]: 1.0}
    turns = 2 * sum(each.is_turn for each in candidates) > len(candidates)
    semantic = policy.turn_semantic_weight if turns else policy.semantic_weight
    return {"keyword": 1 - semantic, "semantic": semantic}


def _convex(candidates: Sequence[Candidate], weights: Mapping[Leg, float], bound: float) -> dict[UUID, float]:
    words, meaning = weights.get("keyword", 0.0), weights.get("semantic", 0.0)
    fused = {}
    for each in candidates:
        share = keyword_share(each.bm25_around, bound)
        # A candidate that waits for its vector counts as alike as its words say: it is as likely to be meant, and no
        # stranger.
        alike = clip(each.cosine) if each.cosine is not None else share * (words > 0)
        fused[each.id] = clip(words * share + meaning * alike)
    return fused


def _cosine(candidate: Candidate, policy: Policy, bound: float) -> float:
    if "semantic" in policy.legs and candidate.cosine is not None:
        return clip(candidate.cosine)
    return keyword_share(candidate.bm25_around, bound) if "keyword" in policy.legs else 0.0


def _rrf(candidate: Candidate, policy: Policy, _bound: float) -> float:
    legs = set(policy.legs)
    score = rrf_score((_rank(candidate, leg) for leg in legs), policy.rrf_k)
    return score * (policy.rrf_k + 1) / len(legs)


def _minmax(candidates: Sequence[Candidate], weights: Mapping[Leg, float]) -> dict[UUID, float]:
    fused = dict.fromkeys((each.id for each in candidates), 0.0)
    for leg, weight in weights.items():
        for key, value in _stretched(candidates, leg).items():
            fused[key] = clip(fused[key] + weight * value)
    return fused


def _stretched(candidates: Sequence[Candidate], leg: Leg) -> dict[UUID, float]:
    """Scores of what the leg listed, its worst at 0 and its best at 1; all 1 where they do not differ."""
    raw = {each.id: _raw(each, leg) for each in candidates if _rank(each, leg) is not None}
    low, high = min(raw.values(), default=0.0), max(raw.values(), default=0.0)
    if high <= low:
        return dict.fromkeys(raw, 1.0)
    return {key: (value - low) / (high - low) for key, value in raw.items()}


def _rank(candidate: Candidate, leg: Leg) -> int | None:
    return candidate.keyword_rank if leg == "keyword" else candidate.semantic_rank


def _raw(candidate: Candidate, leg: Leg) -> float:
    return candidate.bm25 if leg == "keyword" else candidate.cosine or 0.0


def clip(value: float) -> float:
    """Return the value, or the end of [0, 1] that it is beyond."""
    # Comparisons, as a search does this hundreds of times, and calls of min and max take four times as long.
    return 0.0 if value < 0.0 else 1.0 if value > 1.0 else value
