"""The one home of every number that changes the order of results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

Fusion = Literal["convex", "minmax", "rrf", "cosine"]
Leg = Literal["keyword", "semantic"]

FUSIONS: tuple[Fusion, ...] = get_args(Fusion)
LEGS: tuple[Leg, ...] = get_args(Leg)


class PolicyError(ValueError):
    """A policy field has a value outside its range; `field` names it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message


@dataclass(frozen=True, slots=True)
class Policy:
    """How candidates become an order. Every field may be set per space and per call.

    `alpha`, `beta` and `gamma` weigh relevance, recency and importance, each in [0, 1], in the total. `tau_days`
    is the recency decay constant in days. `semantic_weight` is the share of the semantic leg in `convex` and
    `minmax` fusion, `turn_semantic_weight` the same where most of what is ranked are turns of a talk: a note says by
    itself what it is about, a turn half of it. `depth` is how many candidates each leg contributes. `min_score` in
    [0, 1] is the evidence that a candidate needs from at least one leg, a fifth of it while it has no vector; or how
    likely it must be to answer, where it was read: with too few of enough evidence to read, others are read too.

    Among memories of one person something always seems a little alike, so nothing is found unless one candidate answers
    what is asked (`retrieval.silence`). Notes in English are read together with the question, the best first and alone,
    until one is `certain_reading` likely to answer it and that is enough; none that lacks an identifier that is asked
    for, and what has it whole answers unread. At least the `reads` best are read and at most `most_reads`, no further
    where the last two are as good as sure not to answer, unless each of several is wanted and one answers. One must be
    at least `sure_reading` likely, or `worded_reading` if its words have all that the question's words tell, or then
    even `topic_reading` where that only names a thing or wants all of it; but `named_reading` where a name is asked for
    and it has nothing of the question but that, or all but that; and any but the first one surer than that. Of a
    question for everything, or for things of a kind, none ends the reading; and of one for everything, unless its words
    have all, one must be `list_reading` likely. What is not read after `reading_ms` milliseconds stays unread. Beside
    one that is `alone_reading` likely, or has the identifier or all of mere key words, what shares no word with the
    question is left out if its cosine is less than 0.45 of the best and does not reach `sure_cosine`, or if it lacks
    the identifier; but nothing where everything, or things of a kind, are asked for.

    What is not read, as turns, other languages, or anything where `reads` is 0, must be about what is asked, and say an
    amount where the question wants one. It is about what is asked if it has the identifier that is asked for, with all
    its parts, and cannot be if it lacks that; else where its words have `sure_share` of what the question's words tell,
    or its cosine reaches `sure_cosine`. Where the question asks something of a name and the candidate has only the name
    of that, or all but the name, its cosine must reach `named_cosine`: either makes texts alike that have nothing to do
    with each other. With only the name it is enough too if its cosine reaches `sure_cosine`, and `rest_cosine` to the
    question without the name. Without a vector four sevenths of `sure_share` are enough. A turn of a talk, which says
    half of what it means, needs `turn_share` or `sure_cosine`, and nothing else of all that. With 0 for `min_score` or
    `sure_cosine` nothing is asked for.

    A question for several things, up to `parts` of them, is asked for each by itself as well (`retrieval.decompose`),
    and what all these bring is shown in turn. So many numbers and words as `respellings` that no memory has are looked
    for in another spelling, and the question asked again as they are written there (`retrieval.respelling`).

    `mmr_lambda` is 1 for no diversity, 0 for diversity alone.
    `context_weight` is how much a word of the memory stored before or after counts beside one of the memory's own: an
    answer stands beside its question. The boosts add at most so much to the relevance: `date_boost` where the memory
    is of a date that the question names, `speaker_boost` where it was said by whom the question names, `time_boost`
    where the question asks when and the memory says a time, `change_boost` where a note that shares a word with the
    question says that something is no longer as it was, `detail_boost` by how much a memory says at all.
    What is less likely to answer than another that was read loses `reading_weight` times the difference of their
    log-odds; what was not read has the mean of what was. Before the best comes what was stored after it, has a cosine
    to it of `update_cosine`, and is `certain_reading` likely to answer, or `update_reading` where it says that
    something changed; where the question asks for what was, what was stored before it (`retrieval.versions`).
    """

    name: str = "balanced"
    fusion: Fusion = "convex"
    legs: tuple[Leg, ...] = LEGS
    semantic_weight: float = 0.6
    turn_semantic_weight: float = 0.4
    rrf_k: int = 60
    k1: float = 1.2
    b: float = 0.75
    alpha: float = 1.0
    beta: float = 0.05
    gamma: float = 0.05
    tau_days: float = 7.0
    min_score: float = 0.15
    sure_cosine: float = 0.26
    named_cosine: float = 0.65
    rest_cosine: float = 0.22
    sure_share: float = 0.7
    turn_share: float = 0.1
    reads: int = 4
    most_reads: int = 8
    sure_reading: float = 0.07
    named_reading: float = 0.1
    list_reading: float = 0.4
    worded_reading: float = 0.02
    topic_reading: float = 0.01
    certain_reading: float = 0.5
    alone_reading: float = 0.8
    update_cosine: float = 0.45
    update_reading: float = 0.3
    reading_ms: float = 150.0
    reading_weight: float = 0.05
    parts: int = 3
    respellings: int = 4
    mmr_lambda: float = 0.975
    depth: int = 30
    context_weight: float = 0.7
    date_boost: float = 0.2
    speaker_boost: float = 0.06
    time_boost: float = 0.05
    change_boost: float = 0.05
    detail_boost: float = 0.08

    @property
    def reads_at_most(self) -> int:
        """Return how many of the best are read at most; 0 where none is."""
        return self.reads and max(self.reads, self.most_reads)

    def __post_init__(self) -> None:
        _check_choices(self)
        for name, (low, high) in _RANGES.items():
            if not low <= getattr(self, name) <= high:
                raise PolicyError(name, f"must be between {low:g} and {high:g}")
        if self.alpha + self.beta + self.gamma <= 0:
            raise PolicyError("alpha", "must be above 0 where beta and gamma are not")


_RANGES: dict[str, tuple[float, float]] = {
    "semantic_weight": (0, 1),
    "turn_semantic_weight": (0, 1),
    "rrf_k": (1, 1000),
    "k1": (0, 10),
    "b": (0, 1),
    "alpha": (0, 10),
    "beta": (0, 10),
    "gamma": (0, 10),
    "tau_days": (0.01, 36500),
    "min_score": (0, 1),
    "sure_cosine": (0, 1),
    "named_cosine": (0, 1),
    "rest_cosine": (0, 1),
    "sure_share": (0, 1),
    "turn_share": (0, 1),
    "reads": (0, 50),
    "most_reads": (0, 50),
    "sure_reading": (0, 1),
    "named_reading": (0, 1),
    "list_reading": (0, 1),
    "worded_reading": (0, 1),
    "topic_reading": (0, 1),
    "certain_reading": (0, 1),
    "alone_reading": (0, 1),
    "update_cosine": (0, 1),
    "update_reading": (0, 1),
    "reading_ms": (1, 60_000),
    "reading_weight": (0, 1),
    "parts": (0, 10),
    "respellings": (0, 50),
    "mmr_lambda": (0, 1),
    "depth": (1, 500),
    "context_weight": (0, 1),
    "date_boost": (0, 1),
    "speaker_boost": (0, 1),
    "time_boost": (0, 1),
    "change_boost": (0, 1),
    "detail_boost": (0, 1),
}


_WHOLE = frozenset({"rrf_k", "depth", "reads", "most_reads", "parts", "respellings"})


def _check_choices(policy: Policy) -> None:
    if not isinstance(policy.fusion, str) or policy.fusion not in FUSIONS:
        raise PolicyError("fusion", f"must be one of {', '.join(FUSIONS)}")
    if not policy.legs or not all(isinstance(leg, str) and leg in LEGS for leg in policy.legs):
        raise PolicyError("legs", f"must name one or both of {', '.join(LEGS)}")


# `specified` has the numbers of the documents that the product follows; `balanced` is what the evaluation favours.
NAMED: dict[str, Policy] = {
    "balanced": Policy(),
    "specified": Policy(
        name="specified",
        fusion="rrf",
        beta=1.0,
        gamma=1.0,
        min_score=0.3,
        sure_cosine=0.0,
        mmr_lambda=0.7,
        context_weight=0.0,
        date_boost=0.0,
        speaker_boost=0.0,
        time_boost=0.0,
        change_boost=0.0,
        detail_boost=0.0,
        reading_weight=0.0,
        parts=0,
        respellings=0,
    ),
}


def described() -> dict[str, Any]:
    """Return what `policy_from` takes as a JSON schema."""
    numbers = {
        name: {"type": "integer" if name in _WHOLE else "number", "minimum": low, "maximum": high}
        for name, (low, high) in _RANGES.items()
    }
    choices = {
        "name": {"type": "string", "enum": list(NAMED)},
        "fusion": {"type": "string", "enum": list(FUSIONS)},
        "legs": {"type": "array", "items": {"type": "string", "enum": list(LEGS)}, "minItems": 1},
    }
    return {"type": "object", "properties": {**choices, **numbers}, "additionalProperties": False}


# The fields of earlier versions, which a space or an export may still have.
RETIRED = frozenset({"list_reads", "turn_cosine"})


def policy_from(overrides: dict[str, Any], base: Policy) -> Policy:
    """Apply field overrides to `base`; a `name` that is a named policy switches the base first.

    `semantic_weight` alone rules turns too. Raises `PolicyError` with the field's name for an unknown field, a wrong
    type or a value out of range.
    """
    values = dict(overrides)
    if "semantic_weight" in values:
        values.setdefault("turn_semantic_weight", values["semantic_weight"])
    name = values.pop("name", None)
    if name is not None:
        if not isinstance(name, str) or name not in NAMED:
            raise PolicyError("name", f"must be one of {', '.join(NAMED)}")
        base = NAMED[name]
    return replace(base, **{key: _coerced(key, value) for key, value in values.items()})


def kept_policy(weights: Mapping[str, Any], base: Policy) -> Policy:
    """Apply weights that were kept, maybe by an earlier version, to `base`; raises as `policy_from` does.

    What no policy has any more means nothing now: nobody who searches can do anything about it.
    """
    return policy_from({key: value for key, value in weights.items() if key not in RETIRED}, base)


def _coerced(key: str, value: Any) -> Any:
    if key == "fusion":
        return value
    if key == "legs":
        return _legs(value)
    if key not in _RANGES:
        raise PolicyError(key, "is not a policy field")
    return _number(key, value)


def _legs(value: Any) -> tuple[Leg, ...]:
    if not isinstance(value, list | tuple) or not all(leg in LEGS for leg in value if isinstance(leg, str)):
        raise PolicyError("legs", f"must be a list of {', '.join(LEGS)}")
    return tuple(value)


def _number(key: str, value: Any) -> float:
    low, high = _RANGES[key]
    # Compared before any conversion: NaN fails here, and so does an integer too large for a float.
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise PolicyError(key, f"must be a number between {low:g} and {high:g}")
    if key not in _WHOLE:
        return float(value)
    if value != int(value):
        raise PolicyError(key, "must be a whole number")
    return int(value)
