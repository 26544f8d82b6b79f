"""The shapes that all but the tools answer with, for the description of the interface."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field, RootModel

from memory.space_removal.removal import Choice
from memory.writing.settle import Keep
from memory.writing.trace import Verdict
from retrieval.policy import Policy
from webapp.api.schemas import EmbeddingState, MemoryRole, MemoryStatus, MemoryType

Skipped = Field(None, description="Why nothing is shown: `incognito` or `memory_off`. Left out otherwise.")
# The same for lists, which also show what is in a space with memory off.
Closed = Field(None, description="Why nothing is shown: `incognito`. Left out otherwise.")
Warnings = Field(
    None, description="What was done to the question, or that it was not searched and when to ask again; else left out."
)
OutOfReach = Field(None, description="true when memory was out of reach and the answer is empty; left out otherwise.")
Degraded = (
    "What was skipped, and why. `semantic`: no embedding model gave a vector in time, so words alone were searched. "
    "`vectors`: many memories still wait for their embeddings. `reading`: there was no time to read what was found "
    "together with the question, so words and vectors alone decided whether it is answered. `rate_limited`: one search "
    "too many in this minute, so nothing was searched; a web process that was asked the same of memories before gives "
    "its last answer, else there is none, and `Retry-After` says in how many seconds to ask again. `incognito`, "
    "`memory_off`: recall is off. `no_entities_in_pool`: the shared pool never has entities. `weights`: an earlier "
    "version kept ranking weights of this space that no search can use, so it is ranked without any until "
    "`PATCH /v1/spaces/{slug}` sets others. `database`: it does not answer."
)
KeptBack = "How many came near, none of which seems to be about what was asked; left out otherwise."
Moment = Field(description="ISO 8601 with the zone.")
SupersededBy = Field(description="Ids of the memories that supersede it.")
TextVersion = Field(description="Counts what the text has said, from 1. Numbers of revisions count every change.")
EMBEDDING = "`none` where nothing was stored, or kept in a full space, or nothing is set up that embeds."


class EmbeddingAnswer(BaseModel):
    """The state of a memory's vector: `none` where it has none, and nothing is set up that embeds."""

    state: EmbeddingState | Literal["none"]
    error: str | None


class ScoresAnswer(BaseModel):
    """The parts of a score when it was last worked out."""

    relevance: float
    recency: float
    importance: float
    total: float
    computed_at: str


class SourceAnswer(BaseModel):
    """The message of a conversation here that a memory was said in."""

    message_id: str
    conversation_id: str
    sequence: int


class TokenAnswer(BaseModel):
    """A token; without a name when it is of another account, or none that whoever asks may know by name."""

    id: str
    name: str | None
    prefix: str | None


class EntryAnswer(BaseModel):
    """A memory: all of it but the vector."""

    id: str
    space: str
    theme: str | None
    type: MemoryType
    role: MemoryRole
    text: str
    tags: list[str]
    derived_tags: list[str]
    source_ids: list[str]
    source_message: str | None
    source_message_id: str | None
    source: SourceAnswer | None
    status: MemoryStatus
    supersedes: str | None
    token: TokenAnswer | None = Field(
        description="Which token wrote it first; null where none did. A token of one space is told the ids of others."
    )
    simhash: str = Field(description="16 hexadecimal digits.")
    repeat_count: int
    importance: float
    metadata_confidence: float | None
    pinned: bool
    manually_saved: bool
    needs_embedding: bool
    embedding: EmbeddingAnswer
    last_scores: ScoresAnswer | None
    created_at: str = Moment
    updated_at: str = Moment
    expires_at: str | None
    version: int = TextVersion


class UnreadEntryAnswer(BaseModel):
    """What a token without the scope `read` is told of a memory that it has changed."""

    id: str
    version: int = TextVersion


class ChangedEntryAnswer(RootModel[EntryAnswer | UnreadEntryAnswer]):
    """A memory as it is now; in incognito, and to a token without the scope `read`, its id and version alone."""


class PossibleUpdateAnswer(BaseModel):
    """Another memory that differs from this one in a number, a date, a negation, a name or the like."""

    id: str
    text: str
    differs_in: str = Field(
        description="The kind of mark in which they differ, or `change`: the newer one says that something changed."
    )


class WholeEntryAnswer(EntryAnswer):
    """A memory, what superseded it, and what may be an update of it."""

    superseded_by: list[str] = SupersededBy
    possible_updates: list[PossibleUpdateAnswer]


class ComparedAnswer(BaseModel):
    """One of two memories that nearly say the same."""

    id: str
    text: str
    type: MemoryType
    pinned: bool
    created_at: str = Moment
    version: int = TextVersion


class UndecidedPairAnswer(BaseModel):
    """Two active memories of a space that differ in a number, a date, a negation, a name or the like."""

    newer: ComparedAnswer
    older: ComparedAnswer
    space: str
    differs_in: str = Field(
        description="The kind of mark in which they differ, or `change`: the newer one says that something changed."
    )


class UndecidedAnswer(BaseModel):
    """A page of pairs that wait for a decision."""

    updates: list[UndecidedPairAnswer]
    next_cursor: str | None
    skipped: str | None = Closed


class SettledAnswer(BaseModel):
    """What was decided, and which memory is replaced by that, if any."""

    keep: Keep
    replaced: str | None


class EntriesAnswer(BaseModel):
    """A page of memories."""

    entries: list[EntryAnswer]
    next_cursor: str | None
    skipped: str | None = Closed


class NeighbourAnswer(BaseModel):
    """A memory that a new text was compared with."""

    id: str
    distance: int
    exact: bool
    differs_in: str | None


class TermAnswer(BaseModel):
    """A reason that moved the importance."""

    name: str
    delta: float
    reason: str


class TraceAnswer(BaseModel):
    """How a write was decided."""

    reason: str
    normalised: str
    simhash: str
    neighbours: list[NeighbourAnswer]
    importance: float | None
    terms: list[TermAnswer]
    repeat_count: int
    pinned: bool
    possible_update_of: list[str]
    trimmed: list[str]
    credentials: list[str] = Field(
        description="What kinds of credentials the text seems to hold, as GitHub token; whoever may read it has them."
    )


class OutcomeAnswer(BaseModel):
    """What became of a text: 201 when it is new, 200 when it was merged, 409 when it was refused."""

    id: str | None
    outcome: Verdict
    embedding: Literal["pending", "ready", "none"] = Field(description=EMBEDDING)
    reason: str | None = Field(None, description="Why it was refused; left out otherwise.")
    trace: TraceAnswer


class CountsAnswer(BaseModel):
    """How many texts of a batch had each outcome."""

    created: int
    merged: int
    refused: int


class BatchAnswer(BaseModel):
    """An outcome for each text, in order; what the soft cap took is said once."""

    results: list[OutcomeAnswer]
    counts: CountsAnswer
    trimmed: list[str]


class ForgottenAnswer(BaseModel):
    """What was forgotten, and until when that can be undone."""

    id: str
    forgotten: bool
    undo_until: str | None
    summaries: list[str] = Field(
        description="Summaries that named it as a source and went with it; an undo brings them back with it."
    )


class SpaceAnswer(BaseModel):
    """A space with its settings and size."""

    id: str
    slug: str
    name: str
    memory_enabled: bool
    incognito_default: bool
    extract_facts: bool
    soft_cap: int
    retention_days: int
    roll_up: bool
    policy: dict[str, Any]
    memories: int
    created_at: str = Moment
    updated_at: str = Moment


class SpacesAnswer(BaseModel):
    """A page of the spaces that a token may see."""

    spaces: list[SpaceAnswer]
    next_cursor: str | None


class ThemeAnswer(BaseModel):
    """A theme."""

    slug: str
    display_name: str
    description: str


class CountedThemeAnswer(ThemeAnswer):
    """A theme with the number of its memories."""

    memories: int


class ThemesAnswer(BaseModel):
    """Themes, the fullest first."""

    themes: list[CountedThemeAnswer]
    next_cursor: str | None
    skipped: str | None = Closed


class DeletedThemeAnswer(BaseModel):
    """What was deleted, and how many memories stay without it."""

    slug: str
    deleted: bool
    memories: int


class PromptAnswer(BaseModel):
    """The block to put into a system prompt."""

    prompt: str
    token_count: int
    skipped: str | None = Skipped
    degraded: list[str] | None = Field(None, description=f"{Degraded} Left out when nothing was skipped.")
    error: bool | None = OutOfReach


class ContextAnswer(BaseModel):
    """Recalled memories as one marked block."""

    context: str
    token_count: int
    count: int
    facts: int = Field(
        description="How many facts stand in it, before the memories: first those with most words of the question. "
        'What a model has read, and nobody has looked at, is marked `extracted="true"` there.'
    )
    truncated: bool
    degraded: list[str] = Field(description=Degraded)
    warnings: list[str] | None = Warnings
    withheld: int | None = Field(None, description=f"{KeptBack} With 0 for the policy's min_score they are recalled.")
    error: bool


class IncognitoAnswer(BaseModel):
    """Whether a session is incognito."""

    incognito: bool
    session: str = Field(
        description="What the server keeps the session under. It is no name to send: that is the one that was given."
    )
    refused_writes: int | None = Field(None, description="How many writes were refused, when it has ended.")


class RevisionAnswer(BaseModel):
    """What a memory said before it was changed, and what was changed then."""

    number: int
    text: str
    type: MemoryType
    tags: list[str]
    source_ids: list[str]
    theme: str | None
    importance: float
    actor: str
    restored: int | None = Field(description="The number of the version that the change brought back, if it did.")
    changed: list[str]
    replaced_at: str = Moment


class RevisionsAnswer(BaseModel):
    """Versions that were replaced, the newest first; `current` is the number of the memory as it is."""

    current: int
    revisions: list[RevisionAnswer]
    next_before: int | None


class DeletedAnswer(BaseModel):
    """What was deleted."""

    id: str
    deleted: bool
    summaries: list[str] | None = Field(
        None, description="Of `memory_delete`: summaries that named it as a source and went with it, if there were any."
    )


class TouchedAnswer(BaseModel):
    """How many of each thing the removal of a space touches; what a choice never touches is left out."""

    memories_moved: int | None = None
    memories_merged: int | None = None
    memories_trimmed: int | None = None
    memories_archived: int | None = None
    memories_forgotten: int | None = None
    restorable_dropped: int | None = None
    conversations_moved: int | None = None
    conversations_renamed: int | None = None
    conversations_archived: int | None = None
    conversations_deleted: int | None = None
    messages_deleted: int | None = None
    episodes_deleted: int | None = None
    facts_moved: int | None = None
    facts_ended: int | None = None
    facts_deleted: int | None = None
    entities_moved: int | None = None
    entities_dropped: int
    tokens_revoked: int
    shares_ended: int


class SharingAnswer(BaseModel):
    """The memories of a space that have a tag, in this spelling, are found in another space as well."""

    space: str
    tag: str
    found_in: str


class SharesAnswer(BaseModel):
    """What is shared from a space, then what of others is found in it."""

    shares: list[SharingAnswer]


class ContentsAnswer(BaseModel):
    """What is in a space, what each choice would touch, and the word to `expect`; the default has no choice.

    `into` is the space that would take what is kept.
    """

    space: str
    memories: dict[MemoryStatus, int]
    conversations: int
    messages: int
    episodes: int
    entities: int
    facts: int
    tokens: int
    restorable: int
    into: str
    plans: dict[Choice, TouchedAnswer]
    expect: str


class RemovedSpaceAnswer(TouchedAnswer):
    """What became of a space and what was in it."""

    space: str
    removed: bool
    contents: Choice


class PoliciesAnswer(BaseModel):
    """The named ranking policies."""

    policies: list[Policy]


class TagAnswer(BaseModel):
    """A tag, and how many memories have it."""

    tag: str
    count: int


class HighlightAnswer(BaseModel):
    """One of the memories that matter most."""

    id: str
    text: str
    type: MemoryType
    pinned: bool


class SummaryAnswer(BaseModel):
    """A space in words and numbers; the numbers are left out where nothing is shown."""

    space: str
    total: int | None = None
    by_type: dict[MemoryType, int] | None = None
    pinned: int | None = None
    waiting_for_embedding: int | None = None
    tags: list[TagAnswer] | None = None
    highlights: list[HighlightAnswer] | None = None
    summary: str
    skipped: str | None = Skipped


class EntityAnswer(BaseModel):
    """Someone or something that the texts of a space name."""

    id: str
    space: str
    name: str
    type: str
    notes: list[str]
    mentions: int
    needs_embedding: bool
    created_at: str = Moment
    updated_at: str = Moment


class UnreadEntityAnswer(BaseModel):
    """What a token without the scope `read` is told of an entity that it has moved."""

    id: str
    space: str


class MovedEntityAnswer(RootModel[EntityAnswer | UnreadEntityAnswer]):
    """An entity as it is now; to a token without the scope `read` its id and space alone."""


class EntitiesAnswer(BaseModel):
    """A page of entities."""

    entities: list[EntityAnswer]
    next_cursor: str | None
    skipped: str | None = Closed
    degraded: list[str] | None = Field(None, description=f"{Degraded} Left out when nothing was skipped.")


class MentionAnswer(BaseModel):
    """A sentence that names an entity; where it stands is null where the caller does not see that place."""

    sentence: str
    role: MemoryRole | None
    confidence: float
    created_at: str = Moment
    memory_id: str | None
    episode_id: str | None
    conversation_id: str | None
    message_id: str | None


class WholeEntityAnswer(EntityAnswer):
    """An entity with a page of the sentences that name it."""

    mentioned_in: list[MentionAnswer]
    next_cursor: str | None


class FactAnswer(BaseModel):
    """What is true of a subject from `valid_from` on: until now where `valid_until` is null."""

    id: str
    space: str
    subject: str
    predicate: str
    object: str
    confidence: float
    single: bool
    extracted: bool = Field(
        description="Whether a language model read it out of that message, and nobody has stated or corrected it since."
    )
    source_message_id: str | None
    valid_from: str = Moment
    valid_until: str | None
    created_at: str = Moment


class ChangedFactAnswer(BaseModel):
    """From when until when a fact is true, and the facts that it ended."""

    id: str
    valid_from: str = Moment
    valid_until: str | None
    ended: list[str]


class StatedFactAnswer(ChangedFactAnswer):
    """What became of a stated fact: false for `created` where it was known."""

    created: bool


class FactsAnswer(BaseModel):
    """A page of facts."""

    facts: list[FactAnswer]
    next_cursor: str | None
    skipped: str | None = Closed
