"""A search result in words and bars."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from dataclasses import dataclass
from datetime import timedelta

from retrieval.days.dates import Period, local
from retrieval.policy import Policy
from retrieval.query import Hit, Result
from retrieval.ranking.fusion import speaks_by_meaning
from retrieval.words.passage import stems
from retrieval.words.times import says_change
from webapp.context import zone
from webapp.pages.words import ordinal
from webapp.ratelimit import LIMITED


@dataclass(frozen=True, slots=True)
class Notice:
    """What is said of a search as a whole; `page` is the endpoint of the page that says why, called `named`."""

    text: str
    page: str = ""
    named: str = ""


NOTICES = {
    "semantic": Notice(
        "Searched by words alone: meaning was out of reach, because no embedding model gave a vector.",
        "providers.index",
        "Providers",
    ),
    "vectors": Notice(
        "Many of the memories here still wait for their embeddings: until then their words alone find them."
    ),
    "reading": Notice(
        "The machine was too busy to read what was found together with the question: what is shown may not answer it, "
        "or an answer was kept back. Search again in a moment."
    ),
    "rate_limited": Notice(
        "There were too many searches in this minute, so this one was not made. If the same question was answered "
        "before, that answer is shown. Search again in a minute."
    ),
    "incognito": Notice("Incognito is on: nothing is recalled. End it to search."),
    "memory_off": Notice("Memory is off in this space: nothing is recalled from it."),
    "database": Notice("The database does not answer. Nothing is lost; try again in a moment."),
}
# Switches and limits that leave no answer to explain.
CLOSED = frozenset({"incognito", "memory_off", "database", LIMITED})
STAGES = {
    "embed": "embed the question",
    "semantic": "by meaning",
    "keyword": "by words",
    "respell": "look for other spellings",
    "join": "bring together",
    "fetch": "fetch",
    "rank": "rank",
    "read": "read the best",
    "budget": "fit the budget",
    "total": "in all",
}


@dataclass(frozen=True, slots=True)
class Bar:
    """A part of a score, drawn against the most that it can be."""

    name: str
    value: float
    most: float = 1.0
    weight: float | None = None


@dataclass(frozen=True, slots=True)
class Leg:
    """Where a leg put a hit: its place in words, and its score, None without one."""

    name: str
    place: str
    score: float | None
    matched: bool


@dataclass(frozen=True, slots=True)
class Explained:
    """A hit, and why it stands where it stands; `likeness` is what its likeness to better hits took from its total."""

    hit: Hit
    reason: str
    bars: tuple[Bar, ...]
    legs: tuple[Leg, ...]
    lead: str = ""
    likeness: float = 0.0


@dataclass(frozen=True, slots=True)
class Answer:
    """A result as a page shows it."""

    result: Result
    hits: tuple[Explained, ...]
    notices: tuple[Notice, ...]
    timings: tuple[tuple[str, float], ...]
    closed: bool

    @property
    def kept_back(self) -> str:
        """Say how many hits a silent search withheld; empty when it withheld none."""
        number = self.result.withheld
        return f"{number} come{'s' if number == 1 else ''} near it, but none is clearly about it." if number else ""


def explain(result: Result, question: str = "") -> Answer:
    """Return the result with its reasons; `question` is what was asked."""
    skipped = (NOTICES.get(name, Notice(name)) for name in result.degraded)
    notices = (*skipped, *(Notice(f"Note: {text}.") for text in result.warnings))
    if result.period is not None:
        notices = (Notice(_period(result.period)), *notices)
    timings = tuple((said, result.timings[stage]) for stage, said in STAGES.items() if stage in result.timings)
    following: tuple[Hit | None, ...] = (*result.hits[1:], None)[: len(result.hits)]
    asked = frozenset(result.policy.legs) - set(result.degraded) if result.period is None else frozenset[str]()
    hits = tuple(
        _explained(hit, question, result.policy, after, asked)
        for hit, after in zip(result.hits, following, strict=True)
    )
    return Answer(result, hits, tuple(dict.fromkeys(notices)), timings, bool(CLOSED & set(result.degraded)))


def _period(period: Period) -> str:
    # A span ends where the day behind it begins.
    first, last = (f"{local(each, zone()):%Y-%m-%d}" for each in (period.start, period.end - timedelta.resolution))
    when = first if first == last else f"{first} to {last}"
    return f"You ask for a time and nothing else, so this is what was kept then or speaks of it ({when}, in {zone()})."


def _explained(hit: Hit, question: str, policy: Policy, after: Hit | None, asked: Set[str]) -> Explained:
    score = hit.ranked.scored.score
    bars = (
        Bar("Relevance", score.relevance, weight=policy.alpha),
        Bar("Recency", score.recency, weight=policy.beta),
        Bar("Importance", score.importance, weight=policy.gamma),
        Bar("Total", score.total, most=policy.alpha + policy.beta + policy.gamma),
    )
    lead = _lead(hit, after, policy) if after is not None else ""
    legs = (_words(hit, asked), _meaning(hit, policy, asked))
    return Explained(hit, _reason(hit, policy, question), bars, legs, lead, _likeness(hit, policy))


def _likeness(hit: Hit, policy: Policy) -> float:
    """Return what its likeness to better hits took from the total of a hit.

    MMR multiplies every total by `mmr_lambda` before it takes that off; where that is 0, likeness alone decides.
    """
    return hit.ranked.mmr_penalty / (policy.mmr_lambda or 1.0)


# A penalty for likeness is told of from here on, where it moves a hit among its neighbours.
MOVED = 0.02
# A part of a lead below this would be shown as nothing.
LEAST_PART = 0.005


def _lead(hit: Hit, after: Hit, policy: Policy) -> str:
    """Say what put a hit before the next one: the difference of each part as it counts in the total."""
    if hit.ranked.scored.update_boost > 0:
        is_newer = hit.ranked.scored.candidate.created_at > after.ranked.scored.candidate.created_at
        return f"Before the next as it is {'newer' if is_newer else 'older'}, and of the same"
    score, other = hit.ranked.scored.score, after.ranked.scored.score
    parts = {"likeness": _likeness(after, policy) - _likeness(hit, policy)}
    if policy.mmr_lambda > 0:
        totals = {
            "relevance": policy.alpha * (score.relevance - other.relevance),
            "recency": policy.beta * (score.recency - other.recency),
            "importance": policy.gamma * (score.importance - other.importance),
        }
        parts = {**totals, **parts}
    told = [f"{name} {_signed(part)}" for name, part in parts.items() if abs(part) >= LEAST_PART]
    by = sum(parts.values())
    return f"Before the next by {by:.2f}: {', '.join(told)}" if told and by >= LEAST_PART else "Even with the next"


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "\N{MINUS SIGN}")


# What is said of every hit for a leg that the policy leaves out, or that was out of reach.
UNASKED = "not asked"


def _words(hit: Hit, asked: Set[str]) -> Leg:
    memory = hit.ranked.scored.candidate
    if memory.bm25 <= 0:
        return Leg("Words", "no match" if "keyword" in asked else UNASKED, None, matched=False)
    return Leg("Words", _place(memory.keyword_rank), memory.bm25, matched=True)


def _meaning(hit: Hit, policy: Policy, asked: Set[str]) -> Leg:
    memory = hit.ranked.scored.candidate
    if memory.cosine is None:
        return Leg("Meaning", "no vector yet" if "semantic" in asked else UNASKED, None, matched=False)
    return Leg("Meaning", _place(memory.semantic_rank), memory.cosine, matched=speaks_by_meaning(memory, policy))


def _place(rank: int | None) -> str:
    return ordinal(rank) if rank is not None else "far down"


# How likely a note must be to answer before a page speaks of it: the number itself would seem to claim more.
PROBABLY, SURELY = 0.5, 0.8
# Below this what was said beside it moved nothing that anyone would notice.
SHOWN_CONTEXT = 0.05


# A text of more characters says somewhere that something has changed, whatever is asked.
SHORT = 300
_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")


def _says_change(text: str, question: str) -> bool:
    """Tell whether what a text says of the question has changed: of a long one, a sentence with a word of it."""
    if len(text) <= SHORT:
        return True
    wanted = stems(question)
    return any(says_change(each) and not wanted.isdisjoint(stems(each)) for each in _SENTENCES.split(text))


def _reason(hit: Hit, policy: Policy, question: str) -> str:
    """Say in one sentence what brought the hit here."""
    scored = hit.ranked.scored
    memory = scored.candidate
    found = [
        f"{ordinal(rank)} by {leg}"
        for leg, rank, matched in (
            ("words", memory.keyword_rank, True),
            ("meaning", memory.semantic_rank, speaks_by_meaning(memory, policy)),
        )
        if rank is not None and matched
    ]
    if scored.date_match > 0:
        found.append("of the time you name" if scored.date_match == 1 else "near the time you name")
    if scored.context >= SHOWN_CONTEXT:
        found.append("said beside something that matches too")
    if memory.sureness is not None and memory.sureness >= PROBABLY:
        found.append("reads like an answer" if memory.sureness >= SURELY else "may be an answer")
    if scored.speaker_match:
        found.append(f"said by {memory.speaker}, whom you name")
    if scored.time_match:
        found.append("says a time, as you ask for one")
    if scored.change_match and _says_change(memory.text, question):
        found.append("says what has changed")
    if not found:
        # Neither leg listed it; it came along with one that was, and is at most a little like the question.
        found.append("a little like it by meaning" if memory.cosine is not None else "beside what was found")
    return ", ".join([*found, *_moved_down(hit, policy)])


def _moved_down(hit: Hit, policy: Policy) -> Iterator[str]:
    """Say what took from the hit's score."""
    scored = hit.ranked.scored
    if scored.lacks_code:
        yield "moved down as it lacks the number or name that another has"
    # A version that was put before the best got back what reading had taken from it.
    if scored.reading_penalty >= MOVED and scored.update_boost == 0:
        yield f"moved down by {scored.reading_penalty:.2f} as another reads more like an answer"
    if (likeness := _likeness(hit, policy)) >= MOVED:
        yield f"moved down by {likeness:.2f} for its likeness to a better hit"
