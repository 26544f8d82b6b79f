"""Values that pass through the ranking; none knows the database.

A candidate is filled as it is read, from more and more tables; nothing changes the others once they are made. None is
declared frozen: a search makes hundreds, and a frozen dataclass takes three times as long to make.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from retrieval.words.about import Asked

Vector = NDArray[np.float32]


@dataclass(slots=True)
class Candidate:
    """A memory that at least one leg found, before ranking."""

    id: UUID
    text: str
    type: str
    role: str
    created_at: datetime
    importance: float
    theme: str | None = None
    tags: tuple[str, ...] = ()
    source_ids: tuple[str, ...] = ()
    pinned: bool = False
    # What a memory says that sums up this one, if this is long.
    summary: str | None = None
    # When it was last touched, if it was repeated or its text changed.
    said_again: datetime | None = None
    # The raw keyword score, 0 without a match, and its 1-based place in that leg, None where the leg did not list it.
    bm25: float = 0.0
    keyword_rank: int | None = None
    # On the scale where unrelated texts have 0 and equal ones 1, None while no vector is ready; its place as above.
    cosine: float | None = None
    semantic_rank: int | None = None
    # Shape (dimensions,), of length 1; of a long text, that of the passage which comes nearest to the question.
    vector: Vector | None = field(default=None, compare=False, repr=False)
    # The keyword score with the words of the memories stored before and after it.
    bm25_around: float = 0.0
    # The name before a colon that the text begins with.
    speaker: str | None = None
    # Bytes of the text.
    size: int = 0
    # Which of the question's lexemes it has.
    places: Sequence[int] = ()
    # Whether it was said in a talk, and so may mean little without what was said beside it.
    is_turn: bool = False
    # How likely it answers the question, in [0, 1], to the reader, who has read both; None where it was not read.
    sureness: float | None = None
    # The passages of a long text that come nearest to the question.
    nearest: tuple[str, ...] = ()


@dataclass(slots=True)
class Score:
    """The three parts, each in [0, 1], and their weighted sum."""

    relevance: float
    recency: float
    importance: float
    total: float


@dataclass(slots=True)
class Scored:
    """A candidate with its scores, and what they were made of."""

    candidate: Candidate
    score: Score
    # The stronger of the two legs' absolute scores, in [0, 1].
    evidence: float
    # Whether it is of the date that the question names, in [0, 1].
    date_match: float
    # What the words of its neighbours add to the share of the largest keyword score that its own reach.
    context: float = 0.0
    # Whether the question names who said it, asks for a time and it says one, asks for what is and it says a change.
    speaker_match: bool = False
    time_match: bool = False
    change_match: bool = False
    # What reading took from its total, as another reads more like an answer.
    reading_penalty: float = 0.0
    # What its total gained to stand before another version of the same.
    update_boost: float = 0.0
    # What reading would have taken besides, had there been more relevance to take.
    beyond: float = 0.0
    # Whether it lacks an identifier that is asked for, and that another candidate has.
    lacks_code: bool = False
    # Whether its evidence is not enough, and it is there only to be read.
    is_faint: bool = False
    # What the question is about, None where nothing asked for that.
    asked: Asked | None = field(default=None, compare=False, repr=False)

    @property
    def standing(self) -> float:
        """Return what tells its place: the total, and less where reading took all of its relevance."""
        return self.score.total - self.beyond

    @property
    def coverage(self) -> float:
        """Return the share, in [0, 1], of what the question's words tell that its own words have."""
        return self.asked.coverage(self.candidate.places) if self.asked is not None else 0.0


@dataclass(slots=True)
class Ranked:
    """A selected candidate; `mmr_penalty` is what its likeness to better hits took from its total."""

    scored: Scored
    mmr_penalty: float
    rank: int
