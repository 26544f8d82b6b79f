"""`/mcp`: the tools by the Model Context Protocol over HTTP. Every message is a request of its own, answered in JSON.

Clients of its older revisions begin with `initialize`; those of 2026-07-28 say in each message what they speak. Nothing
is kept between two messages.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Literal, cast

from flask import Blueprint, Response, abort, current_app, g, json, jsonify, make_response, request
from flask_openapi3.openapi import OpenAPI
from pydantic import BaseModel, StrictInt, StrictStr, ValidationError
from sqlalchemy.exc import SQLAlchemyError
from werkzeug.exceptions import MethodNotAllowed

from memory.errors import DomainError, InvalidError
from webapp.api import memory, preferences
from webapp.api.blueprint import answers_alike
from webapp.api.tools import NO_TOOL, callable_tools, run_allowed
from webapp.errors import AWAY, PROBLEM_TYPE, database_away, field_errors, problem
from webapp.given_once import query_required_once, read_json
from webapp.guards import (
    ANY,
    bearer_required,
    body_required,
    is_big,
    keep_use,
    may_read,
    needs,
    scope_required,
    take_small_body,
)
from webapp.recording import place_of_request
from webapp.this_machine import comes_from_here, names_this_machine
from webapp.tools import TOOLS
from webapp.tools.brief import brief

STATELESS = ("2026-07-28",)
# What is used of them here is alike in all of these.
BY_HANDSHAKE = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
SPOKEN = (*STATELESS, *BY_HANDSHAKE)

_META = "io.modelcontextprotocol/"
_VERSION, _METHOD, _NAME = "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"

NOT_JSON = -32700
NO_MESSAGE = -32600
NO_METHOD = -32601
BAD_PARAMS = -32602
BROKEN = -32603
OTHER_HEADER = -32020
NOT_SPOKEN = -32022

# What clients tell who gave them no token, or one that is not valid, and would log in otherwise.
_NO_LOGIN = (
    "there is no login by OAuth here: have the client send a token, made on the page Tokens or by commonplace token "
    "create, as Authorization: Bearer cp_..."
)

bp = Blueprint("mcp", __name__)
# Where clients ask for an account of OAuth, before they have any token.
login = Blueprint("mcp_login", __name__)


@bp.before_request
def _refuse_other_pages() -> None:
    """Refuse a page whose own name was made to lead to this machine (DNS rebinding), with whatever token it has.

    Pages of other sites under their own addresses are refused as everywhere.
    """
    if "Origin" in request.headers and comes_from_here() and not names_this_machine(request.host):
        abort(problem(HTTPStatus.FORBIDDEN, "this request came from another site"))


for _guard in (take_small_body, bearer_required, scope_required, query_required_once, body_required):
    bp.before_request(_guard)
answers_alike(bp)


@bp.after_request
def _as_error(response: Response) -> Response:
    """Put what was refused before the message was read as an error of JSON-RPC: some clients tell nothing else."""
    if request.method == "POST" and response.mimetype == PROBLEM_TYPE:
        found = json.loads(response.get_data())
        code = NO_MESSAGE if response.status_code < HTTPStatus.INTERNAL_SERVER_ERROR else BROKEN
        error = {"code": code, "message": found["detail"], "data": found}
        response.data = json.dumps({"jsonrpc": "2.0", "id": None, "error": error})
        response.mimetype = "application/json"
    return response


class Message(BaseModel):
    """A request, or a notification where it has no `id`."""

    jsonrpc: Literal["2.0"]
    method: StrictStr
    id: StrictInt | StrictStr = ""
    params: dict[str, Any] | None = None

    @property
    def is_request(self) -> bool:
        """Tell whether the sender waits for an answer."""
        return "id" in self.model_fields_set

    @property
    def given(self) -> dict[str, Any]:
        """Return the parameters."""
        return self.params or {}

    @property
    def said(self) -> dict[str, Any]:
        """Return what a message says of itself."""
        meta = self.given.get("_meta")
        return meta if isinstance(meta, dict) else {}


class Call(BaseModel):
    """A tool's name, and what it is called with."""

    name: StrictStr
    arguments: dict[str, Any] | None = None


class MessageError(Exception):
    """What is wrong with a message as such, in the terms of JSON-RPC."""

    def __init__(self, code: int, text: str, status: HTTPStatus = HTTPStatus.BAD_REQUEST, **data: Any) -> None:
        super().__init__(text)
        self.status = status
        self.said = {"code": code, "message": text, **({"data": data} if data else {})}


@bp.post("/mcp", provide_automatic_options=False)
@needs(ANY)
def post() -> Response:
    """Answer one message; a tool is called as by `POST /v1/tools/NAME`."""
    if request.mimetype != "application/json":
        abort(problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send the body with Content-Type: application/json"))
    if request.accept_mimetypes and not request.accept_mimetypes.accept_json:
        abort(problem(HTTPStatus.NOT_ACCEPTABLE, "the answer is application/json, which Accept leaves out"))
    message = None
    try:
        message = _read()
        stateless = _is_stateless(message)
        if not message.is_request:
            keep_use()
            taken = Response(status=HTTPStatus.ACCEPTED)
            del taken.headers["Content-Type"]
            return taken
        return _told(message, _result_of(message, stateless=stateless), stateless=stateless)
    except MessageError as error:
        asked = message.id if message is not None and message.is_request else None
        return make_response(jsonify({"jsonrpc": "2.0", "id": asked, "error": error.said}), error.status)


@bp.route("/mcp", methods=["GET", "DELETE", "PUT", "PATCH", "OPTIONS"])
@needs(ANY)
def other() -> Response:
    """Refuse what is no message, once the token is known: some clients tell the status of this alone."""
    if request.method == "OPTIONS":
        return Response(headers={"Allow": "OPTIONS, POST"})
    raise MethodNotAllowed(valid_methods=["POST"])


@login.post("/register")
def register() -> Response:
    """Tell a client what to do instead, as RFC 7591 puts an error and as the rest of the interface does."""
    return problem(HTTPStatus.NOT_FOUND, _NO_LOGIN, error="access_denied", error_description=_NO_LOGIN)


def _read() -> Message:
    """Return the message that the body is; raises `MessageError`."""
    try:
        body = read_json(request.get_data())
    except (ValueError, RecursionError):
        raise MessageError(NOT_JSON, "the body is not valid JSON in UTF-8") from None
    except InvalidError as error:
        raise MessageError(NO_MESSAGE, str(error)) from None
    if isinstance(body, list):
        raise MessageError(NO_MESSAGE, "send one message in a request: batches are not taken")
    try:
        return Message.model_validate(body)
    except ValidationError as error:
        raise MessageError(NO_MESSAGE, f"not a request of JSON-RPC 2.0: {_wrong(error)}") from None


def _wrong(error: ValidationError) -> str:
    return "; ".join(f"{each['field']}: {each['message']}" for each in field_errors(error, None)[:3])


def _is_stateless(message: Message) -> bool:
    """Tell whether a message speaks a revision without a handshake; raises `MessageError` for one not spoken here."""
    named, header = message.said.get(f"{_META}protocolVersion"), request.headers.get(_VERSION)
    if message.method == "initialize" or (named is None and header in {None, *BY_HANDSHAKE}):
        return False
    if message.is_request and named != header and (named is not None or header in STATELESS):
        raise MessageError(OTHER_HEADER, f"the header {_VERSION} and _meta of params do not say the same")
    version = header if named is None else named
    if version not in STATELESS:
        told = f"this revision is not spoken here; there are {', '.join(SPOKEN)}"
        raise MessageError(NOT_SPOKEN, told, supported=list(SPOKEN), requested=version)
    if message.is_request:
        _check_headers(message)
    return True


def _check_headers(message: Message) -> None:
    """Refuse a message that something on its way, which reads the headers alone, would take for another."""
    if not isinstance(message.said.get(f"{_META}clientCapabilities"), dict):
        raise MessageError(BAD_PARAMS, f"params: _meta must have {_META}clientCapabilities")
    if request.headers.get(_METHOD) != message.method:
        raise MessageError(OTHER_HEADER, f"the header {_METHOD} does not say the method of the message")
    if message.method == "tools/call" and _plain(request.headers.get(_NAME)) != message.given.get("name"):
        raise MessageError(OTHER_HEADER, f"the header {_NAME} does not say the name in params")


def _plain(header: str | None) -> str | None:
    """Return what a header says, which may be written in Base64."""
    if header is None or not (header.startswith("=?base64?") and header.endswith("?=")):
        return header
    try:
        return base64.b64decode(header[9:-2], validate=True).decode()
    except ValueError:
        return None


def _result_of(message: Message, *, stateless: bool) -> dict[str, Any]:
    methods = _STATELESS_METHODS if stateless else _METHODS
    method = methods.get(message.method)
    if method is None:
        status = HTTPStatus.NOT_FOUND if stateless else HTTPStatus.OK
        raise MessageError(NO_METHOD, f"there is no such method; there are {', '.join(methods)}", status)
    wrong = HTTPStatus.BAD_REQUEST if stateless else HTTPStatus.OK
    try:
        return method(message.given)
    except ValidationError as error:
        raise MessageError(BAD_PARAMS, f"params: {_wrong(error)}", wrong) from None
    except DomainError as error:
        # As the rest of the interface puts it: which spaces there are, where a header names none.
        refusal: Any = make_response(current_app.handle_user_exception(error)).json
        raise MessageError(BAD_PARAMS, refusal["detail"], wrong) from None


def _told(message: Message, result: dict[str, Any], *, stateless: bool) -> Response:
    if stateless:
        result = {"resultType": "complete", **result, "_meta": {f"{_META}serverInfo": _server()}}
    return jsonify({"jsonrpc": "2.0", "id": message.id, "result": result})


def _server() -> dict[str, str]:
    version = cast(OpenAPI, current_app).info.version
    return {"name": "commonplace", "title": "Commonplace", "version": version}


def _instructions() -> str:
    """Return when to use the tools, and how the user likes things done; nothing for a token that may not read."""
    place_of_request()
    if not may_read():
        return ""
    told = [memory.told_in_prompt(None)["prompt"], preferences.told_in_prompt()["prompt"]]
    return "\n\n".join(filter(None, told))


def _initialized(params: dict[str, Any]) -> dict[str, Any]:
    asked, told = params.get("protocolVersion"), _instructions()
    keep_use()
    return {
        "protocolVersion": asked if asked in BY_HANDSHAKE else BY_HANDSHAKE[0],
        "capabilities": {"tools": {}},
        "serverInfo": _server(),
        **({"instructions": told} if told else {}),
    }


def _discovered(_params: dict[str, Any]) -> dict[str, Any]:
    told = _instructions()
    keep_use()
    return {
        "supportedVersions": list(SPOKEN),
        "capabilities": {"tools": {}},
        **({"instructions": told} if told else {}),
        **_NOT_TO_KEEP,
    }


# The instructions follow the themes, the preferences and incognito; tools are listed by what a token may do.
_NOT_TO_KEEP = {"ttlMs": 0, "cacheScope": "private"}


def _listed(params: dict[str, Any]) -> dict[str, Any]:
    if params.get("cursor") is not None:
        raise InvalidError("cursor", "is none of ours: all tools are on one page")
    keep_use()
    return {"tools": [tool.describe("mcp") for tool in callable_tools()]}


def _alive(_params: dict[str, Any]) -> dict[str, Any]:
    keep_use()
    return {}


def _called(params: dict[str, Any]) -> dict[str, Any]:
    call = Call.model_validate(params)
    tool = TOOLS.get(call.name)
    if tool is None:
        raise InvalidError("name", NO_TOOL)
    try:
        answer = run_allowed(tool, call.arguments or {})
    except AWAY:
        raise
    except Exception as error:
        # As `/v1` answers it, which logs what nobody expects.
        answer = make_response(current_app.handle_user_exception(error))
    return _of_tool(answer)


def _of_tool(answer: Response) -> dict[str, Any]:
    """Return what a model is given of an answer of `/v1/tools`: in short, and of a refusal what is wrong, in words."""
    failed = answer.status_code >= HTTPStatus.BAD_REQUEST
    found: Any = answer.json
    text = _refusal(found) if answer.mimetype == PROBLEM_TYPE else json.dumps(brief(found), separators=(",", ":"))
    return {"content": [{"type": "text", "text": text}], "isError": failed}


def _refusal(found: dict[str, Any]) -> str:
    # By its id the log says more of what is no fault of the model.
    ours = found["status"] >= HTTPStatus.INTERNAL_SERVER_ERROR
    return f"{found['detail']} (request {found['request_id']})" if ours else str(found["detail"])


_Method = Callable[[dict[str, Any]], dict[str, Any]]
_METHODS: dict[str, _Method] = {
    "initialize": _initialized,
    "ping": _alive,
    "tools/list": _listed,
    "tools/call": _called,
}
_STATELESS_METHODS: dict[str, _Method] = {
    "server/discover": _discovered,
    "tools/list": lambda params: {**_listed(params), **_NOT_TO_KEEP},
    "tools/call": _called,
}


def _away(error: SQLAlchemyError) -> Response:
    """Answer a tool without a database as `/v1` does, which is a result here, and the rest as a problem."""
    with suppress(MessageError, ValidationError):
        # A large body was not read before its sender is known.
        message = None if is_big() else _read()
        if message is not None and message.is_request and message.method == "tools/call":
            g.asked_as = f"/v1/tools/{Call.model_validate(message.given).name}"
            stateless = _is_stateless(message)
            return _told(message, _of_tool(database_away(error)), stateless=stateless)
    return database_away(error)


for _kind in AWAY:
    bp.register_error_handler(_kind, _away)
