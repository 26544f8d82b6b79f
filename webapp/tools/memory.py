"""The seven tools of memories: what they take, what they answer, what of it is recorded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, ConfigDict, Field

from memory.drafts.drafts import Draft
from memory.errors import InvalidError
from memory.reading.browse import possible_updates, superseded_by, where_said
from memory.spaces.themes import list_themes
from retrieval.days.dates import local
from retrieval.policy import Policy
from retrieval.query import Hit, Result
from retrieval.words.passage import ELLIPSIS
from webapp.api.schemas import (
    Expiry,
    Limit,
    Line,
    MemoryStatus,
    MemoryType,
    Only,
    Overrides,
    Question,
    Share,
    SourceIds,
    Tag,
    Tags,
    Text,
    Theme,
    TokenBudget,
    changed_json,
    entry_json,
    moment,
    none_when_empty,
    outcome_json,
)
from webapp.context import credential, session, utc_now, zone
from webapp.guards import may_read
from webapp.operations import change, found_entry, remove, scope_for, silent_spaces, skipped, store
from webapp.recall import find
from webapp.recording import hits_of, recalled
from webapp.sources import NO_SOURCE, unknown_sources
from webapp.tools.base import (
    LEAST_EVIDENCE,
    MOST_RESULTS,
    MOST_TOKENS,
    WHICH_SPACE,
    Arguments,
    Tool,
    ToolResult,
    changes_in,
)
from webapp.tools.shown import answer_json, named, place_json, remarks, why_json

# Characters of a conversation's name in what `query_memory` says of where a memory comes from.
_LONGEST_NAME = 80
# Characters of a memory that a new one may be an update of, of which a model is to see which it is: three of 64 KiB
# would be tens of thousands of tokens.
_LONGEST_UPDATED = 1000

IMPORTANCE = "How much it matters, 0 to 1; default: what its words and its use say."
EXPIRES = "When it is to be gone for good (ISO 8601, with a zone); default: never."
STATUS = {"created": 201, "merged": 200, "refused": 409}


def _as_slug(theme: str) -> str:
    """Return a theme's name as a slug is written; what else is wrong with it stays, to be refused.

    >>> _as_slug(" Home Improvement"), _as_slug("C++")
    ('home-improvement', 'c++')
    """
    return "-".join(theme.lower().split())


NamedTheme = Annotated[Theme, AfterValidator(_as_slug)]
OnlyTheme = Annotated[NamedTheme | None, AfterValidator(none_when_empty)]


class SearchArguments(Arguments):
    """A question and what narrows it."""

    query: Question = Field(description="What to look for, in plain words; exact names and codes work too.")
    limit: Limit | None = Field(None, description=MOST_RESULTS)
    space: Line | None = Field(None, description=WHICH_SPACE)
    theme: OnlyTheme = Field(None, description="Only memories of this theme (slug); an empty one, of any.")
    types: Only[MemoryType] = Field(None, description="Only memories of these types; none given, of any.")
    tags: Only[Tag] = Field(None, description="Only memories that have each of these tags; none given, any.")
    recency_days: int | None = Field(None, ge=0, le=36_500, description="Only memories of the last so many days.")
    min_score: Share | None = Field(None, description=LEAST_EVIDENCE)
    token_budget: TokenBudget | None = Field(None, description=MOST_TOKENS)
    policy: Overrides | None = Field(None, description="Ranking weights for this call, or a policy's name.")


class AddArguments(Arguments):
    """A memory to add; agents are told to say the type, and one that does not gets a note."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"required": ["type", "content"]})

    type: MemoryType = Field("note", description="What kind of memory this is.")
    content: Text = Field(description="The memory, as one self-contained statement.")
    theme: NamedTheme | None = Field(None, description="Slug of a theme; a new one is added.")
    tags: Tags = Field(default_factory=list, description="Words to find it by later.")
    space: Line | None = Field(None, description=WHICH_SPACE)
    source_ids: SourceIds = Field(default_factory=list, description="Ids of yours for where this comes from.")
    source_message_id: UUID | None = Field(None, description="The stored message that this was learned from.")
    manually_saved: bool = Field(False, description="True when the user asked to remember this.")
    importance: Share | None = Field(None, description=IMPORTANCE)
    expires_at: Expiry | None = Field(None, description=EXPIRES)


class ItemArguments(Arguments):
    """Which memory."""

    item_id: UUID = Field(description="The memory's id, as a search or memory_add answered it.")


class UpdateArguments(ItemArguments):
    """What to change in a memory."""

    content: Text | None = Field(None, description="What it says from now on, as one self-contained statement.")
    type: MemoryType | None = Field(None, description="What kind of memory this is.")
    theme: NamedTheme | None = Field(None, description="Slug of a theme; an empty one takes it away.")
    tags: Tags | None = Field(None, description="Instead of the tags that it has.")
    importance: Share | None = Field(None, description=IMPORTANCE)
    expires_at: Expiry | None = Field(None, description=EXPIRES)
    status: MemoryStatus | None = Field(None, description="Only what is active is searched.")
    supersedes: UUID | None = Field(None, description="Id of the memory that this one replaces.")


class NoArguments(Arguments):
    """Nothing to say."""


class QueryArguments(Arguments):
    """A question for `query_memory`."""

    query: Question = Field(
        description="Search query to find relevant memories: say in words what context would help.",
    )
    types: Only[Literal["fact", "preference", "decision", "note"]] = Field(
        None, description="Only memories of these types; none given, of any."
    )


def _search(arguments: SearchArguments) -> ToolResult:
    result = find(arguments.query, **arguments.model_dump(exclude={"query"}))
    return _found(result, answer_json(result, [_hit_json(hit, result.policy) for hit in result.hits]))


def _found(result: Result, answer: dict[str, Any]) -> ToolResult:
    told = recalled(result.hits)
    ids = tuple(told["ids"])
    summary = {**told, "truncated": result.truncated, "degraded": list(result.degraded)}
    return ToolResult(
        answer, summary, affected=ids, hits=hits_of(result, len(ids)), private="incognito" in result.degraded
    )


def _hit_json(hit: Hit, policy: Policy) -> dict[str, Any]:
    memory = hit.ranked.scored.candidate
    return {
        "id": str(memory.id),
        "theme": memory.theme,
        "type": memory.type,
        "content_snippet": hit.snippet,
        "created_at": moment(memory.created_at),
        "tags": list(memory.tags),
        "source_ids": list(memory.source_ids),
        **place_json(hit),
        **why_json(hit, policy),
    }


def _query_memory(arguments: QueryArguments) -> ToolResult:
    result = find(arguments.query, types=arguments.types)
    # Of another space no conversation is told.
    own = [hit.ranked.scored.candidate.id for hit in result.hits if hit.shared is None]
    said = where_said(session(), credential().user_id, own)
    answer: dict[str, Any] = {
        "memories": [_recalled_json(hit, said) for hit in result.hits],
        "metadata": {"count": len(result.hits), "truncated": result.truncated or result.more},
        **remarks(result),
        **({"degraded": list(result.degraded)} if result.degraded else {}),
    }
    return _found(result, answer)


def _recalled_json(hit: Hit, said: dict[UUID, tuple[str | None, str | None]]) -> dict[str, Any]:
    memory = hit.ranked.scored.candidate
    return {
        # The id is told, so that a memory which is out of date can be corrected.
        "id": str(memory.id),
        "content": hit.snippet,
        "type": memory.type,
        "relevance": round(hit.ranked.scored.score.relevance, 6),
        "context": _provenance(hit, *said.get(memory.id, (None, None))),
        "created_at": moment(memory.created_at),
    }


def _provenance(hit: Hit, message: str | None, conversation: str | None) -> str:
    """Return who said it and when, and where that is known, its sources and the conversation."""
    memory = hit.ranked.scored.candidate
    told = [f"{memory.role}, {local(memory.created_at, zone()):%Y-%m-%d}"]
    if sources := list(dict.fromkeys([*memory.source_ids[:3], *([message] if message else [])])):
        told.append(f"source {', '.join(sources)}")
    if hit.shared is not None:
        told.append(f"shared from the space {hit.shared.slug}")
    if conversation:
        told.append(f"in “{' '.join(conversation.split())[:_LONGEST_NAME]}”")
    return "; ".join(told)


@contextmanager
def _text_is_content() -> Iterator[None]:
    """Name the field that an agent has sent where a memory's own text is refused."""
    try:
        yield
    except InvalidError as error:
        if error.field != "text":
            raise
        raise InvalidError("content", error.message) from error


def _add(arguments: AddArguments) -> ToolResult:
    with _text_is_content():
        draft = Draft(
            text=arguments.content,
            type=arguments.type,
            theme=arguments.theme,
            tags=tuple(arguments.tags),
            source_ids=tuple(arguments.source_ids),
            source_message_id=arguments.source_message_id,
            manually_saved=arguments.manually_saved,
            importance=arguments.importance,
            expires_at=arguments.expires_at,
        )
    if unknown_sources([draft]):
        raise InvalidError("source_message_id", NO_SOURCE)
    outcome = store([draft], arguments.space)[0]
    shown = outcome_json(outcome)
    status = {"outcome": outcome.outcome, "embedding": outcome.embedding}
    answer = {"id": shown["id"], "status": status, "trace": shown["trace"]}
    if outcome.refusal:
        answer["reason"] = outcome.refusal
    older = outcome.trace.possible_update_of
    if outcome.id and older and may_read() and (updated := _updated_by(outcome.id, older)):
        answer["possible_updates"] = updated
    affected = (shown["id"],) if shown["id"] else ()
    # A refused text is not to be found in the journal either.
    return ToolResult(answer, status, affected, private=outcome.outcome == "refused", status=STATUS[outcome.outcome])


def _updated_by(memory_id: UUID, older: Sequence[UUID]) -> list[dict[str, str]]:
    """Return what a new memory may be an update of, with its text: a model that has no more than ids asks again."""
    links = possible_updates(session(), credential().user_id, memory_id, utc_now())
    return [
        {"id": str(memory.id), "differs_in": link.differs_in, "content": _beginning(memory.text)}
        for link, memory in links
        if memory.id in older
    ]


def _beginning(text: str) -> str:
    return text if len(text) <= _LONGEST_UPDATED else f"{text[:_LONGEST_UPDATED]}{ELLIPSIS}"


def _get(arguments: ItemArguments) -> ToolResult:
    entry, space = found_entry(arguments.item_id)
    if why := skipped(space):
        return ToolResult({"item": None, "degraded": [why]}, {"degraded": [why]}, private=True)
    own = entry.memory.space_id == space.id
    about = (session(), credential().user_id, arguments.item_id, utc_now())
    links = possible_updates(*about) if own else ()
    answer = {
        **entry_json(entry, own=own),
        "content": entry.memory.text,
        "superseded_by": [str(memory.id) for memory in superseded_by(*about)] if own else [],
        "possible_updates": [{"id": str(memory.id), "differs_in": link.differs_in} for link, memory in links],
    }
    return ToolResult(answer, affected=(str(arguments.item_id),))


def _update(arguments: UpdateArguments) -> ToolResult:
    changes = changes_in(arguments, "item_id")
    if "content" in changes:
        changes["text"] = changes.pop("content")
    with _text_is_content():
        entry = change(arguments.item_id, changes)
    shown = changed_json(entry)
    content = {"content": entry.memory.text} if may_read() else {}
    return ToolResult({**shown, **content}, affected=(str(arguments.item_id),))


def _delete(arguments: ItemArguments) -> ToolResult:
    forgotten = remove(arguments.item_id, None)
    along = {"summaries": [str(each) for each in forgotten.summaries]} if forgotten.summaries else {}
    return ToolResult({"id": str(arguments.item_id), "deleted": True, **along}, affected=(str(arguments.item_id),))


def _list_themes(_arguments: NoArguments) -> ToolResult:
    scope = scope_for(None)
    if why := skipped(scope):
        return ToolResult({"themes": [], "degraded": [why]}, {"degraded": [why]}, private=True)
    only, outside = (scope.id, ()) if scope else (None, silent_spaces())
    rows = list_themes(session(), credential().user_id, space_id=only, outside=outside)
    themes = [{"slug": theme.slug, "display_name": named(theme)[0], "memories": total} for theme, total in rows]
    return ToolResult({"themes": themes}, {"count": len(themes)})


MEMORY_TOOLS = (
    Tool(
        "memory_search",
        "Search the user's long-term memory by words and by meaning. Use it before answering anything that may "
        "depend on who the user is, what they prefer or what was said before, and to find the id of what is to be "
        "corrected or forgotten.",
        SearchArguments,
        "read",
        _search,
        # Nobody looks for a memory without a reason to think that there is something in it.
        always=True,
    ),
    Tool(
        "memory_add",
        "Remember one self-contained statement about the user or their work that will matter in later conversations: "
        "a preference, a decision, a correction, or what they ask to be remembered. Never a password or key, what "
        "matters only now, or what a search has just answered. Repeats are merged. Where the answer has an older one "
        "in possible_updates that this replaces, call memory_update with this id and that as supersedes.",
        AddArguments,
        "write",
        _add,
        always=True,
    ),
    Tool(
        "memory_get",
        "Read one memory in full, by its id; a search may have cut a long one.",
        ItemArguments,
        "read",
        _get,
    ),
    Tool(
        "memory_update",
        "Correct a memory that is wrong or out of date, in place of adding another: what it said before is kept as a "
        "version. Or mark what it supersedes.",
        UpdateArguments,
        "write",
        _update,
    ),
    Tool("memory_delete", "Forget a memory for good, when the user asks to.", ItemArguments, "forget", _delete),
    Tool(
        "memory_list_themes",
        "List the themes that the user's memories are grouped by.",
        NoArguments,
        "read",
        _list_themes,
    ),
    Tool(
        "query_memory",
        "Retrieve what the user's long-term memory has for a question: memory_search in short, with who said it and "
        "when. Use it when the question may relate to something discussed before, or when knowing the user would "
        "improve the answer.",
        QueryArguments,
        "read",
        _query_memory,
    ),
)
