"""The shapes that providers, preferences and administration are answered in, for the description of the interface."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field, RootModel

from memory.accounts.roles import Role
from memory.preferences.document import Structured
from webapp.api.answers import Closed, Moment, OutOfReach


class ProgressAnswer(BaseModel):
    """How far a model is with what is searched."""

    total: int
    ready: int
    failed: int


class ModelAnswer(BaseModel):
    """A model that embeds, or will once it is through."""

    id: str
    provider_type: str
    endpoint_url: str | None
    model: str
    dimensions: int | None
    state: str
    progress: ProgressAnswer
    error: str | None = Field(None, description="What its provider said when it last answered nobody.")
    rests_until: str | None = Field(None, description="When that provider is asked again. ISO 8601 with the zone.")


class ProviderAnswer(BaseModel):
    """The user's own endpoint; its key is never told."""

    provider_type: str
    endpoint_url: str
    model: str
    dimensions: int | None
    enabled: bool
    has_api_key: bool


class ProvidersAnswer(BaseModel):
    """The user's models, the active one first, and the user's own setting."""

    models: list[ModelAnswer]
    setting: ProviderAnswer | None
    locked_by_system: bool = Field(description="While the server's own endpoint embeds: none of one's own can be set.")


class TrialAnswer(BaseModel):
    """What came of trying an endpoint."""

    ok: bool
    dimensions: int | None = Field(None, description="Left out when it failed.")
    seconds: float | None = Field(None, description="Left out when it failed.")
    error: str | None = Field(None, description="What went wrong; left out otherwise.")


class PlaceAnswer(BaseModel):
    """A key of the front matter that is not known, and its line."""

    field: str
    line: int


class PreferencesAnswer(BaseModel):
    """One version of the document, and what its front matter says with defaults."""

    version: int
    new: bool | None = Field(None, description="Whether this made a version; left out where nothing was to be made.")
    document: str
    preferences: Structured
    body: str
    unknown: list[PlaceAnswer]
    source: str
    created_at: str = Moment


class UnreadPreferencesAnswer(BaseModel):
    """What a token without the scope `read` is told of a version that it has put in force."""

    version: int
    new: bool


class DeletedPreferencesAnswer(BaseModel):
    """How many versions are gone for good."""

    deleted: int


class RestoredPreferencesAnswer(RootModel[PreferencesAnswer | UnreadPreferencesAnswer]):
    """The version in force; to a token without the scope `read` its number alone."""


class VersionAnswer(BaseModel):
    """One version without its document; `size` is in bytes."""

    version: int
    source: str
    size: int
    created_at: str = Moment


class VersionsAnswer(BaseModel):
    """A page of versions, the newest first."""

    versions: list[VersionAnswer]
    next_before: int | None


class PreferencesPromptAnswer(BaseModel):
    """The preferences as a block for a system prompt."""

    prompt: str
    token_count: int
    version: int | None
    skipped: str | None = Closed
    degraded: list[str] | None = Field(None, description="`database`: it was out of reach. Left out otherwise.")
    error: bool | None = OutOfReach


class UserAnswer(BaseModel):
    """An account, and how much of each kind it has."""

    id: str
    email: str
    role: Role
    created_at: str = Moment
    disabled_at: str | None
    memories: int
    conversations: int
    tokens: int
    failed: int


class UsersAnswer(BaseModel):
    """Accounts by address."""

    users: list[UserAnswer]
    next_cursor: str | None


class RoleAnswer(BaseModel):
    """The role of a user, and whether it was another one before."""

    id: str
    role: Role
    changed: bool


class AccessAnswer(BaseModel):
    """Whether a user is kept out, and whether that was otherwise before."""

    id: str
    disabled: bool
    changed: bool


class JobAnswer(BaseModel):
    """A vector that is not made: whose, of which item, since when."""

    user_id: str
    item_id: str
    since: str = Moment
    kind: str
    email: str
    state: Literal["failed", "stuck"]
    attempts: int


class JobsAnswer(BaseModel):
    """Jobs, the oldest first."""

    jobs: list[JobAnswer]
    next_cursor: str | None
    stuck_after_seconds: float


class RetriedAnswer(BaseModel):
    """That a job waits again."""

    retried: bool


class BacklogAnswer(BaseModel):
    """How many rows wait for a vector or to be read, for how many seconds the oldest has, and how many failed.

    `embedding_building` vectors are still to be made of models that take over when they have all.
    """

    embedding_backlog: int | None
    embedding_building: int
    embedding_backlog_age: float | None
    embedding_errors: int | None
    enrichment_backlog: int | None
    extraction_backlog: int


class StartedAnswer(BacklogAnswer):
    """That a backfill was queued, and how many rows of the caller in error get another try."""

    started: bool
    retried: int


class LatencyAnswer(BaseModel):
    """Seconds within the last hour."""

    count: int
    p50: float | None
    p95: float | None


class SearchLatencyAnswer(LatencyAnswer):
    """Seconds of searches within the last hour, and the share of them that found anything."""

    hit_rate: float | None


class TelemetryAnswer(BacklogAnswer):
    """Counts over all users."""

    embed: LatencyAnswer
    search: SearchLatencyAnswer
    tool_calls: int
    tool_failures: int
    actions: dict[str, int] = Field(description="How often each audited action was done.")
    users: int
    memories: int
    full_spaces: Any
    embedding_failure_rate: float = Field(description="Share of the vectors of the last hour that were given up on.")
