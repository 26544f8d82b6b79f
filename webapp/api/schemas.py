"""The shapes that go over the wire."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from memory.browse import Entry
from memory.drafts import Draft
from memory.models import Space
from memory.trace import Outcome

MemoryType = Literal["preference", "fact", "instruction", "decision", "note", "summary", "other"]
MemoryRole = Literal["user", "assistant", "system", "tool_call", "tool_result"]
MemoryStatus = Literal["active", "superseded", "archived"]
EmbeddingState = Literal["pending", "ready", "error"]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Strict(BaseModel):
    """A body in which an unknown field is a mistake worth telling."""

    model_config = ConfigDict(extra="forbid")


class FieldError(BaseModel):
    """What is wrong with one field; `field` is a dotted path."""

    field: str
    message: str


class Problem(BaseModel):
    """Problem details, RFC 9457."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    request_id: str
    errors: list[FieldError] | None = None


class EntryPath(BaseModel):
    """The id of a memory."""

    entry_id: UUID


class EntryBody(Strict):
    """A memory to store; `space` defaults to the token's space or `default`."""

    text: str
    space: str | None = None
    type: MemoryType = "note"
    role: MemoryRole = "user"
    tags: list[str] = Field(default_factory=list)
    theme: str | None = None
    manually_saved: bool = False
    source_ids: list[str] = Field(default_factory=list)
    source_message: str | None = Field(None, max_length=256)
    created_at: AwareDatetime | None = None
    expires_at: AwareDatetime | None = None
    importance: Share | None = None
    metadata_confidence: Share | None = None

    def to_draft(self) -> Draft:
        """Return the checked draft; raises `InvalidError`."""
        return Draft(
            text=self.text,
            type=self.type,
            role=self.role,
            tags=tuple(self.tags),
            theme=self.theme,
            source_ids=tuple(self.source_ids),
            source_message=self.source_message,
            manually_saved=self.manually_saved,
            importance=self.importance,
            metadata_confidence=self.metadata_confidence,
            created_at=self.created_at,
            expires_at=self.expires_at,
        )


class BatchBody(Strict):
    """Up to 1,000 memories for one space, stored in order and all or none."""

    entries: list[EntryBody] = Field(min_length=1, max_length=1000)
    space: str | None = None


class EntryPatch(Strict):
    """Fields to change; what is left out stays as it is."""

    text: str | None = None
    type: MemoryType | None = None
    tags: list[str] | None = None
    theme: str | None = None
    source_ids: list[str] | None = None
    importance: Share | None = None
    status: MemoryStatus | None = None
    pinned: bool | None = None
    manually_saved: bool | None = None
    supersedes: UUID | None = None
    expires_at: AwareDatetime | None = None


# Null takes these away; for the others there is nothing to fall back to.
CLEARABLE = frozenset({"theme", "expires_at"})


class EntryQuery(BaseModel):
    """Filters of the list."""

    space: str | None = None
    theme: str | None = None
    type: MemoryType | None = None
    tag: str | None = None
    source_id: str | None = None
    status: MemoryStatus | Literal["any"] = "active"
    embedding: EmbeddingState | None = None
    pinned: bool | None = None
    manually_saved: bool | None = None
    created_after: AwareDatetime | None = None
    created_before: AwareDatetime | None = None
    limit: int = Field(50, ge=1, le=200)
    cursor: str | None = None


class DeleteQuery(BaseModel):
    """`undo` keeps the memory restorable for ten minutes."""

    undo: bool = False


class SpaceQuery(BaseModel):
    """Which space."""

    space: str | None = None


class SpaceBody(Strict):
    """A new space."""

    slug: str
    name: str | None = None
    soft_cap: int | None = Field(None, ge=1, le=10_000_000)
    retention_days: int | None = Field(None, ge=1, le=36_500)
    memory_enabled: bool | None = None
    incognito_default: bool | None = None
    policy: dict[str, Any] | None = None


class SpacePatch(Strict):
    """Settings of a space to change."""

    name: str | None = None
    soft_cap: int | None = Field(None, ge=1, le=10_000_000)
    retention_days: int | None = Field(None, ge=1, le=36_500)
    memory_enabled: bool | None = None
    incognito_default: bool | None = None
    policy: dict[str, Any] | None = None


class SpacePath(BaseModel):
    """The slug of a space."""

    slug: str


class ThemeBody(Strict):
    """A new theme."""

    slug: str
    display_name: str = Field("", max_length=200)
    description: str = Field("", max_length=2000)


class SettingsBody(Strict):
    """The two switches of a space."""

    space: str | None = None
    memory_enabled: bool | None = None
    incognito_default: bool | None = None


class IncognitoBody(Strict):
    """Which session; by default the `X-Commonplace-Session` header, else the token itself."""

    session: str | None = Field(None, min_length=1, max_length=150)


class ContextBody(Strict):
    """A question for which to assemble a block of recalled memories."""

    query: str = Field(min_length=1)
    space: str | None = None
    token_budget: int | None = Field(None, ge=1, le=100_000)
    limit: int | None = Field(None, ge=1, le=50)
    policy: dict[str, Any] | None = None


class ProviderBody(Strict):
    """The user's own embedding endpoint."""

    provider_type: Literal["openai", "ollama", "custom_http", "llamacpp"]
    endpoint_url: str = Field(min_length=1, max_length=2000)
    model: str = Field(min_length=1, max_length=200)
    api_key: str | None = Field(None, max_length=2000)
    dimensions: int | None = Field(None, ge=1, le=16_000)
    enabled: bool = True


def entry_json(entry: Entry) -> dict[str, Any]:
    """Return a memory as it is shown to agents: all of it but the vector."""
    memory = entry.memory
    return {
        "id": str(memory.id),
        "space": entry.space,
        "theme": entry.theme,
        "type": memory.type,
        "role": memory.role,
        "text": memory.text,
        "tags": memory.tags,
        "source_ids": memory.source_ids,
        "source_message": memory.source_message,
        "status": memory.status,
        "supersedes": str(memory.supersedes) if memory.supersedes else None,
        "simhash": f"{memory.simhash & (1 << 64) - 1:016x}",
        "repeat_count": memory.repeat_count,
        "importance": memory.importance,
        "metadata_confidence": memory.metadata_confidence,
        "pinned": memory.pinned,
        "manually_saved": memory.manually_saved,
        "needs_embedding": memory.needs_embedding,
        "embedding": {"state": entry.embedding, "error": entry.embedding_error},
        "last_scores": entry.last_scores,
        "created_at": moment(memory.created_at),
        "updated_at": moment(memory.updated_at),
        "expires_at": moment(memory.expires_at),
        "version": memory.version,
    }


def moment(value: datetime | None) -> str | None:
    """Return ISO 8601 with the zone."""
    return value.isoformat() if value else None


def outcome_json(outcome: Outcome) -> dict[str, Any]:
    """Return the outcome of a write with its trace."""
    trace = outcome.trace
    return {
        "id": str(outcome.id) if outcome.id else None,
        "outcome": outcome.outcome,
        "embedding": outcome.embedding,
        **({"reason": outcome.refusal} if outcome.refusal else {}),
        "trace": {
            "reason": trace.reason,
            "normalised": trace.normalised,
            "simhash": trace.simhash,
            "neighbours": [
                {"id": str(n.id), "distance": n.distance, "exact": n.exact, "differs_in": n.differs_in}
                for n in trace.neighbours
            ],
            "importance": trace.importance,
            "terms": [{"name": t.name, "delta": t.delta, "reason": t.reason} for t in trace.terms],
            "repeat_count": trace.repeat_count,
            "pinned": trace.pinned,
            "possible_update_of": [str(i) for i in trace.possible_update_of],
            "trimmed": [str(i) for i in trace.trimmed],
        },
    }


def space_json(space: Space) -> dict[str, Any]:
    """Return a space with its settings and size."""
    return {
        "id": str(space.id),
        "slug": space.slug,
        "name": space.name,
        "memory_enabled": space.memory_enabled,
        "incognito_default": space.incognito_default,
        "soft_cap": space.soft_cap,
        "retention_days": space.retention_days,
        "policy": space.policy,
        "memories": space.documents,
        "created_at": moment(space.created_at),
        "updated_at": moment(space.updated_at),
    }
