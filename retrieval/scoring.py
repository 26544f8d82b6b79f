"""The tri-score: relevance, recency and importance, each in [0, 1], and their weighted sum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime

from retrieval import dates
from retrieval.fusion import evidence, fuse, keyword_share
from retrieval.policy import Policy
from retrieval.types import Candidate, Score, Scored

_DAY = 86_400.0


def recency(age_seconds: float, tau_seconds: float) -> float:
    """exp(-age / tau) in [0, 1]; an age below 0 (a clock ahead of ours) counts as 0.

    Exponential decay as in Park et al. 2023, "Generative Agents". `tau_seconds` must be above 0.
    """
    return math.exp(-max(0.0, age_seconds) / tau_seconds)


def score(relevance: float, created_at: datetime, importance: float, policy: Policy, now: datetime) -> Score:
    """The three parts, clipped to [0, 1], and alpha * relevance + beta * recency + gamma * importance.

    The total is in [0, alpha + beta + gamma].
    """
    relevance, importance = _clip(relevance), _clip(importance)
    fresh = recency((now - created_at).total_seconds(), policy.tau_days * _DAY)
    total = policy.alpha * relevance + policy.beta * fresh + policy.gamma * importance
    return Score(relevance, fresh, importance, total)


def rank(
    candidates: Sequence[Candidate], policy: Policy, *, bm25_bound: float, question: str, now: datetime
) -> list[Scored]:
    """Candidates with enough evidence, best total first, equal totals by id.

    A candidate with `evidence` below `policy.min_score` is dropped: neither recency nor importance, neither a date
    nor its neighbour can make a match. A date named in `question` adds at most `policy.date_boost` to the relevance,
    the memory before it `policy.context_boost` times its own. `bm25_bound` is as in `fusion.fuse`.
    """
    relevance = fuse(candidates, policy, bm25_bound=bm25_bound)
    hint = dates.parse(question, now) if policy.date_boost > 0 else None
    scored = []
    for each in candidates:
        found = evidence(each, policy, bm25_bound)
        if found < policy.min_score:
            continue
        before = relevance.get(each.previous_id, 0.0) if each.previous_id is not None else 0.0
        fit = dates.match(hint, each.created_at) if hint else 0.0
        boosted = relevance[each.id] + policy.date_boost * fit + policy.context_boost * before
        scored.append(
            Scored(
                candidate=each,
                score=score(boosted, each.created_at, each.importance, policy, now),
                evidence=found,
                keyword_share=keyword_share(each.bm25, bm25_bound),
                date_match=fit,
                context=before,
            )
        )
    return sorted(scored, key=lambda each: (-each.score.total, str(each.candidate.id)))


def _clip(value: float) -> float:
    return min(1.0, max(0.0, value))
