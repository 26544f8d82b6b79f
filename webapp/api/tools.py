"""`/v1/tools`: the tools that agents call, described for each ecosystem and recorded one by one."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Literal

from flask import Response, jsonify, make_response
from pydantic import BaseModel, ConfigDict, ValidationError

from memory.errors import InvalidError
from webapp.api.blueprint import api_blueprint, refusing
from webapp.api.schemas import Omittable, Query
from webapp.api.tool_answers import ToolAnswer, ToolsAnswer
from webapp.context import session
from webapp.errors import field_errors, invalid_request, problem
from webapp.guards import ANY, lacking, needs, placed, recorded
from webapp.operations import was_incognito
from webapp.recording import Recording, failure
from webapp.tools import TOOLS, Tool
from webapp.tools.advice import advised

NO_TOOL = f"there is no such tool; there are {', '.join(TOOLS)}"
_CONTENT = frozenset({"content", "tags", "theme", "source_ids", "subject", "predicate", "object"})

bp = api_blueprint("tools", "Tools for agents", "/v1/tools")


class ToolsQuery(Query):
    """Whose schema to speak; `strict` as that of OpenAI is, where a model must name every field.

    `all` has those too that the token may not call.
    """

    format: Literal["plain", "openai", "anthropic", "mcp"] = "plain"
    strict: bool = False
    all: bool = False


class ToolPath(BaseModel):
    """The name of a tool."""

    name: str


class ToolBody(Omittable):
    """The tool's arguments; `GET /v1/tools` has the schema of each."""

    model_config = ConfigDict(extra="allow")


@bp.get("", summary="Describe the tools", responses={"200": ToolsAnswer})
@needs(ANY)
@placed
def list_(query: ToolsQuery) -> Response:
    """Answer the tools that the token has the scope for, in the shape that an ecosystem expects."""
    if query.strict and query.format != "openai":
        raise InvalidError("strict", "is for the format openai alone")
    told = list(TOOLS.values()) if query.all else callable_tools()
    described = [tool.describe(query.format, strictly=query.strict) for tool in told]
    return jsonify({"tools": described} if query.format in {"plain", "mcp"} else described)


def callable_tools() -> list[Tool]:
    """Return the tools that the token has the scope for: a model reads each of them in every prompt."""
    return [tool for tool in TOOLS.values() if not lacking(tool.scope)]


@bp.post(
    "/<name>", summary="Call a tool", responses={"200": ToolAnswer, "201": ToolAnswer, "409": refusing(ToolAnswer)}
)
@needs(ANY)
@recorded
def call(path: ToolPath, body: ToolBody) -> Response:
    """Run a tool with the JSON object sent as its arguments; each tool needs the scope that fits what it does."""
    tool = TOOLS.get(path.name)
    if tool is None:
        return problem(HTTPStatus.NOT_FOUND, NO_TOOL)
    return run_allowed(tool, body.model_extra or {})


def run_allowed(tool: Tool, given: dict[str, Any]) -> Response:
    """Run the tool where the caller has its scope, and record how it went."""
    if why := lacking(tool.scope):
        # A call without the scope is recorded too, as what an agent tried belongs to what it did. Its arguments were
        # not looked at, and are not kept.
        Recording(tool.name, tool.operation).done({}, success=False, error=why)
        return problem(HTTPStatus.FORBIDDEN, why)
    return run_recorded(tool, given)


def run_recorded(tool: Tool, given: dict[str, Any]) -> Response:
    """Run the tool as the caller and record how it went; the caller has the tool's scope."""
    recording = Recording(tool.name, tool.operation)
    try:
        arguments = tool.arguments.model_validate(given)
    except ValidationError as error:
        response = invalid_request(error, tool.arguments)
        found = "; ".join(f"{e['field']}: {e['message']}" for e in field_errors(error, tool.arguments)[:3])
        # The arguments of an invalid call are not kept, as they may hold a text that was just refused. Names of unknown
        # arguments are the caller's words, too.
        told = "" if was_incognito(given.get("space")) else f": {found}"
        recording.done({}, success=False, error=f"invalid arguments{told}")
        return response
    question = getattr(arguments, "query", None)
    try:
        result = tool.run(arguments)
    except Exception as error:
        session().rollback()
        refused = advised(error)
        recording.done(_without_content(given), question=question, success=False, error=failure(refused))
        if refused is error:
            raise
        raise refused from error
    recording.done(
        {} if result.private else given,
        question=None if result.private else question,
        result=result.summary,
        affected=result.affected,
        hits=result.hits,
        success=not result.answer.get("error"),
    )
    return make_response(jsonify(result.answer), result.status)


def _without_content(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return what may be kept of a call that failed: what was refused is not to be found in the journal."""
    return {name: value for name, value in arguments.items() if name not in _CONTENT}
