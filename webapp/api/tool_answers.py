"""The shapes that the tools answer with, for the description of the interface."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field, RootModel

from memory.writing.trace import Verdict
from webapp.api.answers import (
    EMBEDDING,
    ChangedFactAnswer,
    Degraded,
    DeletedAnswer,
    EntryAnswer,
    FactAnswer,
    KeptBack,
    Moment,
    OutOfReach,
    StatedFactAnswer,
    SupersededBy,
    TraceAnswer,
    UnreadEntryAnswer,
    Warnings,
)
from webapp.api.schemas import MemoryType

Withheld = Field(None, description=f"{KeptBack} With 0 for min_score they are answered.")


class PartsAnswer(BaseModel):
    """The parts of a score, each of 0 to 1, and their weighted sum."""

    relevance: float
    recency: float
    importance: float
    total: float


class SignalsAnswer(BaseModel):
    """Which legs speak for a hit: its words, its meaning."""

    fts: bool = Field(description="It has a word of the question.")
    semantic: bool = Field(
        description="Its cosine alone is evidence enough: min_score, or what that is by default where it is 0."
    )


class LegAnswer(BaseModel):
    """Where a leg put a hit, counted from 1, and with which score; null where it has none."""

    rank: int | None
    score: float | None = Field(
        description="Of the words their BM25; of the meaning the cosine of the vectors, on a scale where texts that "
        "have nothing to do with each other have about 0 by every model, and less than 0 for what is even further away."
    )


class ExplanationAnswer(BaseModel):
    """What each leg made of a hit, and what else moved it."""

    keyword: LegAnswer
    semantic: LegAnswer
    evidence: float
    date_match: float
    context: float
    speaker_match: bool
    time_match: bool
    change_match: bool
    coverage: float
    sureness: float | None = Field(
        description="How likely it answers the question, in [0, 1], to the model that reads both; null if not read."
    )
    reading_penalty: float = Field(
        description="What reading took from the score, as another memory reads more like an answer; an unread one "
        "loses as much as the mean of what was."
    )
    update_boost: float = Field(
        description="What the score gained to stand before an older memory of the same, as this one answers too; or "
        "before a newer one, where the question asks for what was."
    )
    mmr_penalty: float = Field(description="What its likeness to better hits took when they were ordered.")


class ReasonsAnswer(BaseModel):
    """Why a hit was found, and why it stands where it stands."""

    score: float
    scores: PartsAnswer
    signals: SignalsAnswer
    explanation: ExplanationAnswer


class HitAnswer(ReasonsAnswer):
    """A memory that was found."""

    id: str
    theme: str | None
    type: MemoryType
    content_snippet: str = Field(description="The text, or as much of it as fits the token budget.")
    created_at: str = Moment
    tags: list[str]
    source_ids: list[str]
    space: str | None = Field(None, description="The space that shares it, where it is not of the one searched.")


class FoundAnswer(BaseModel):
    """How a search went."""

    count: int
    truncated: bool
    token_count: int
    degraded: list[str] = Field(description=Degraded)
    timings: dict[str, float] = Field(description="Milliseconds of each stage.")
    warnings: list[str] | None = Warnings
    withheld: int | None = Withheld
    error: bool | None = OutOfReach


class SearchAnswer(FoundAnswer):
    """What `memory_search` answers."""

    results: list[HitAnswer]


class SpokenAnswer(BaseModel):
    """The conversation that an episode is of."""

    id: str
    external_id: str | None
    title: str | None


class EpisodeHitAnswer(ReasonsAnswer):
    """An episode that was found, and the messages that it is made of."""

    id: str
    conversation: SpokenAnswer
    message_id: str
    reply_id: str
    content_snippet: str
    created_at: str = Moment


class EpisodeSearchAnswer(FoundAnswer):
    """What `episode_search` answers."""

    results: list[EpisodeHitAnswer]


class EntityHitAnswer(ReasonsAnswer):
    """An entity that was found."""

    id: str
    name: str
    type: str
    content_snippet: str
    mentions: int
    created_at: str = Moment


class EntitySearchAnswer(FoundAnswer):
    """What `entity_search` answers."""

    results: list[EntityHitAnswer]


class RecalledAnswer(BaseModel):
    """A memory as `query_memory` tells it."""

    id: str
    content: str
    type: MemoryType
    relevance: float
    context: str = Field(description="Who said it, on which day, from which sources, and in which conversation.")
    created_at: str = Moment


class RecalledCountAnswer(BaseModel):
    """How many memories are answered, and whether the budget or the number of results left some out."""

    count: int
    truncated: bool


class QueryMemoryAnswer(BaseModel):
    """What `query_memory` answers."""

    memories: list[RecalledAnswer]
    metadata: RecalledCountAnswer
    degraded: list[str] | None = Field(None, description=f"{Degraded} Left out when nothing was skipped.")
    warnings: list[str] | None = Warnings
    withheld: int | None = Field(None, description=f"{KeptBack} memory_search with 0 for min_score answers them.")
    error: bool | None = OutOfReach


class AddedStatusAnswer(BaseModel):
    """What became of a text that was added, and of its vector."""

    outcome: Verdict
    embedding: Literal["pending", "ready", "none"] = Field(description=EMBEDDING)


class NamedUpdateAnswer(BaseModel):
    """Another memory that may be an update of this one, or this one of it."""

    id: str
    differs_in: str


class ToldUpdateAnswer(NamedUpdateAnswer):
    """An older memory that a new one may be an update of, with its text."""

    content: str = Field(description="Its text, or as much of a long one as tells which it is.")


class AddedAnswer(BaseModel):
    """What `memory_add` answers."""

    id: str | None
    status: AddedStatusAnswer
    trace: TraceAnswer
    reason: str | None = Field(None, description="Why it was refused; left out otherwise.")
    possible_updates: list[ToldUpdateAnswer] | None = Field(
        None, description="What it may be an update of; left out where there is nothing, or the token may not read."
    )


class ReadAnswer(EntryAnswer):
    """A memory, its text under the name that tools have for it, too."""

    content: str


class UpdatedAnswer(RootModel[ReadAnswer | UnreadEntryAnswer]):
    """What `memory_update` answers; to a token without the scope `read` the id and version alone."""


class GotAnswer(ReadAnswer):
    """A memory as `memory_get` answers it."""

    superseded_by: list[str] = SupersededBy
    possible_updates: list[NamedUpdateAnswer]


class NoItemAnswer(BaseModel):
    """That nothing is recalled, and why."""

    item: None
    degraded: list[str] = Field(description=Degraded)


class ItemAnswer(RootModel[GotAnswer | NoItemAnswer]):
    """What `memory_get` answers."""


class ListedThemeAnswer(BaseModel):
    """A theme with the number of its memories."""

    slug: str
    display_name: str
    memories: int


class ListedThemesAnswer(BaseModel):
    """What `memory_list_themes` answers."""

    themes: list[ListedThemeAnswer]
    degraded: list[str] | None = Field(None, description=f"{Degraded} Left out when nothing was skipped.")
    error: bool | None = OutOfReach


class FactSearchAnswer(BaseModel):
    """What `fact_search` answers."""

    facts: list[FactAnswer]
    more: bool = Field(description="Whether there are facts beyond the limit.")
    degraded: list[str] = Field(
        description="`incognito`, `memory_off`: nothing is recalled. `database`: it was out of reach."
    )
    error: bool | None = OutOfReach


class ToolAnswer(
    RootModel[
        SearchAnswer
        | EpisodeSearchAnswer
        | EntitySearchAnswer
        | QueryMemoryAnswer
        | AddedAnswer
        | ItemAnswer
        | UpdatedAnswer
        | DeletedAnswer
        | ListedThemesAnswer
        | StatedFactAnswer
        | ChangedFactAnswer
        | FactSearchAnswer
    ]
):
    """What a tool answers; each has its own."""


class DescribedToolsAnswer(BaseModel):
    """The tools, each with its name, its description and the schema of its arguments."""

    tools: list[dict[str, Any]]


class ToolsAnswer(RootModel[DescribedToolsAnswer | list[dict[str, Any]]]):
    """The tools in the shape that an ecosystem expects: an object, a list for `openai` and `anthropic`."""
