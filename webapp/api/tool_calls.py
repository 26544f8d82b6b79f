"""`/v1/tool-calls`: what agents did, asked of the record, and what they report of their own tools."""

from __future__ import annotations

import json
import math
from typing import Annotated, Any
from uuid import UUID

from flask import Response, jsonify, make_response
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from memory.models import Token, ToolCall
from memory.record.external_calls import CallDraft, Links, record_calls
from memory.record.tool_calls import LARGEST_PAGE, MOST_PATHS, CallFilters, Origin, Use, affected_paths, list_calls
from memory.redaction.shown_calls import ShownCall
from webapp.api.blueprint import api_blueprint, new_or_known
from webapp.api.record_answers import CallsAnswer, PathsAnswer, ReportedAnswer
from webapp.api.schemas import Cursor, Happened, Line, Moment, Query, Strict, moment, token_json
from webapp.context import credential, request_id, runtime, session, utc_now
from webapp.guards import needs, of_many
from webapp.operations import incognito_spaces, is_incognito, refuse_in_incognito, space_for

bp = api_blueprint("tool-calls", "The record of tool calls", "/v1/tool-calls")

LARGEST_JSON = 65_536
DEEPEST_JSON = 32

# Names, and no sentences: redaction does not look there for what a memory said.
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_./:-]{1,100}$")]
FilePath = Annotated[Line, Field(min_length=1, max_length=1024)]


def _keepable(value: Any) -> Any:
    """Refuse JSON that the record cannot hold as it is."""
    _check_json(value, 0)
    if len(json.dumps(value, ensure_ascii=False).encode()) > LARGEST_JSON:
        raise PydanticCustomError("size", f"must be at most {LARGEST_JSON} bytes as JSON")
    return value


def _check_json(value: Any, depth: int) -> None:
    if depth > DEEPEST_JSON:
        raise PydanticCustomError("depth", f"must be nested at most {DEEPEST_JSON} deep")
    if isinstance(value, dict | list):
        for inner in (*value, *value.values()) if isinstance(value, dict) else value:
            _check_json(inner, depth + 1)
    elif isinstance(value, str) and ("\x00" in value or _is_broken(value)):
        raise PydanticCustomError("text", "must not contain NUL bytes or half surrogate pairs")
    elif isinstance(value, float) and not math.isfinite(value):
        raise PydanticCustomError("number", "must not contain NaN or infinite numbers")


def _is_broken(value: str) -> bool:
    return not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value)


class CallBody(Strict):
    """A call that the agent made of a tool of its own.

    Said again with the same `client_id`, it is kept once; with other content it is refused.
    """

    tool: Name
    operation: Name | None = Field(None, max_length=50, description="search, read, create, update, delete or another")
    arguments: Annotated[dict[str, Any], AfterValidator(_keepable)] = Field(default_factory=dict)
    result: Annotated[Any, AfterValidator(_keepable)] = None
    success: bool = True
    error: Line | None = Field(None, max_length=2000)
    duration_ms: float | None = Field(None, ge=0, le=1e9, allow_inf_nan=False)
    affected_ids: list[UUID] = Field(default_factory=list, max_length=100)
    affected_paths: list[FilePath] = Field(default_factory=list, max_length=100)
    conversation_id: UUID | None = None
    message_id: UUID | None = None
    client_id: Line | None = Field(None, min_length=1, max_length=200)
    created_at: Happened | None = None


class CallsBody(Strict):
    """Up to 100 calls, kept all or none."""

    calls: list[CallBody] = Field(min_length=1, max_length=100)


class Filters(Query):
    """Which calls. `tool` and `operation` may be given several times; a `path` that ends in a slash is a folder."""

    tool: list[Line] = Field(default_factory=list, max_length=50)
    operation: list[Line] = Field(default_factory=list, max_length=50)
    path: FilePath | None = None
    affected_id: UUID | None = None
    since: Moment | None = None
    until: Moment | None = None
    success: bool | None = None
    origin: Origin | None = None
    conversation: UUID | None = None
    message: UUID | None = None
    correlation_id: Annotated[Line, Field(min_length=1, max_length=64)] | None = None

    def to_filters(self) -> CallFilters:
        """Return the filters with the bounds of the caller: a token confined to a space sees its own calls alone."""
        return CallFilters(
            tools=self.tool,
            operations=self.operation,
            path=self.path,
            affected_id=self.affected_id,
            since=self.since,
            until=self.until,
            success=self.success,
            origin=self.origin,
            conversation_id=self.conversation,
            message_id=self.message,
            correlation_id=self.correlation_id,
            token_id=own_calls_only(),
        )


class CallsQuery(Filters):
    """A page of calls."""

    limit: int = Field(50, ge=1, le=LARGEST_PAGE)
    cursor: Cursor | None = None


class PathsQuery(Filters):
    """The paths behind `after`, which is the last one of the answer before."""

    limit: int = Field(200, ge=1, le=MOST_PATHS)
    after: Line | None = None


class UsesQuery(Query):
    """A page of uses."""

    limit: int = Field(50, ge=1, le=LARGEST_PAGE)
    cursor: Cursor | None = None


def own_calls_only() -> UUID | None:
    """Return the caller's token where it may see no calls but its own."""
    who = credential()
    return who.token_id if who.space_id is not None else None


@bp.get("", summary="What was done, newest first", responses={"200": CallsAnswer})
@needs("read")
def list_(query: CallsQuery) -> Response:
    """Answer a page of calls; `next_cursor` is null at the end.

    Of a call in a space that is incognito by default nothing is answered that was said.
    """
    if _is_hidden():
        return jsonify({"calls": [], "next_cursor": None, "skipped": "incognito"})
    page = list_calls(
        session(),
        credential().user_id,
        query.to_filters(),
        now=utc_now(),
        limit=query.limit,
        cursor=query.cursor,
        outside=incognito_spaces(),
    )
    return jsonify({"calls": [_call_json(call) for call in page.calls], "next_cursor": page.next_cursor})


@bp.get("/paths", summary="Every path that was affected", responses={"200": PathsAnswer})
@needs("read")
def paths(query: PathsQuery) -> Response:
    """Answer each path once, in order, with how many of the calls affected it and when the last did."""
    if _is_hidden():
        return jsonify({"paths": [], "skipped": "incognito"})
    found = affected_paths(
        session(),
        credential().user_id,
        query.to_filters(),
        now=utc_now(),
        limit=query.limit,
        after=query.after,
        outside=incognito_spaces(),
    )
    return jsonify({"paths": [{"path": p.path, "calls": p.calls, "last_at": moment(p.last_at)} for p in found]})


@bp.post("", summary="Report calls of an agent's own tools", responses=new_or_known(ReportedAnswer))
@needs("write")
@of_many
def report(body: CallsBody) -> Response:
    """Answer 201 when at least one is new, else 200; a bad field stores none of them."""
    who = credential()
    drafts = _drafts(body)
    kept = record_calls(
        session(),
        who.user_id,
        drafts,
        keys=runtime().keys,
        token_id=who.token_id,
        correlation_id=request_id(),
        now=utc_now(),
    )
    session().commit()
    answers = [
        {"id": str(call_id), "client_id": draft.client_id, "status": "stored" if new else "known"}
        for draft, (call_id, new) in zip(drafts, kept, strict=True)
    ]
    stored = sum(new for _, new in kept)
    return make_response(jsonify({"calls": answers, "stored": stored}), 201 if stored else 200)


def _drafts(body: CallsBody) -> list[CallDraft]:
    """Return the calls with the conversations that they belong to; refuses ids that are not the caller's."""
    who, calls = credential(), body.calls
    links = Links(session(), who.user_id, who.space_id)
    links.load(
        [call.conversation_id for call in calls if call.conversation_id],
        [call.message_id for call in calls if call.message_id],
    )
    drafts = []
    for number, call in enumerate(calls):
        fields = (f"calls.{number}.conversation_id", f"calls.{number}.message_id")
        own = links.conversation_of(call.conversation_id, call.message_id, fields)
        drafts.append(CallDraft(**{**dict(call), "conversation_id": own}))
    here = {space_for(None).id for draft in drafts if draft.conversation_id is None}
    for space_id in here | {links.spaces[draft.conversation_id] for draft in drafts if draft.conversation_id}:
        refuse_in_incognito(space_id)
    return drafts


def _is_hidden() -> bool:
    return is_incognito(space_for(None) if credential().space_id else None)


def _call_json(call: ShownCall) -> dict[str, Any]:
    return {
        **_outline(call.call, call.token),
        "tool": call.tool,
        "operation": call.operation,
        "correlation_id": call.correlation_id,
        "origin": call.call.origin,
        "arguments": call.arguments,
        "result": call.result,
        "success": call.call.success,
        "error": call.error,
        "duration_ms": None if call.call.duration_ms is None else round(call.call.duration_ms, 3),
        "hits": call.call.hits,
        "affected_ids": [str(each) for each in call.call.affected_ids],
        "affected_paths": list(call.affected_paths),
        "query_hash": call.query_hash,
    }


def use_json(use: Use) -> dict[str, Any]:
    """Return who received a memory, where and when, and which hit it was."""
    told = {"correlation_id": use.correlation_id, "query_hash": use.query_hash, "rank": use.rank}
    return {**_outline(use.call, use.token), **told}


def _outline(call: ToolCall, token: Token | None) -> dict[str, Any]:
    return {
        "id": str(call.id),
        "tool": call.tool,
        "operation": call.operation,
        "token": token_json(call.token_id, token),
        "conversation_id": str(call.conversation_id) if call.conversation_id else None,
        "message_id": str(call.message_id) if call.message_id else None,
        "correlation_id": call.correlation_id,
        "created_at": moment(call.created_at),
    }
