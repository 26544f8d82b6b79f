"""Every tool as a form: what an agent would send, and what it would get."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from flask import Response, abort, current_app, request
from pydantic import ValidationError
from werkzeug.datastructures import MultiDict

from webapp.api.tools import run_recorded
from webapp.context import session
from webapp.errors import field_errors, problem
from webapp.guards import require_scope
from webapp.htmx import render
from webapp.pages.forms import by_lines
from webapp.pages.visitor import guarded
from webapp.tools import TOOLS, Tool

bp = guarded("playground")

_LONG = frozenset({"content", "notes"})


@dataclass(frozen=True, slots=True)
class Field:
    """One argument of a tool as a control of a form.

    `kind` is text, long, number, switch, choice, ticks, lines or json; `choices` are there for choice and ticks.
    """

    name: str
    kind: str
    required: bool
    about: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """One call and its answer: what was sent, the same as a command, the status and the body.

    The command is empty where nothing could be sent.
    """

    sent: dict[str, Any]
    curl: str
    status: int
    answer: str


@bp.get("/playground")
def index() -> Response:
    """Show the tools, the first of them open."""
    return _desk(next(iter(TOOLS.values())))


@bp.get("/playground/<name>")
def show(name: str) -> Response:
    """Show one tool."""
    return _desk(_tool(name))


@bp.post("/playground/<name>")
def call(name: str) -> Response:
    """Call the tool as an agent of this user would, record and all."""
    tool = _tool(name)
    require_scope(tool.scope)
    fields = fields_of(tool)
    given = arguments_of(request.form, fields)
    if broken := _broken(request.form, fields):
        # Sent as text it would be refused for what it is not, or taken for a name.
        said = json.dumps(_unfit(broken).get_json(), indent=2, ensure_ascii=False)
        return _desk(tool, Call(given, "", HTTPStatus.UNPROCESSABLE_ENTITY, said))
    response = _answer(tool, given)
    if response.status_code >= 400:
        session().rollback()
    said = json.dumps(response.get_json(), indent=2, ensure_ascii=False)
    return _desk(tool, Call(given, curl_of(request.root_url, tool.name, given), response.status_code, said))


def _answer(tool: Tool, given: dict[str, Any]) -> Response:
    wrong: ValidationError | None = None
    try:
        tool.arguments.model_validate(given)
    except ValidationError as error:
        wrong = error
    try:
        response = run_recorded(tool, given)
    except Exception as error:
        # As an agent gets it: a refusal as problem details; an error of ours goes on to the log.
        return _refusal(error)
    return response if wrong is None else _unfit(field_errors(wrong, tool.arguments))


def _refusal(error: Exception) -> Response:
    response = current_app.make_response(current_app.handle_user_exception(error))
    if response.is_json:
        return response
    return problem(HTTPStatus(response.status_code), str(error))


def _unfit(found: list[dict[str, str]]) -> Response:
    detail = "; ".join(f"{each['field']}: {each['message']}" for each in found[:3])
    return problem(HTTPStatus.UNPROCESSABLE_ENTITY, detail, errors=found)


def _tool(name: str) -> Tool:
    tool = TOOLS.get(name)
    if tool is None:
        abort(404, "there is no such tool")
    return tool


def _desk(tool: Tool, made: Call | None = None) -> Response:
    given = request.form if request.method == "POST" else MultiDict[str, str]()
    return render(
        "playground/index.html",
        "playground/_tool.html",
        tools=TOOLS.values(),
        tool=tool,
        fields=fields_of(tool),
        schema=json.dumps(tool.describe("plain"), indent=2),
        call=made,
        given=given,
    )


def fields_of(tool: Tool) -> list[Field]:
    """Return the controls for a tool's arguments, in the order of its schema."""
    schema = tool.arguments.model_json_schema()
    required = set(schema.get("required", ()))
    return [
        _field(name, about, name in required, schema.get("$defs", {}))
        for name, about in schema.get("properties", {}).items()
    ]


def _field(name: str, about: Mapping[str, Any], required: bool, shared: Mapping[str, Any]) -> Field:
    kinds = [_resolved(each, shared) for each in about.get("anyOf", [about])]
    shapes = [each for each in kinds if each.get("type") != "null"]
    # What may be an object is written as one, or as the name that stands for it.
    shape = next((each for each in shapes if each.get("type") == "object"), shapes[0] if shapes else {})
    text = about.get("description") or shape.get("description") or ""
    if "enum" in shape:
        return Field(name, "choice", required, text, tuple(map(str, shape["enum"])))
    if shape.get("type") == "array":
        inner = _resolved(shape.get("items", {}), shared)
        if "enum" in inner:
            return Field(name, "ticks", required, text, tuple(map(str, inner["enum"])))
        return Field(name, "lines" if inner.get("type") == "string" else "json", required, text)
    kind = {"boolean": "switch", "integer": "number", "number": "number", "object": "json"}.get(shape.get("type", ""))
    return Field(name, kind or ("long" if name in _LONG else "text"), required, text)


def _resolved(shape: Mapping[str, Any], shared: Mapping[str, Any]) -> Mapping[str, Any]:
    name = str(shape.get("$ref", "")).rpartition("/")[2]
    return shared.get(name, shape) if name else shape


def arguments_of(form: MultiDict[str, str], fields: list[Field]) -> dict[str, Any]:
    """Return what a form says as the tool's arguments; what is left blank is left out, what does not fit stays text."""
    given = {}
    for field in fields:
        value = _value(field, form)
        if value is not None and value not in ("", []):
            given[field.name] = value
    return given


def _value(field: Field, form: MultiDict[str, str]) -> Any:
    said = by_lines(form.get(field.name, "")).strip()
    if field.kind == "ticks":
        return form.getlist(field.name)
    if field.kind == "switch":
        return {"true": True, "false": False}.get(said)
    if field.kind == "lines":
        return [line.strip() for line in said.split("\n") if line.strip()]
    if field.kind in {"number", "json"} and said:
        try:
            return _read(said)
        except ValueError:
            return said
    return said


def _read(said: str) -> Any:
    """Return what is written as JSON; raises `ValueError` also where nobody could send or show it."""
    try:
        value = json.loads(said)
        json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except UnicodeEncodeError:
        raise ValueError("it has half a surrogate pair") from None
    return value


def _broken(form: MultiDict[str, str], fields: list[Field]) -> list[dict[str, str]]:
    """Return what was meant as JSON and is none; a name alone may stand for an object."""
    found = []
    for field in fields:
        said = form.get(field.name, "").strip()
        if field.kind == "json" and said.startswith(("{", "[")):
            try:
                _read(said)
            except ValueError as error:
                found.append({"field": field.name, "message": f"is not valid JSON: {error}"})
    return found


def curl_of(address: str, name: str, given: dict[str, Any]) -> str:
    """Return the call as a command for a shell, with the token in a variable."""
    body = shlex.quote(json.dumps(given, ensure_ascii=False))
    return (
        f"curl -X POST {shlex.quote(f'{address}v1/tools/{name}')} \\\n"
        '  -H "Authorization: Bearer $COMMONPLACE_TOKEN" \\\n'
        "  -H 'Content-Type: application/json' \\\n"
        f"  -d {body}"
    )
