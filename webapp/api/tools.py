"""`/v1/tools`: the seven tools that agents call, described for each ecosystem and recorded one by one."""

from __future__ import annotations

import logging
import math
import time
from http import HTTPStatus
from itertools import islice
from typing import Any, Literal
from uuid import UUID

from flask import Response, jsonify, make_response
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sqlalchemy.exc import SQLAlchemyError

from memory.ids import new_id
from memory.journal import record_tool_call
from memory.models import ToolCall
from webapp.api.blueprint import api_blueprint
from webapp.api.schemas import Omittable, Strict
from webapp.context import credential, request_id, session, utc_now
from webapp.errors import field_errors, invalid_request, problem
from webapp.guards import ANY, needs, require_scope
from webapp.operations import was_incognito
from webapp.tools import TOOLS, Tool, ToolResult

logger = logging.getLogger(__name__)

# A memory's text is at most 65,536 bytes and has at most 64 tags or sources.
LONGEST_KEPT = 65_536
MOST_KEPT = 100
DEEPEST_KEPT = 4

bp = api_blueprint("tools", "Tools for agents", "/v1/tools")


class ToolsQuery(Strict):
    """Whose schema to speak."""

    format: Literal["plain", "openai", "anthropic", "mcp"] = "plain"


class ToolPath(BaseModel):
    """The name of a tool."""

    name: str


class ToolBody(Omittable):
    """The tool's arguments; `GET /v1/tools` has the schema of each."""

    model_config = ConfigDict(extra="allow")


class ToolAnswer(BaseModel):
    """What a tool answers; the fields are the tool's own."""

    model_config = ConfigDict(extra="allow")
    error: bool | None = Field(None, description="true when memory was out of reach and the answer is empty")


@bp.get("", summary="Describe the tools")
@needs(ANY)
def list_(query: ToolsQuery) -> Response:
    """Answer the tools in the shape that an ecosystem expects."""
    described = [tool.describe(query.format) for tool in TOOLS.values()]
    return jsonify({"tools": described} if query.format in {"plain", "mcp"} else described)


@bp.post("/<name>", summary="Call a tool", responses={"200": ToolAnswer})
@needs(ANY)
def call(path: ToolPath, body: ToolBody) -> Response:
    """Run a tool with the JSON object sent as its arguments; each tool needs the scope that fits what it does."""
    tool = TOOLS.get(path.name)
    if tool is None:
        return problem(HTTPStatus.NOT_FOUND, f"there is no such tool; there are {', '.join(TOOLS)}")
    require_scope(tool.scope)
    return _recorded(tool, body.model_extra or {})


def _recorded(tool: Tool, arguments: dict[str, Any]) -> Response:
    """Run the tool and record how it went."""
    started = time.perf_counter()
    try:
        result = tool.run(tool.arguments.model_validate(arguments))
    except ValidationError as error:
        response = invalid_request(error)
        found = "; ".join(f"{e['field']}: {e['message']}" for e in field_errors(error)[:3])
        # What is no valid call is not kept: it may hold a text that was just refused.
        _record(tool, {}, started, failure=f"invalid arguments: {found}"[:500])
        return response
    except Exception as error:
        session().rollback()
        _record(tool, _without_content(arguments), started, failure=type(error).__name__)
        raise
    _record(tool, {} if result.private else arguments, started, result)
    return make_response(jsonify(result.answer), result.status)


def _without_content(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return what may be kept of a call that failed: a text that was refused is not to be found in the journal."""
    return {name: value for name, value in arguments.items() if name != "content"}


def _record(
    tool: Tool,
    arguments: dict[str, Any],
    started: float,
    result: ToolResult | None = None,
    failure: str | None = None,
) -> None:
    """Append the call to the journal; what the tool did stands, whatever becomes of that."""
    try:
        record_tool_call(session(), _call(tool, arguments, started, result or ToolResult({}), failure))
        session().commit()
    except SQLAlchemyError as error:
        session().rollback()
        # Its own words would quote the arguments.
        logger.error("a call of %s was not recorded: %s", tool.name, type(error).__name__)


def _call(tool: Tool, arguments: dict[str, Any], started: float, result: ToolResult, failure: str | None) -> ToolCall:
    who = credential()
    return ToolCall(
        user_id=who.user_id,
        id=new_id(),
        token_id=who.token_id,
        correlation_id=request_id(),
        tool=tool.name,
        arguments={} if was_incognito(arguments.get("space")) else kept(arguments),
        result=None if failure else result.summary,
        affected_ids=[UUID(memory_id) for memory_id in result.affected],
        hits=result.hits,
        duration_ms=(time.perf_counter() - started) * 1000,
        success=failure is None and not result.answer.get("error"),
        error=failure,
        created_at=utc_now(),
    )


def kept(value: Any, depth: int = 0) -> Any:
    """Return arguments as JSONB can hold them: no NUL, no half surrogate pairs, no NaN, nothing deep or endless."""
    if isinstance(value, str):
        return value.replace("\x00", "").encode("utf-8", "replace").decode()[:LONGEST_KEPT]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if not isinstance(value, dict | list):
        return value
    if depth == DEEPEST_KEPT:
        return "…"
    if isinstance(value, dict):
        return {kept(key): kept(inner, depth + 1) for key, inner in islice(value.items(), MOST_KEPT)}
    return [kept(inner, depth + 1) for inner in value[:MOST_KEPT]]
