"""The tools of facts: to state one, look up what is or was true, put it right or end it, and take it back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from memory.facts.facts import MOST, FactFilters, Statement
from memory.time_zones import user_zone
from retrieval.days import asked_beside
from webapp.api.schemas import NOT_BLANK, Limit, Line, Moment, Share, described_as
from webapp.context import credential, runtime, session, utc_now
from webapp.facts import correct_fact, delete_fact, facts_json, recall_facts, state_fact
from webapp.tools.base import MOST_RESULTS, WHICH_SPACE, Arguments, Tool, ToolResult, changes_in

Subject = Annotated[Line, described_as(**NOT_BLANK, maxLength=MOST["subject"])]
Predicate = Annotated[Line, described_as(**NOT_BLANK, maxLength=MOST["predicate"])]
Object = Annotated[Line, described_as(**NOT_BLANK, maxLength=MOST["object"])]


class StateArguments(Arguments):
    """A fact to keep."""

    subject: Subject = Field(description="Who or what it is about, by the same name each time.")
    predicate: Predicate = Field(description="What of it, in the same words each time, as “lives in”.")
    object: Object = Field(description="Where, whom or what.")
    single: bool = Field(
        True, description="False where others of this subject and predicate stay true beside it, as of “knows”."
    )
    confidence: Share = Field(1.0, description="How sure it is, 0 to 1.")
    valid_from: Moment | None = Field(None, description="Since when it is true; default: now.")
    valid_until: Moment | None = Field(None, description="Until when it was true; default: it still is.")
    source_message_id: UUID | None = Field(None, description="The stored message that said so.")
    space: Line | None = Field(None, description=WHICH_SPACE)


class FindArguments(Arguments):
    """Which facts; without any of these, the latest that are true now."""

    query: Annotated[Line, Field(min_length=1, max_length=2000)] | None = Field(
        None,
        description="A question or message: facts of what it names, when it says. Without it, of everything.",
    )
    subject: Annotated[Line, Field(min_length=1, max_length=MOST["subject"])] | None = Field(
        None, description="Only facts of this subject, by its name as it was stated."
    )
    predicate: Annotated[Line, Field(min_length=1, max_length=MOST["predicate"])] | None = Field(
        None, description="Only facts with this predicate, as it was stated."
    )
    at: Moment | None = Field(None, description="What was true at this moment; default: when `query` asks for, or now.")
    space: Line | None = Field(
        None, description="Which space; default: that of the conversation in which the call is made, or else all."
    )
    limit: Limit | None = Field(None, description=MOST_RESULTS)


class NamedFact(Arguments):
    """Which fact."""

    fact_id: UUID = Field(description="The fact's id, as fact_search or fact_add answered it.")


class CorrectArguments(NamedFact):
    """What to change in a fact."""

    valid_until: Moment | None = Field(None, description="Until when it was true, where nothing else is instead.")
    object: Object | None = Field(None, description="What it is to say, where what it says was never so.")
    valid_from: Moment | None = Field(None, description="Since when it is true.")
    confidence: Share | None = Field(None, description="How sure it is, 0 to 1.")


def _state(arguments: StateArguments) -> ToolResult:
    kept = state_fact(Statement(**arguments.model_dump(exclude={"space"})), arguments.space)
    answer = {**kept.json(), "created": kept.created}
    return ToolResult(answer, {"created": kept.created}, (str(kept.id),), status=201 if kept.created else 200)


def _find(arguments: FindArguments) -> ToolResult:
    limit = arguments.limit or runtime().settings.max_results
    filters = FactFilters(subject=arguments.subject, predicate=arguments.predicate, naming=arguments.query)
    for at, until in _times(arguments):
        found = recall_facts(arguments.space, replace(filters, at=at, until=until), most=limit)
        if found.facts or found.skipped:
            break
    shown = facts_json(found.facts)
    ids, skipped = tuple(fact["id"] for fact in shown), found.skipped
    degraded = [skipped] if skipped else []
    answer: dict[str, Any] = {"facts": shown, "more": found.more, "degraded": degraded}
    summary = {"ids": list(ids), "degraded": degraded}
    return ToolResult(answer, summary, affected=ids, hits=None if skipped else len(ids), private=bool(skipped))


def _times(arguments: FindArguments) -> Iterator[tuple[datetime, datetime | None]]:
    """Give the times that are asked for: a past one that the question names, and now if nothing was stated of that."""
    if arguments.at is not None:
        yield arguments.at, None
        return
    now, past = utc_now(), None
    if arguments.query:
        own = user_zone(session(), credential().user_id)
        past = asked_beside.past_named(arguments.query, now.astimezone(own))
    if past is not None:
        yield past.start, past.end
    yield now, None


def _correct(arguments: CorrectArguments) -> ToolResult:
    kept = correct_fact(arguments.fact_id, changes_in(arguments, "fact_id"))
    return ToolResult(kept.json(), affected=(str(kept.id),))


def _delete(arguments: NamedFact) -> ToolResult:
    delete_fact(arguments.fact_id)
    return ToolResult({"id": str(arguments.fact_id), "deleted": True}, affected=(str(arguments.fact_id),))


FACT_TOOLS = (
    Tool(
        "fact_add",
        "Keep something that is true of someone or something, from when until when. A newer fact ends the one that it "
        "contradicts, which stays on record. For what was said or wished use memory_add.",
        StateArguments,
        "write",
        _state,
    ),
    Tool(
        "fact_search",
        "Look up what is true now, or was at a moment, of whoever and whatever a question names.",
        FindArguments,
        "read",
        _find,
    ),
    Tool(
        "fact_update",
        "Say until when a fact was true, or put right what was never so. For what is true instead use fact_add.",
        CorrectArguments,
        "write",
        _correct,
    ),
    Tool("fact_delete", "Delete a fact for good, when the user asks to.", NamedFact, "forget", _delete),
)
