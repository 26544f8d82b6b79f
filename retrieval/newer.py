"""A note and a newer one of the same: where both answer, the newer one comes first, as things change."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from memory.embedding.likeness import cosine_of
from memory.remember import SITTING
from retrieval import times
from retrieval.policy import Policy
from retrieval.types import Score, Scored

# By so much one stands before another: more than a tie, and too little to be seen in a score.
STEP = 1e-4
_PAST = re.compile(
    r"""\b(?:
        (?:the|my|our|your|his|her|its|their|['\u2019]s)\s+(?:old|first|former|previous|earlier|original|initial)
      | formerly | previously | originally | initially | at\ first | back\ then | used\ to
    )\b
    | \bbefore(?:\ (?:that|then|this))?\W*$""",
    re.IGNORECASE | re.VERBOSE,
)


def asks_for_the_past(question: str) -> bool:
    """Tell whether a question wants what was, and not what holds now.

    >>> asks_for_the_past("What was my old hourly rate?"), asks_for_the_past("How old is Ada?")
    (True, False)
    """
    return _PAST.search(question) is not None


def newer(one: Scored, others: Iterable[Scored], policy: Policy, *, unrelated: float) -> list[Scored]:
    """Return those of `others` that may say what has become of what one says, the newest first.

    They were stored after it was said last, and not in the same sitting: then several say several things of one matter.
    They are of the time that is asked for if it is, and their vectors are as near to its as `update_cosine`, where
    `unrelated` is the cosine of unrelated texts.
    """
    memory, least = one.candidate, cosine_of(policy.update_cosine, unrelated)
    if memory.vector is None:
        return []
    said = memory.said_again or memory.created_at
    return sorted(
        (
            each
            for each in others
            if each.candidate.created_at > said + SITTING
            # What sums up what was known is later than that, and no news.
            and each.candidate.type != "summary"
            and each.date_match >= one.date_match
            and each.candidate.vector is not None
            and each.candidate.vector.shape == memory.vector.shape
            and float(each.candidate.vector @ memory.vector) >= least
        ),
        key=lambda each: each.candidate.created_at,
        reverse=True,
    )


def overtakes(scored: Scored, sureness: float | None, policy: Policy) -> bool:
    """Tell whether one that is newer is likely enough to answer, for which less is enough if it says what changed."""
    changed = times.says_change(scored.candidate.text)
    return (sureness or 0.0) >= (policy.update_reading if changed else policy.certain_reading)


def newest_first(scored: Sequence[Scored], policy: Policy, *, question: str, unrelated: float) -> list[Scored]:
    """Put before the best of what is in order what is newer, of the same, and likely to answer.

    Such a one gains what it lacks to stand there, so that its score says it.
    """
    if not scored or policy.alpha == 0 or asks_for_the_past(question):
        return [*scored]
    best, *rest = scored
    likely = (each for each in rest if overtakes(each, each.candidate.sureness, policy))
    first = newer(best, likely, policy, unrelated=unrelated)
    raised = [_raised(each, best.standing + STEP * place, policy) for place, each in enumerate(reversed(first), 1)]
    moved = {each.candidate.id for each in first}
    return [*reversed(raised), best, *(each for each in rest if each.candidate.id not in moved)]


def _raised(scored: Scored, standing: float, policy: Policy) -> Scored:
    made = scored.score
    relevance = min(1.0, made.relevance + max(0.0, standing - made.total) / policy.alpha)
    gain = policy.alpha * (relevance - made.relevance)
    total = made.total + gain
    again = Score(relevance, made.recency, made.importance, total)
    # What pins and importance gave the other beyond all relevance is made good out of sight.
    return replace(scored, score=again, update_boost=gain, beyond=total - standing)
