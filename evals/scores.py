"""The measures of one question: what was expected against what was found. docs/evaluation.md defines each."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from evals.dataset import Question
from retrieval.ranking.metrics import ndcg_at, precision_at, reciprocal_rank

# With fewer right memories than this, they cannot fill the first five places.
ENOUGH = 5
SHARES = ("token budget", "safety")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a question brought, best first: `found` has for each hit the ids that it stands for.

    `items` are the expected ids, those together that one memory holds. `sessions` are those of the expected ids, and
    `found_sessions` those of each hit; both empty where there are none. `ranked_sessions` are all sessions in the order
    of their best hit, None where that was not asked for. `safe` says that the asker got nothing of others and a
    stranger nothing of the asker's, `compliant` that the answer kept to the token budget; None where that was not
    tried. `degraded` says that a leg of the search was missing.
    """

    question: Question
    found: tuple[tuple[str, ...], ...]
    items: frozenset[frozenset[str]]
    milliseconds: float
    sessions: frozenset[str] = frozenset()
    found_sessions: tuple[frozenset[str], ...] = ()
    ranked_sessions: tuple[str, ...] | None = None
    safe: bool | None = None
    compliant: bool | None = None
    degraded: bool = False


def grouped(expected: AbstractSet[str], holders: Mapping[str, Hashable]) -> frozenset[frozenset[str]]:
    """Return the expected ids in sets: those that one memory holds in one, each of the others in one of its own."""
    together: dict[Hashable, set[str]] = {}
    for each in expected:
        together.setdefault(holders.get(each, ("nowhere", each)), set()).add(each)
    return frozenset(map(frozenset, together.values()))


def scores(outcome: Outcome) -> dict[str, float]:
    """Return each measure that is defined for the question; all are in [0, 1], and more is better."""
    tried = zip(SHARES, (outcome.compliant, outcome.safe), strict=True)
    always = {name: float(value) for name, value in tried if value is not None}
    expected = outcome.question.expected
    if not expected:
        return {"abstention": float(not outcome.found), **always}
    ranked = _ranked(outcome)
    found = {f"recall@{k}": _share(outcome.found[:k], expected) for k in (1, 5, 10)}
    if len(outcome.items) >= ENOUGH:
        found["precision@5"] = precision_at(ranked, outcome.items, 5)
    for k in (5, 10):
        found[f"hit@{k}"] = float(_share(outcome.found[:k], expected) > 0)
    found["MRR"] = reciprocal_rank(ranked, outcome.items)
    found["nDCG@10"] = ndcg_at(ranked, outcome.items, 10)
    if outcome.sessions:
        found["session recall@10"] = _share(outcome.found_sessions[:10], outcome.sessions)
        found["session hit@10"] = float(found["session recall@10"] > 0)
        if outcome.ranked_sessions is not None:
            found["recall@10 of sessions"] = _share([outcome.ranked_sessions[:10]], outcome.sessions)
    return {**found, **always}


def misses(outcome: Outcome) -> bool:
    """Tell whether a question missed something that it could have brought among the first five."""
    got = scores(outcome)
    # The highest recall that five places can reach, where the question has more right memories than five.
    most = sum(sorted(map(len, outcome.items), reverse=True)[:5]) / max(1, len(outcome.question.expected))
    least = {"abstention": 1.0, "recall@5": most, **dict.fromkeys(SHARES, 1.0)}
    return any(got[name] < value - 1e-9 for name, value in least.items() if name in got)


def _ranked(outcome: Outcome) -> list[frozenset[str] | int]:
    """Return each hit as a right item that it brings, one that none before it did if it can, or as its place.

    A system may have merged what are several items here: its hit is right, and counts once.
    """
    ordered = sorted(outcome.items, key=sorted)
    ranked: list[frozenset[str] | int] = []
    for place, ids in enumerate(outcome.found):
        brought = [item for item in ordered if not item.isdisjoint(ids)]
        ranked.append(next((item for item in brought if item not in ranked), brought[0] if brought else place))
    return ranked


def _share(hits: Sequence[Sequence[str] | AbstractSet[str]], expected: AbstractSet[str]) -> float:
    return len({each for hit in hits for each in hit} & expected) / len(expected)
