"""What is asked, and what comes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol
from uuid import UUID

from memory.embedding.likeness import reads_latin_alone, unrelated_cosine
from memory.models import EmbeddingModel
from memory.spaces.sharing import Shared
from memory.storage.shelves import MEMORIES, Shelf
from retrieval.days.dates import Period
from retrieval.policy import Policy
from retrieval.ranking.types import Ranked, Vector

MAX_QUERY = 8192
DEFAULT_LIMIT = 10
LARGEST_LIMIT = 50
DEFAULT_TOKEN_BUDGET = 1000
LARGEST_TOKEN_BUDGET = 100_000


@dataclass(frozen=True, slots=True)
class Query:
    """A question within one space of one user. None means any; `token_budget` None means no limit.

    `shelf` is the kind of thing that is looked for. `scope_size` is how many of them the space has: it decides
    between an exact scan and the vector index. `theme`, `types` and `tags`, all of which a memory has in whatever case,
    narrow memories alone, `conversation_id` episodes. What is `shared` of other spaces is looked for as well, each by a
    query of its own that knows which memories are found by it, `only`, and by which `tag`.
    """

    user_id: UUID
    space_id: UUID
    text: str
    limit: int = DEFAULT_LIMIT
    theme: str | None = None
    types: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    created_after: datetime | None = None
    token_budget: int | None = DEFAULT_TOKEN_BUDGET
    scope_size: int = 0
    shelf: Shelf = MEMORIES
    conversation_id: UUID | None = None
    shared: tuple[Shared, ...] = ()
    only: tuple[UUID, ...] = ()
    tag: str | None = None

    @property
    def filtered(self) -> bool:
        """Tell whether anything but the scope narrows the candidates."""
        return any(each is not None for each in (self.theme, self.types, self.tags, self.created_after))


class QueryEmbedder(Protocol):
    """Turns a question into a unit vector, and says whether that was remembered."""

    def embed_one(self, text: str) -> tuple[Vector, bool]:
        """Return (vector, cached); raises an `EmbeddingError`."""
        ...


@dataclass(frozen=True, slots=True)
class Dense:
    """The model whose vectors are searched, and the embedder that speaks it.

    `unrelated` is the cosine that texts have by this model when they have nothing to do with each other. With
    `latin_alone` it tells nothing of questions in scripts such as Japanese or Thai.
    """

    model_id: UUID
    dimensions: int | None
    embedder: QueryEmbedder
    unrelated: float = 0.0
    latin_alone: bool = False

    @classmethod
    def by(cls, model: EmbeddingModel, embedder: QueryEmbedder) -> Dense:
        """Return a stored model with what embeds questions for it."""
        return cls(model.id, model.dimensions, embedder, unrelated_cosine(model), reads_latin_alone(model))


@dataclass(frozen=True, slots=True)
class Hit:
    """A result with everything that explains it; `snippet` is the text, cut where the budget ended.

    `shared` is by what it was found, where it is of another space.
    """

    ranked: Ranked
    snippet: str
    shared: Shared | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """Ranked hits within the budget. `timings` are milliseconds per stage; `degraded` names what was skipped.

    That is a leg (`semantic`) or the whole search (`database`), or `vectors`, where a notable share of what was
    searched has none yet and can be found by its words alone, or `reading`, where there was no time to read the best
    and rules decided whether they answer. `withheld` is how many hits there would have been, had not the search kept
    silent because none of them is about what was asked. `more` says that the limit left others out. `period` is the
    time that was asked for where nothing else was: then neither leg ranked, and nothing but that time decided.
    """

    hits: tuple[Hit, ...]
    policy: Policy
    token_count: int = 0
    truncated: bool = False
    considered: int = 0
    degraded: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    timings: Mapping[str, float] = field(default_factory=dict)
    error: bool = False
    withheld: int = 0
    more: bool = False
    period: Period | None = None
