"""Notes of the same from different times: where two answer, the newer one comes first, or of what was the older one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from memory.embedding.likeness import cosine_of
from memory.writing.remember import SITTING
from retrieval.days import eras
from retrieval.days.eras import Era
from retrieval.policy import Policy
from retrieval.ranking.types import Score, Scored
from retrieval.words import times

# How much higher a version is put than the one before it: more than a tie, and too little to be seen in a score.
STEP = 1e-4


def versions(one: Scored, others: Iterable[Scored], policy: Policy, *, era: Era, unrelated: float) -> list[Scored]:
    """Return those of `others` that may say what has become of what one says, or what it was, as the `era` asks for.

    First comes what is meant before all: of what is, and of what was just before, the newest, of what was at first the
    oldest. Two are versions of the same where one was stored after the other was said last, and not in the same
    sitting: then several say several things of one matter. They are of the time that is asked for if the one is, and
    their vectors are as near to its as `update_cosine`, where `unrelated` is the cosine of unrelated texts.
    """
    least = cosine_of(policy.update_cosine, unrelated)
    found = (
        each
        for each in others
        if (_is_newer(each, one) if era is Era.NOW else _is_newer(one, each))
        and each.date_match >= one.date_match
        and _is_near(each, one, least)
    )
    return sorted(found, key=lambda each: each.candidate.created_at, reverse=era is not Era.FIRST)


def _is_newer(one: Scored, other: Scored) -> bool:
    said = other.candidate.said_again or other.candidate.created_at
    # A summary is later than what it sums up, and no news of it.
    return one.candidate.created_at > said + SITTING and one.candidate.type != "summary"


def _is_near(one: Scored, other: Scored, least: float) -> bool:
    mine, its = one.candidate.vector, other.candidate.vector
    return mine is not None and its is not None and mine.shape == its.shape and float(mine @ its) >= least


def overtakes(scored: Scored, sureness: float | None, policy: Policy, *, era: Era) -> bool:
    """Tell whether a version is likely enough to answer.

    Less is enough of what says that something changed, and where the question asks for another one than the latest.
    """
    less = era is not Era.NOW or times.says_change(scored.candidate.text)
    return (sureness or 0.0) >= (policy.update_reading if less else policy.certain_reading)


def asked_for_first(scored: Sequence[Scored], policy: Policy, *, question: str, unrelated: float) -> list[Scored]:
    """Put before the best of what is in order the versions of the same that the question asks for and that answer it.

    Such a one gains what it lacks to stand there, so that its score says it.
    """
    era = eras.era_of(question)
    if not scored or policy.alpha == 0 or era is None:
        return [*scored]
    best, *rest = scored
    # The best one already tells what was, so older notes are no better answer.
    if era is not Era.NOW and eras.tells_the_past(best.candidate.text):
        return [*scored]
    likely = (each for each in rest if overtakes(each, each.candidate.sureness, policy, era=era))
    first = versions(best, likely, policy, era=era, unrelated=unrelated)
    raised = [_raised(each, best.standing + STEP * place, policy) for place, each in enumerate(reversed(first), 1)]
    moved = {each.candidate.id for each in first}
    return [*reversed(raised), best, *(each for each in rest if each.candidate.id not in moved)]


def _raised(scored: Scored, standing: float, policy: Policy) -> Scored:
    made = scored.score
    relevance = min(1.0, made.relevance + max(0.0, standing - made.total) / policy.alpha)
    gain = policy.alpha * (relevance - made.relevance)
    total = made.total + gain
    again = Score(relevance, made.recency, made.importance, total)
    # `beyond` takes what relevance at its largest could not make up for, where the other one stands higher by
    # importance.
    return replace(scored, score=again, update_boost=gain, beyond=total - standing)
