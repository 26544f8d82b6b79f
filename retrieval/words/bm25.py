"""BM25 of a memory together with what was said beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from retrieval.policy import Policy

Floats = NDArray[np.float64]

# Above so many times the mean length BM25 damps a text no more: it punishes long ones too hard (Lv and Zhai 2011, "When
# documents are very long, BM25 fails!"), until the one word that only a long note has is not enough to find it.
LONGEST = 2.0


@dataclass(frozen=True, slots=True)
class Question:
    """A question's distinct lexemes with their idf, and the mean length in lexemes of what is searched.

    `counts` says how many items have each lexeme.
    """

    lexemes: list[str] = field(default_factory=list)
    idfs: list[float] = field(default_factory=list)
    mean_length: float = 1.0
    counts: list[float] = field(default_factory=list)

    @property
    def bound(self) -> float:
        """Return the BM25 score that no item can exceed, words that no item has included."""
        return sum(self.idfs)


@dataclass(slots=True)
class TermCounts:
    """What an item says of the question: how often it has each of the lexemes (by their places), and its length.

    `is_turn` tells that it is a turn of a talk, which is understood by the turns beside it; a note stands alone.
    """

    id: UUID
    previous_id: UUID | None
    places: Sequence[int]
    counts: Sequence[int]
    length: float
    is_turn: bool


def score(items: Sequence[TermCounts], question: Question, policy: Policy) -> tuple[Floats, Floats]:
    """Return the BM25 scores of the items alone and with their neighbours, both of shape (len(items),), at least 0.

    A word of the turn before or after counts `policy.context_weight` times as often as one of the turn's own, and so
    do its length and the mean that it is compared with: BM25F with the neighbours as a second field, in the form of
    Robertson, Zaragoza and Taylor 2004, "Simple BM25 extension to multiple weighted fields". Neighbours that are not
    among `items` are unknown.
    """
    counts = np.zeros((len(items), len(question.lexemes)))
    rows = [row for row, item in enumerate(items) for _ in item.places]
    counts[rows, [*chain.from_iterable(item.places for item in items)]] = [
        *chain.from_iterable(item.counts for item in items)
    ]
    lengths = np.array([item.length for item in items], dtype=np.float64)
    alone = _bm25(counts, lengths, question.mean_length, question, policy)
    weight = policy.context_weight
    pairs = _beside(items) if weight > 0 else []
    if not pairs:
        return alone, alone
    after, before = np.array(pairs).T
    # Of a pair each looks at the other. A memory may have come before several, so scores are added at their places, not
    # assigned.
    one, other = np.concatenate([after, before]), np.concatenate([before, after])
    around_counts, around_lengths, means = counts.copy(), lengths.copy(), np.full(len(items), question.mean_length)
    np.add.at(around_counts, one, weight * counts[other])
    np.add.at(around_lengths, one, weight * lengths[other])
    np.add.at(means, one, weight * question.mean_length)
    return alone, _bm25(around_counts, around_lengths, means, question, policy)


def _beside(items: Sequence[TermCounts]) -> list[tuple[int, int]]:
    """Return the places of each turn and of the one before it, where that is among them."""
    places = {item.id: place for place, item in enumerate(items) if item.is_turn}
    followed = ((place, item.previous_id) for place, item in enumerate(items) if item.is_turn)
    return [(place, places[before]) for place, before in followed if before in places]


def _bm25(counts: Floats, lengths: Floats, mean: Floats | float, question: Question, policy: Policy) -> Floats:
    """As in Robertson and Zaragoza 2009, "The Probabilistic Relevance Framework", with a numerator of 1."""
    damping = policy.k1 * (1 - policy.b + policy.b * np.minimum(lengths / mean, LONGEST))
    shares = np.divide(counts, counts + damping[:, None], out=np.zeros_like(counts), where=counts > 0)
    scores: Floats = shares @ np.array(question.idfs, dtype=np.float64)
    return scores
