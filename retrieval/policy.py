"""The one home of every number that changes the order of results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
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


def _within(low: float, high: float, default: float) -> Any:
    """Return a field with the range of its numbers, both ends included; whole ones where the default is whole."""
    return field(default=default, metadata={"range": (low, high)})


@dataclass(frozen=True, slots=True)
class Policy:
    """How candidates become an order. Every field may be set per space and per call.

    A hit's total is alpha * relevance + beta * recency + gamma * importance, each of these in [0, 1]. Among memories of
    one person something always seems a little alike, so nothing is found unless one candidate answers what is asked:
    notes in English are read together with the question, and what cannot be read must be about it by rules
    (`retrieval.ranking.silence`). `docs/search.md` has the course of all that, `docs/tuning.md` why each number is what
    it is.

    Raises `PolicyError` for a number out of its range, and where no part of the total has a weight.
    """

    name: str = "balanced"

    # --- the legs, and one relevance of both ---

    # See `retrieval.ranking.fusion.fuse`.
    fusion: Fusion = "convex"
    legs: tuple[Leg, ...] = LEGS
    # The share of the semantic leg in `convex` and `minmax` fusion, among notes and where most candidates are turns of
    # a talk: a note says by itself what it is about, a turn half of it.
    semantic_weight: float = _within(0, 1, 0.6)
    turn_semantic_weight: float = _within(0, 1, 0.4)
    rrf_k: int = _within(1, 1000, 60)
    # Of BM25: how soon a repeated word adds no more, and how much long texts are damped.
    k1: float = _within(0, 10, 1.2)
    b: float = _within(0, 1, 0.75)

    # --- the total ---

    alpha: float = _within(0, 10, 1.0)
    beta: float = _within(0, 10, 0.05)
    gamma: float = _within(0, 10, 0.05)
    # The constant by which recency decays.
    tau_days: float = _within(0.01, 36500, 7.0)

    # --- what may be a hit ---

    # The evidence that a candidate needs from at least one leg, a fifth of it while it has no vector; or how likely it
    # must be to answer, where it was read. With too few of enough evidence to read, others are read too. With 0 here or
    # for `sure_cosine` no candidate need answer or be about what is asked.
    min_score: float = _within(0, 1, 0.15)

    # --- when what is not read is about the question: turns, other languages, or anything where `reads` is 0 ---

    # It is if it has the identifier that is asked for, with all its parts, and cannot be if it lacks that. Else it is
    # if its cosine reaches this, or its words have `sure_share`. Where the question wants an amount it must say one.
    sure_cosine: float = _within(0, 1, 0.26)
    # The same where the question asks something of a name, and the candidate has only the name of that, or all but the
    # name: either makes texts alike that have nothing to do with each other.
    named_cosine: float = _within(0, 1, 0.65)
    # With only the name `sure_cosine` is enough too, if the cosine to the question without the name reaches this.
    rest_cosine: float = _within(0, 1, 0.22)
    # The share of what the question's words tell; without a vector four sevenths of it are enough.
    sure_share: float = _within(0, 1, 0.7)
    # The same for a turn of a talk, which says half of what it means: this or `sure_cosine`, and nothing else of all
    # that.
    turn_share: float = _within(0, 1, 0.1)

    # --- reading notes together with the question ---

    # How many of the best are read at least, the first one alone (0 reads none), and at most. Reading goes no further
    # than `reads` where the last two are as good as sure not to answer, unless each of several is wanted and one
    # answers. A note that lacks an identifier that is asked for is not read, and one that has it whole answers unread.
    reads: int = _within(0, 50, 4)
    most_reads: int = _within(0, 50, 8)
    # How likely one must be to answer, or nothing is found; any but the first must be surer than that.
    sure_reading: float = _within(0, 1, 0.07)
    # The same where a name is asked for and it has nothing of the question but that, or all but that.
    named_reading: float = _within(0, 1, 0.1)
    # The same of a question for everything, unless the words of the note have all of the question's.
    list_reading: float = _within(0, 1, 0.4)
    # The same if the words of the note have all that the question's words tell; the latter where the question only
    # names a thing, or wants all of it.
    worded_reading: float = _within(0, 1, 0.02)
    topic_reading: float = _within(0, 1, 0.01)
    # One that is so likely to answer ends the reading, but not of a question for everything or for things of a kind.
    certain_reading: float = _within(0, 1, 0.5)
    # Beside one that is so likely, or has the identifier or all of mere key words, what shares no word with the
    # question is left out if its cosine is less than 0.45 of the best and does not reach `sure_cosine`, or if it lacks
    # the identifier; but nothing where everything, or things of a kind, are asked for.
    alone_reading: float = _within(0, 1, 0.8)
    # What was stored after the best comes before it, if it has such a cosine to it and is `certain_reading` likely to
    # answer, or `update_reading` where it says that something changed; where the question asks for what was, what was
    # stored before it (`retrieval.reading.versions`).
    update_cosine: float = _within(0, 1, 0.45)
    update_reading: float = _within(0, 1, 0.3)
    # What is not read after so many milliseconds stays unread.
    reading_ms: float = _within(1, 60_000, 150.0)
    # What is less likely to answer than another that was read loses so many times the difference of their log-odds;
    # what was not read has the mean of what was.
    reading_weight: float = _within(0, 1, 0.05)

    # --- asking more than once ---

    # A question for up to so many things is asked for each by itself as well (`retrieval.words.decompose`).
    parts: int = _within(0, 10, 3)
    # So many numbers and words that no memory has are looked for in another spelling (`retrieval.lookup.respelling`).
    respellings: int = _within(0, 50, 4)

    # --- the order ---

    # 1 for no diversity, 0 for diversity alone.
    mmr_lambda: float = _within(0, 1, 0.975)
    # How many candidates each leg contributes.
    depth: int = _within(1, 500, 30)
    # How much a word of the memory stored before or after counts beside one of the memory's own: an answer stands
    # beside its question.
    context_weight: float = _within(0, 1, 0.7)
    # What is added to the relevance at most: where the memory is of a date that the question names, where it was said
    # by whom the question names, where the question asks when and the memory says a time, where a note that shares a
    # word with the question says that something is no longer as it was, and by how much a memory says at all.
    date_boost: float = _within(0, 1, 0.2)
    speaker_boost: float = _within(0, 1, 0.06)
    time_boost: float = _within(0, 1, 0.05)
    change_boost: float = _within(0, 1, 0.05)
    detail_boost: float = _within(0, 1, 0.08)

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


_RANGES: Mapping[str, tuple[float, float]] = {
    each.name: each.metadata["range"] for each in fields(Policy) if "range" in each.metadata
}
_WHOLE = frozenset(each.name for each in fields(Policy) if isinstance(each.default, int))


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


# Fields that earlier versions had; a space or an export may still have them.
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
        raise PolicyError(key, f"is not a policy field; there are {', '.join(('fusion', 'legs', *_RANGES))}")
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
