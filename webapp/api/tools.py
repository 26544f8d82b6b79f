"""`/v1/tools`: the seven tools that agents call, described for each ecosystem and recorded one by one."""

from __future__ import annotations

import time
from http import HTTPStatus
from typing import Any, Literal
from uuid import UUID

from flask import Response, jsonify, make_response, request
from pydantic import BaseModel, Field, ValidationError
from sqlalchemy.exc import OperationalError

from memory.errors import DomainError
from memory.ids import new_id
from memory.journal import record_tool_call
from memory.models import ToolCall
from retrieval.policy import PolicyError
from webapp.api.blueprint import api_blueprint
from webapp.context import credential, request_id, session, utc_now
from webapp.errors import invalid_request, problem
from webapp.operations import is_incognito
from webapp.tools import TOOLS, Tool, ToolResult

bp = api_blueprint("tools", "Tools for agents", "/v1/tools")


class ToolsQuery(BaseModel):
    """Whose schema to speak."""

    format: Literal["plain", "openai", "anthropic", "mcp"] = "plain"


class ToolPath(BaseModel):
    """The name of a tool."""

    name: str


class ToolBody(BaseModel):
    """The tool's arguments; `GET /v1/tools` has the schema of each."""

    model_config = {"extra": "allow"}


class ToolAnswer(BaseModel):
    """What a tool answers; the fields are the tool's own."""

    model_config = {"extra": "allow"}
    error: bool | None = Field(None, description="true when memory was out of reach and the answer is empty")


@bp.get("", summary="Describe the tools")
def list_(query: ToolsQuery) -> Response:
    """Answer the tools in the shape that an ecosystem expects."""
    described = [tool.describe(query.format) for tool in TOOLS.values()]
    return jsonify({"tools": described} if query.format in {"plain", "mcp"} else described)


@bp.post("/<name>", summary="Call a tool", responses={"200": ToolAnswer})
def call(path: ToolPath, body: ToolBody) -> Response:
    """Run a tool with the JSON object sent as its arguments."""
    del body  # Documented for the reader; each tool has a schema of its own, checked below.
    tool = TOOLS.get(path.name)
    if tool is None:
        return problem(HTTPStatus.NOT_FOUND, f"there is no tool {path.name!r}; there are {', '.join(TOOLS)}")
    if tool.scope not in credential().scopes:
        return problem(HTTPStatus.FORBIDDEN, f"the token lacks the scope {tool.scope}")
    return _recorded(tool, request.get_json(silent=True))


def _recorded(tool: Tool, arguments: Any) -> Response:
    """Run the tool and record how it went, in the same transaction where it succeeded."""
    started = time.perf_counter()
    result: ToolResult | None = None
    failure: str | None = None
    try:
        result = tool.run(tool.arguments.model_validate(arguments if arguments is not None else {}))
    except ValidationError as error:
        response = invalid_request(error)
        failure = "invalid arguments"
    except (DomainError, PolicyError) as error:
        session().rollback()
        _record(tool, arguments, None, started, type(error).__name__)
        raise
    else:
        response = make_response(jsonify(result.answer), result.status)
    _record(tool, arguments, result, started, failure)
    return response


def _record(tool: Tool, arguments: Any, result: ToolResult | None, started: float, failure: str | None) -> None:
    who = credential()
    try:
        hidden = is_incognito(None)
        call_ = ToolCall(
            user_id=who.user_id,
            id=new_id(),
            token_id=who.token_id,
            correlation_id=request_id(),
            tool=tool.name,
            arguments=_kept(arguments, hidden or (result is not None and result.private)),
            result=result.summary if result else None,
            affected_ids=[UUID(i) for i in result.affected] if result else [],
            hits=result.hits if result else None,
            duration_ms=(time.perf_counter() - started) * 1000,
            success=failure is None and not (result and result.answer.get("error")),
            error=failure,
            created_at=utc_now(),
        )
        record_tool_call(session(), call_)
        session().commit()
    except OperationalError:
        # The answer is "nothing found, error"; there is no database to record that in.
        session().rollback()


def _kept(arguments: Any, hidden: bool) -> dict[str, Any]:
    """Return the arguments as they may be stored: none of them while incognito, no NUL that JSONB refuses."""
    if hidden or not isinstance(arguments, dict):
        return {}
    return {str(key).replace("\x00", ""): _storable(value) for key, value in arguments.items()}


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("\x00", "").encode("utf-8", "replace").decode()[:70_000]
    if isinstance(value, dict):
        return {str(key).replace("\x00", ""): _storable(inner) for key, inner in value.items()}
    return [_storable(inner) for inner in value] if isinstance(value, list) else value
