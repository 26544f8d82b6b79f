"""How much of a question's evidence a ranking brings, turn by turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from evals.locomo import ADVERSARIAL, Question
from retrieval.metrics import hit_at, recall_at, reciprocal_rank

# A hit stands for every turn that its memory came from.
Hits = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Quality:
    """Means over `questions` questions, each in [0, 1]; all 0 without any question."""

    questions: int
    recall_at_5: float
    recall_at_10: float
    hit_at_10: float
    mrr: float


@dataclass(frozen=True, slots=True)
class Answered:
    """One question and the measures of its ranking."""

    category: int
    recall_at_5: float
    recall_at_10: float
    hit_at_10: float
    reciprocal_rank: float


def measure(question: Question, hits: Hits) -> Answered:
    """Return the measures of the ranking, best first, against the question's evidence, which must not be empty."""
    gold = set(question.evidence)
    first = [next((turn for turn in hit if turn in gold), f"miss {place}") for place, hit in enumerate(hits)]
    five, ten = _turns(hits[:5]), _turns(hits[:10])
    return Answered(
        category=question.category,
        recall_at_5=recall_at(five, gold, max(1, len(five))),
        recall_at_10=recall_at(ten, gold, max(1, len(ten))),
        hit_at_10=hit_at(ten, gold, max(1, len(ten))),
        reciprocal_rank=reciprocal_rank(first, gold),
    )


def summarise(answered: Sequence[Answered]) -> Quality:
    """Return the means over the questions."""
    return Quality(
        questions=len(answered),
        recall_at_5=_mean([each.recall_at_5 for each in answered]),
        recall_at_10=_mean([each.recall_at_10 for each in answered]),
        hit_at_10=_mean([each.hit_at_10 for each in answered]),
        mrr=_mean([each.reciprocal_rank for each in answered]),
    )


def headline(answered: Sequence[Answered]) -> Quality:
    """Return the means over the questions that have an answer: categories 1 to 4."""
    return summarise([each for each in answered if each.category != ADVERSARIAL])


def by_category(answered: Sequence[Answered]) -> dict[int, Quality]:
    """Return the means of each category that occurs."""
    categories = sorted({each.category for each in answered})
    return {number: summarise([each for each in answered if each.category == number]) for number in categories}


def _turns(hits: Hits) -> list[str]:
    return [turn for hit in hits for turn in hit]


def _mean(values: Sequence[float]) -> float:
    return fmean(values) if values else 0.0
