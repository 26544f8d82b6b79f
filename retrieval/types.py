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

from retrieval.about import Asked

Vector = NDArray[np.float32]


@dataclass(slots=True)
class Candidate:
    """A memory that at least one leg found, before ranking.

    Ranks are 1-based positions in the leg, None where the leg did not list it. `bm25` is the raw keyword score
    (0 without a match), `bm25_around` the one with the words of its neighbours; `cosine`, on the scale where unrelated
    texts have 0 and equal ones 1, is None while no vector is ready. `speaker` is the name before a colon that the text
    begins with, `size` its length in bytes. `places` says which of the question's lexemes it has. `is_turn` tells that
    it was said in a talk, and so may mean little without what was said beside it. `sureness`, in [0, 1], is how likely
    it answers the question to who read both, None where nobody did. `nearest` are the passages of a long text
    that come nearest to the question. `said_again` is when it was last touched, if it was repeated or its text changed.
    """

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
    summary: str | None = None
    said_again: datetime | None = None
    bm25: float = 0.0
    keyword_rank: int | None = None
    cosine: float | None = None
    semantic_rank: int | None = None
    vector: Vector | None = field(default=None, compare=False, repr=False)
    bm25_around: float = 0.0
    speaker: str | None = None
    size: int = 0
    places: Sequence[int] = ()
    is_turn: bool = False
    sureness: float | None = None
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
    """A candidate with its scores; `evidence` in [0, 1] is the stronger of the two legs' absolute scores.

    `keyword_share` is of its own words alone, `context` what those of its neighbours add to it. `speaker_match` tells
    that the question names who said it, `time_match` that it says a time where the question asks for one,
    `change_match` that it says what has changed. `reading_penalty` is what reading took from its total, as another
    reads more like an answer, and `beyond` what it would have taken besides, had there been more relevance to take.
    `update_boost` is what its total gained to stand before another version of the same.
    `lacks_code` tells that an identifier is asked for that another candidate has, and this one does not. `is_faint`
    tells that its evidence is not enough, and it is there to be read. `asked` is what the question is about, None where
    nothing asked for that.
    """

    candidate: Candidate
    score: Score
    evidence: float
    keyword_share: float
    date_match: float
    context: float = 0.0
    speaker_match: bool = False
    time_match: bool = False
    change_match: bool = False
    reading_penalty: float = 0.0
    update_boost: float = 0.0
    beyond: float = 0.0
    lacks_code: bool = False
    is_faint: bool = False
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
