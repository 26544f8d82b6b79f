"""A system with a cutoff: it brings nothing where not even its best hit scores above it.

Who never keeps silent finds more, and answers what has no answer. A cutoff makes the two comparable. It is the lowest
by which a system keeps as many questions silent that have no answer as another does, chosen on the very questions that
it is judged by: no user could choose better.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, inf

from evals.peers.measure import Found
from evals.report import Variant

SILENT = "abstention"


@dataclass(frozen=True, slots=True)
class Cut:
    """What a system brings where its best hit must score above `score`, in its own units; -inf asks for nothing."""

    score: float
    variant: Variant


def as_silent(found: Found, abstention: float) -> Cut | None:
    """Return a system that keeps silent in at least this share, in [0, 1], of the questions without an answer.

    None where it could not be measured, where it tells no scores, or where every question has an answer.
    """
    if found.variant is None or not found.best:
        return None
    outcomes = found.variant.outcomes
    best = [_best(score, bool(each.found)) for score, each in zip(found.best, outcomes, strict=True)]
    unanswered = [score for score, each in zip(best, outcomes, strict=True) if not each.question.expected]
    if not unanswered or None in best:
        return None
    scores = sorted(score for score in unanswered if score is not None)
    # The share stands for a whole number of questions, so a remainder that comes of rounding must not count as one
    # more.
    silent = ceil(round(abstention * len(scores), 9))
    above = scores[silent - 1] if silent else -inf
    kept = [
        each if score is not None and score > above else replace(each, found=(), found_sessions=())
        for score, each in zip(best, outcomes, strict=True)
    ]
    return Cut(above, Variant(found.name, tuple(kept)))


def _best(score: float | None, found: bool) -> float | None:
    """Return the score of the best hit, that of no hit being below all others; None where hits have none."""
    return score if found else -inf
