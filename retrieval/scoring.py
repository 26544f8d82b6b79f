"""The tri-score: relevance, recency and importance, each in [0, 1], and their weighted sum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime

from retrieval import dates
from retrieval.dates import DateHint
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

    A candidate with `evidence` below `policy.min_score` is dropped: neither recency nor importance nor a
    date can make a match. A date named in `question` adds at most `policy.date_boost` to the relevance.
    `bm25_bound` is as in `fusion.fuse`.
    """
    relevance = fuse(candidates, policy, bm25_bound=bm25_bound)
    hint = dates.parse(question, now) if policy.date_boost > 0 else None
    scored = [
        _scored(each, relevance[each.id], policy, bound=bm25_bound, hint=hint, now=now)
        for each in candidates
        if evidence(each, policy, bm25_bound) >= policy.min_score
    ]
    return sorted(scored, key=lambda each: (-each.score.total, str(each.candidate.id)))


def _scored(
    candidate: Candidate, fused: float, policy: Policy, *, bound: float, hint: DateHint | None, now: datetime
) -> Scored:
    fit = dates.match(hint, candidate.created_at) if hint else 0.0
    boosted = fused + policy.date_boost * fit
    return Scored(
        candidate=candidate,
        score=score(boosted, candidate.created_at, candidate.importance, policy, now),
        evidence=evidence(candidate, policy, bound),
        keyword_share=keyword_share(candidate.bm25, bound),
        date_match=fit,
    )


def _clip(value: float) -> float:
    return min(1.0, max(0.0, value))
