"""The shapes that go over the wire."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Literal, TypeVar
from uuid import UUID

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    WrapValidator,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError, PydanticKnownError

from memory.drafts.drafts import (
    MAX_SOURCE_ID_LENGTH,
    MAX_SOURCE_IDS,
    MAX_TAG_LENGTH,
    MAX_TAGS,
    MAX_TEXT_BYTES,
    Draft,
    check_not_ahead,
)
from memory.errors import InvalidError
from memory.models import Space, Token
from memory.reading.browse import Entry, Order, Source
from memory.spaces.spaces import LONGEST_RETENTION, SLUG, check_slug
from memory.writing.trace import Outcome
from retrieval.policy import NAMED, described
from retrieval.query import LARGEST_LIMIT, LARGEST_TOKEN_BUDGET
from webapp.context import utc_now
from webapp.fields import kinds_of
from webapp.guards import may_read
from webapp.operations import told_vector

MemoryType = Literal["preference", "fact", "instruction", "decision", "note", "summary", "other"]
MemoryRole = Literal["user", "assistant", "system", "tool_call", "tool_result"]
MemoryStatus = Literal["active", "superseded", "archived"]
EmbeddingState = Literal["pending", "ready", "error"]
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_Item = TypeVar("_Item")
_LEAP = re.compile(r"(?<=\d\d:\d\d):60(?=[.,Zz+-])")
_NUMBER = re.compile(r"\s*+[+-]?[\d_]*+\.?\d*+\s*+")
NOT_BLANK: dict[str, Any] = {"minLength": 1, "pattern": r"\S"}
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Limit = Annotated[int, Field(ge=1, le=LARGEST_LIMIT)]
TokenBudget = Annotated[int, Field(ge=1, le=LARGEST_TOKEN_BUDGET)]


def described_as(**constraints: Any) -> Any:
    """Return an annotation that describes what is checked elsewhere, by keywords of JSON Schema."""
    return Field(json_schema_extra=constraints)


def _storable(value: str) -> str:
    if "\x00" in value:
        raise PydanticCustomError("nul", "must not contain NUL bytes")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise PydanticCustomError("surrogate", "is not valid Unicode text") from None
    return value


def _written_out(value: Any, read: Callable[[Any], datetime]) -> datetime:
    """Return the moment that is written; a number is none but to who knows from when it counts and in what.

    A leap second, which RFC 3339 has and Python has not, is taken for the one before.
    """
    try:
        if not isinstance(value, int | float) and not (isinstance(value, str) and _NUMBER.fullmatch(value)):
            return read(_LEAP.sub(":59", value, count=1) if isinstance(value, str) else value)
    except ValidationError:
        pass  # Words, a day alone, or a time without a zone: all that helps is to see how it is written.
    raise PydanticCustomError("moment", "must be a date and time with a zone, such as 2024-05-01T09:00:00Z")


def _in_utc(value: datetime) -> datetime:
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise PydanticCustomError("moment", "must be within the years 1 to 9999 in UTC") from None


def _ahead(value: datetime) -> datetime:
    """Return a moment that is still to come: what had expired would be acknowledged and gone."""
    if value <= utc_now():
        raise PydanticCustomError("past", "must be in the future")
    return value


def _happened(value: datetime) -> datetime:
    """Return a moment that is not far ahead: what is said to be of then would be the latest until then."""
    try:
        check_not_ahead(value, utc_now())
    except InvalidError as error:
        raise PydanticCustomError("ahead", "{told}", {"told": error.message}) from None
    return value


def _askable(value: str) -> str:
    """Return a question as it can be asked: a stray NUL or half a surrogate pair is no reason to fail an agent."""
    asked = value.replace("\x00", " ").encode("utf-8", "replace").decode()
    if not asked.strip():
        raise PydanticCustomError("blank", "must not be empty")
    return asked


def _sendable(value: str) -> str:
    """Return a name that a header can carry too: one that no request could send would switch nothing."""
    if not value.strip():
        raise PydanticCustomError("blank", "must not be empty")
    if _CONTROL.search(value):
        raise PydanticCustomError("control", "must not contain line breaks or other control characters")
    return value


def none_when_empty(value: _Item) -> _Item | None:
    """Return None for an empty list or name: models send one for "any", and nothing could ever be found by it."""
    return value or None


def _named(value: Any) -> Any:
    """Let a name alone stand for the policy of that name."""
    return {"name": value} if isinstance(value, str) else value


# Texts that go into a column or a comparison as they are; a memory's own text is checked by its draft.
Line = Annotated[str, AfterValidator(_storable)]
# PostgreSQL holds moments that Python cannot read back; one of them would break every list that it is in.
Moment = Annotated[AwareDatetime, WrapValidator(_written_out), AfterValidator(_in_utc)]
Expiry = Annotated[Moment, AfterValidator(_ahead), Field(description="A moment to come.")]
Happened = Annotated[Moment, AfterValidator(_happened)]
# Where the page before ended, as that page told; read where it is used.
Cursor = Annotated[Line, described_as(minLength=1)]
# Narrows a search to what is listed.
Only = Annotated[list[_Item] | None, AfterValidator(none_when_empty)]
Question = Annotated[str, AfterValidator(_askable), described_as(**NOT_BLANK)]
_POLICY_NAME = {"enum": list(NAMED), "type": "string"}
# A name alone stands for the policy of that name. Tools describe no more than that of their argument: a model would
# read all of the description in every prompt.
Overrides = Annotated[
    dict[str, Any],
    BeforeValidator(lambda value: {"name": value} if isinstance(value, str) else value),
    WithJsonSchema({"anyOf": [_POLICY_NAME, {"additionalProperties": True, "type": "object"}]}),
]
Weights = Annotated[Overrides, WithJsonSchema({"anyOf": [_POLICY_NAME, described()]})]
# What drafts, spaces and themes check, with messages of their own, is described here and checked there. A character
# takes a byte at least.
NotBlank = Annotated[Line, described_as(**NOT_BLANK)]
Text = Annotated[str, described_as(**NOT_BLANK, maxLength=MAX_TEXT_BYTES)]
Tag = Annotated[str, described_as(**NOT_BLANK, maxLength=MAX_TAG_LENGTH)]
Tags = Annotated[list[Tag], described_as(maxItems=MAX_TAGS)]
SourceId = Annotated[str, described_as(**NOT_BLANK, maxLength=MAX_SOURCE_ID_LENGTH)]
SourceIds = Annotated[list[SourceId], described_as(maxItems=MAX_SOURCE_IDS)]
Slug = Annotated[Line, described_as(pattern=f"^{SLUG.pattern}$")]
# The theme of a memory; an empty one is none.
Theme = Annotated[Line, described_as(pattern=f"^({SLUG.pattern})?$")]


class Strict(BaseModel):
    """What is sent as JSON: an unknown field is a mistake worth telling, and so is true for a number or 0 for false."""

    model_config = ConfigDict(extra="forbid")

    # Whether all that comes is text, as in a query or a form.
    as_text: ClassVar[bool] = False

    @field_validator("*", mode="before")
    @classmethod
    def _truth_is_true_or_false(cls, value: Any, info: ValidationInfo) -> Any:
        kinds = kinds_of(cls.model_fields[str(info.field_name)].annotation)
        if bool in kinds:
            # Models write the words as text at times, as they do with numbers: both can mean one thing only.
            named = isinstance(value, bool) or (isinstance(value, str) and value.lower() in {"true", "false"})
            if value is not None and not named and not cls.as_text:
                raise PydanticKnownError("bool_type")
        elif isinstance(value, bool):
            if int in kinds:
                raise PydanticKnownError("int_type")
            if float in kinds:
                raise PydanticKnownError("float_type")
        return value


class Query(Strict):
    """What stands behind the question mark of an address."""

    as_text: ClassVar = True


class Omittable(Strict):
    """A body that may be left out when it would be empty."""

    model_config = ConfigDict(openapi_extra={"required": False})  # type: ignore[typeddict-unknown-key]

    @model_validator(mode="before")
    @classmethod
    def _absent_is_empty(cls, data: Any) -> Any:
        return {} if data is None else data


def _as_changes(schema: dict[str, Any], model: type[Patch]) -> None:
    """Describe fields as they may be sent: none has a default, and null is only for those that it says something of."""
    schema["minProperties"] = 1
    for name, field in schema["properties"].items():
        field.pop("default", None)
        if name not in model.nullable:
            kinds = [kind for kind in field.pop("anyOf", ()) if kind["type"] != "null"]
            field.update({"anyOf": kinds} if len(kinds) > 1 else dict(*kinds))


class Patch(Strict):
    """Changes: what is left out stays as it is. Null is refused, except for the fields that are `nullable`."""

    model_config = ConfigDict(json_schema_extra=_as_changes)

    nullable: ClassVar[frozenset[str]] = frozenset()

    @field_validator("*", mode="before")
    @classmethod
    def _null_is_no_change(cls, value: Any, info: ValidationInfo) -> Any:
        if value is None and info.field_name not in cls.nullable:
            raise PydanticCustomError("null", "must not be null")
        return value

    def changes(self, *beside: str) -> dict[str, Any]:
        """Return what was sent, without the fields `beside`; raises `InvalidError` where that is nothing."""
        sent = self.model_dump(exclude_unset=True, exclude={*beside})
        if not sent:
            raise InvalidError("body", "must change at least one field")
        return sent


class FieldError(BaseModel):
    """What is wrong with one field; `field` is a dotted path, `line` counts from 1 where the field is in a document."""

    field: str
    message: str
    line: int | None = None


class Problem(BaseModel):
    """Problem details, RFC 9457."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    request_id: str
    reason: str | None = None
    errors: list[FieldError] | None = None


class EntryPath(BaseModel):
    """The id of a memory."""

    entry_id: UUID


class RevisionPath(EntryPath):
    """The id of a memory, and the number of one of its versions."""

    number: int


class RevisionsQuery(Query):
    """A page of versions; `before` is the `next_before` of the page before it."""

    limit: int = Field(20, ge=1, le=100)
    before: int | None = Field(None, ge=1, le=2_147_483_647)


class EntryBody(Strict):
    """A memory to store; `space` defaults to the token's space or `default`."""

    text: Text
    space: Slug | None = None
    type: MemoryType = "note"
    role: MemoryRole = "user"
    tags: Tags = Field(default_factory=list)
    theme: Theme | None = None
    manually_saved: bool = False
    source_ids: SourceIds = Field(default_factory=list)
    source_message: Line | None = Field(None, max_length=256)
    source_message_id: UUID | None = Field(None, description="The message of a conversation here that it was said in.")
    created_at: Happened | None = None
    expires_at: Expiry | None = None
    importance: Share | None = None
    metadata_confidence: Share | None = None

    def to_draft(self) -> Draft:
        """Return the checked draft; raises `InvalidError`."""
        if self.theme:
            check_slug(self.theme, "theme")
        return Draft(
            text=self.text,
            type=self.type,
            role=self.role,
            tags=tuple(self.tags),
            theme=self.theme,
            source_ids=tuple(self.source_ids),
            source_message=self.source_message,
            source_message_id=self.source_message_id,
            manually_saved=self.manually_saved,
            importance=self.importance,
            metadata_confidence=self.metadata_confidence,
            created_at=self.created_at,
            expires_at=self.expires_at,
        )


class BatchBody(Strict):
    """Up to 1,000 memories for one space, of 16 MiB of text together, stored in order and all or none.

    The space may stand beside the entries or in them, as long as it is one.
    """

    entries: list[EntryBody] = Field(min_length=1, max_length=1000)
    space: Slug | None = None


class EntryPatch(Patch):
    """Fields to change; what is left out stays as it is. Null takes a theme or an expiry away.

    With null for `supersedes`, what this memory superseded is as it was before, unless another one supersedes it too.
    """

    nullable: ClassVar = frozenset({"theme", "expires_at", "supersedes"})

    text: Text | None = None
    type: MemoryType | None = None
    tags: Tags | None = None
    theme: Theme | None = None
    source_ids: SourceIds | None = None
    importance: Share | None = None
    status: MemoryStatus | None = None
    pinned: bool | None = None
    manually_saved: bool | None = None
    supersedes: UUID | None = None
    expires_at: Expiry | None = None


class EntryQuery(Query):
    """Filters of the list."""

    space: Slug | None = None
    theme: Slug | None = None
    type: MemoryType | None = None
    tag: Line | None = None
    source_id: Line | None = None
    status: Literal["active", "superseded", "archived", "any"] = "active"
    embedding: EmbeddingState | None = None
    pinned: bool | None = None
    manually_saved: bool | None = None
    created_after: Moment | None = None
    created_before: Moment | None = None
    credentials: bool | None = Field(None, description="Only what seems to hold a credential, or only the rest.")
    token_id: UUID | None = Field(None, description="Only what this token wrote first.")
    stored_after: Moment | None = Field(
        None, description="Only what was stored from then on, of whatever moment it is said to be."
    )
    order: Order = "newest"
    limit: int = Field(50, ge=1, le=200)
    cursor: Cursor | None = None


class DeleteQuery(Query):
    """`undo` keeps the memory restorable for ten minutes."""

    undo: bool = False


class SpaceQuery(Query):
    """Which space."""

    space: Slug | None = None


RETENTION = (
    "After so many days without being changed, repeated or recalled, a memory that is neither pinned nor saved by hand "
    "is archived; summaries and what has an expiry are left alone. 0 keeps everything active."
)


ROLL_UP = (
    "Whether what retention archives is summed up before, once a month: what belongs together becomes one summary that "
    "names it as its sources."
)


EXTRACT_FACTS = (
    "Whether the server's language model reads what is said, and was said before, in the conversations of the space, "
    "and keeps the facts that the user tells there. Without such a model nothing is read."
)


LETS_GO = (
    "How many memories a lower `soft_cap` may let go for good with the next that is stored. Without it a cap that lets "
    "some go is refused, and says how many; with it, it needs the scope forget."
)


class SpaceBody(Strict):
    """A new space."""

    slug: Slug
    name: Line | None = None
    soft_cap: int | None = Field(None, ge=1, le=10_000_000)
    retention_days: int | None = Field(None, ge=0, le=LONGEST_RETENTION, description=RETENTION)
    roll_up: bool | None = Field(None, description=ROLL_UP)
    memory_enabled: bool | None = None
    incognito_default: bool | None = None
    extract_facts: bool | None = Field(None, description=EXTRACT_FACTS)
    policy: Weights | None = None


class SpacePatch(Patch):
    """Settings of a space to change."""

    name: Annotated[Line, described_as(**NOT_BLANK, maxLength=200)] | None = None
    soft_cap: int | None = Field(None, ge=1, le=10_000_000)
    lets_go: int | None = Field(None, ge=1, description=LETS_GO)
    retention_days: int | None = Field(None, ge=0, le=LONGEST_RETENTION, description=RETENTION)
    roll_up: bool | None = Field(None, description=ROLL_UP)
    memory_enabled: bool | None = None
    incognito_default: bool | None = None
    extract_facts: bool | None = Field(None, description=EXTRACT_FACTS)
    policy: Weights | None = None


class SpacePath(BaseModel):
    """The slug of a space."""

    slug: Line


class ThemesQuery(SpaceQuery):
    """Of which space, how many themes to list, and after which: as many as there may be, unless fewer are asked for."""

    limit: int = Field(1000, ge=1, le=1000)
    cursor: Cursor | None = None


class ThemePath(BaseModel):
    """The slug of a theme."""

    slug: Line


class ThemeBody(Strict):
    """A new theme."""

    slug: Slug
    display_name: Line = Field("", max_length=200)
    description: Line = Field("", max_length=2000)


class ThemePatch(Patch):
    """What a theme is called, after its slug where that is empty, and what belongs to it."""

    display_name: Line | None = Field(None, max_length=200)
    description: Line | None = Field(None, max_length=2000)


class SettingsBody(Patch):
    """The two switches of a space."""

    nullable: ClassVar = frozenset({"space"})

    space: Slug | None = None
    memory_enabled: bool | None = None
    incognito_default: bool | None = None


class IncognitoBody(Omittable):
    """Which session; by default the `X-Commonplace-Session` header, else the token itself."""

    session: Annotated[Line, AfterValidator(_sendable), described_as(**NOT_BLANK)] | None = Field(
        None, min_length=1, max_length=150
    )


class ContextBody(Strict):
    """A question for which to assemble a block of recalled memories, with `facts` of those of whom it names, too."""

    query: Question
    facts: bool = False
    space: Slug | None = None
    theme: Slug | None = None
    types: Only[MemoryType] = None
    tags: Only[Tag] = Field(None, description="Only memories that have each of these tags.")
    token_budget: TokenBudget | None = None
    limit: Limit | None = None
    policy: Weights | None = None


class ProviderBody(Strict):
    """The user's own embedding endpoint."""

    provider_type: Literal["openai", "ollama", "custom_http", "llamacpp"]
    endpoint_url: Annotated[Line, described_as(pattern="^[Hh][Tt][Tt][Pp][Ss]?://")] = Field(
        min_length=1, max_length=2000
    )
    model: Line = Field(min_length=1, max_length=200)
    api_key: Annotated[Line, described_as(pattern=r"^\s*[ -~]*\s*$")] | None = Field(None, max_length=2000)
    dimensions: int | None = Field(None, ge=1, le=16_000)
    enabled: bool = True


def entry_json(entry: Entry, *, own: bool = True) -> dict[str, Any]:
    """Return a memory as it is shown to agents: all of it but the vector.

    Unless it is of the caller's `own` space, but shared with that, it does not name what it replaced.
    """
    memory = entry.memory
    return {
        "id": str(memory.id),
        "space": entry.space,
        "theme": entry.theme,
        "type": memory.type,
        "role": memory.role,
        "text": memory.text,
        "tags": memory.tags,
        "derived_tags": memory.derived_tags,
        "source_ids": memory.source_ids,
        "source_message": memory.source_message,
        "source_message_id": str(entry.source.message_id) if entry.source else None,
        "source": _source_json(entry.source),
        "status": memory.status,
        "supersedes": str(memory.supersedes) if memory.supersedes and own else None,
        "token": token_json(memory.token_id, entry.token),
        "simhash": f"{memory.simhash & (1 << 64) - 1:016x}",
        "repeat_count": memory.repeat_count,
        "importance": _weight(memory.importance),
        "metadata_confidence": memory.metadata_confidence,
        "pinned": memory.pinned,
        "manually_saved": memory.manually_saved,
        "needs_embedding": memory.needs_embedding,
        "embedding": {"state": told_vector(entry.embedding), "error": entry.embedding_error},
        "last_scores": entry.last_scores,
        "created_at": moment(memory.created_at),
        "updated_at": moment(memory.updated_at),
        "expires_at": moment(memory.expires_at),
        "version": memory.version,
    }


def _weight(importance: float | None) -> float | None:
    # Rounded, as adding and taking away again leaves a trace beyond the sixteenth digit.
    return None if importance is None else round(importance, 6)


def changed_json(entry: Entry, *, closed: bool = False) -> dict[str, Any]:
    """Return a memory as it is shown to who has changed it: without what it says to who may not read.

    Nor does anybody to whom it is `closed` by incognito.
    """
    shown = may_read() and not closed
    return entry_json(entry) if shown else {"id": str(entry.memory.id), "version": entry.memory.version}


def token_json(token_id: UUID | None, token: Token | None) -> dict[str, Any] | None:
    """Return by which token something was done, and what it is called where that may be told."""
    if token_id is None:
        return None
    names = {"name": token.name, "prefix": token.prefix} if token else {"name": None, "prefix": None}
    return {"id": str(token_id), **names}


def _source_json(source: Source | None) -> dict[str, Any] | None:
    if source is None:
        return None
    ids = {"message_id": str(source.message_id), "conversation_id": str(source.conversation_id)}
    return {**ids, "sequence": source.sequence}


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
            "importance": _weight(trace.importance),
            "terms": [{"name": t.name, "delta": t.delta, "reason": t.reason} for t in trace.terms],
            "repeat_count": trace.repeat_count,
            "pinned": trace.pinned,
            "possible_update_of": [str(i) for i in trace.possible_update_of],
            "trimmed": [str(i) for i in trace.trimmed],
            "credentials": list(trace.credentials),
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
        "extract_facts": space.extract_facts,
        "soft_cap": space.soft_cap,
        "retention_days": space.retention_days,
        "roll_up": space.roll_up,
        "policy": space.policy,
        "memories": space.documents,
        "created_at": moment(space.created_at),
        "updated_at": moment(space.updated_at),
    }
