"""Every refusal and failure as RFC 9457 problem details for programs, as a page for people. One place."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from http import HTTPStatus
from typing import Any

from flask import (
    Flask,
    Response,
    current_app,
    g,
    has_request_context,
    jsonify,
    make_response,
    render_template,
    request,
)
from gunicorn.http.errors import ParseException
from psycopg import errors as pg
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from sqlalchemy import event
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.orm import Session
from werkzeug.exceptions import ClientDisconnected, HTTPException, MethodNotAllowed, NotFound, RequestEntityTooLarge

from memory.errors import ConflictError, DomainError, InvalidError, NotFoundError, RefusedError
from retrieval.policy import PolicyError
from webapp.context import elapsed, request_id
from webapp.extensions import db
from webapp.fields import fields_beside, taken_by
from webapp.htmx import above_the_page
from webapp.plain import in_words

logger = logging.getLogger(__name__)

PROBLEM_TYPE = "application/problem+json"
# What is raised where the database is away, or cannot do what it is asked now.
AWAY = (OperationalError, InterfaceError, PoolTimeoutError)
# What is wrong with the body as a whole, where no other field of it is named.
_OF_THE_BODY = {HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNSUPPORTED_MEDIA_TYPE}
# What agents ask before they answer finds nothing, rather than fails, when the database is away: they must go on.
_NOTHING_FOUND = {"results": [], "count": 0, "truncated": False, "token_count": 0, "timings": {}}
FAIL_CLOSED: dict[str, dict[str, Any]] = {
    "/v1/tools/memory_search": _NOTHING_FOUND,
    "/v1/tools/episode_search": _NOTHING_FOUND,
    "/v1/tools/entity_search": _NOTHING_FOUND,
    "/v1/tools/fact_search": {"facts": [], "more": False},
    "/v1/tools/query_memory": {"memories": [], "metadata": {"count": 0, "truncated": False}},
    "/v1/tools/memory_list_themes": {"themes": []},
    "/v1/memory/prompt": {"prompt": "", "token_count": 0},
    "/v1/preferences/prompt": {"prompt": "", "token_count": 0, "version": None},
    "/v1/memory/context": {"context": "", "token_count": 0, "count": 0, "facts": 0, "truncated": False},
}

_STATUS: dict[type[DomainError], HTTPStatus] = {
    NotFoundError: HTTPStatus.NOT_FOUND,
    InvalidError: HTTPStatus.UNPROCESSABLE_ENTITY,
    ConflictError: HTTPStatus.CONFLICT,
    RefusedError: HTTPStatus.CONFLICT,
}

# So many fields are told to be wrong: each value of a body may be, and the answer would be many times as long.
MOST_TOLD = 100
# After so long anybody may ask again, however slowly a request came in.
_LONGEST_PAUSE = 300  # seconds

_NOTHING_HERE = "there is nothing at this address"

# Why a database that is there cannot do what it is asked.
_UNABLE: dict[type[pg.Error], str] = {
    pg.DiskFull: "the disk of the database is full",
    pg.DeadlockDetected: "another request changed the same thing at the same moment",
    pg.SerializationFailure: "another request changed the same thing at the same moment",
    pg.LockNotAvailable: "another request holds the same thing",
    pg.QueryCanceled: "this takes the database too long",
}


def problem(status: HTTPStatus, detail: str, **more: Any) -> Response:
    """Return problem details (RFC 9457) with our request id; `errors` lists {field, message}."""
    if status in _OF_THE_BODY:
        more = {"errors": [{"field": "body", "message": detail}], **more}
    instance = request.root_path + request.path
    response = make_response(jsonify({**problem_details(status, detail, instance, request_id()), **more}), status)
    response.mimetype = PROBLEM_TYPE
    # No cache may keep an error: it names the id of one request, and what is not there now may be there a moment later.
    response.headers["Cache-Control"] = "no-store"
    return response


def problem_details(status: HTTPStatus, detail: str, instance: str, request: str) -> dict[str, Any]:
    """Return what every problem says; `instance` is the path, empty where it is not known, and `request` the id."""
    return {
        "type": "about:blank",
        "title": status.phrase,
        "status": status.value,
        "detail": detail,
        "instance": instance,
        "request_id": request,
    }


def answer(status: HTTPStatus, detail: str, **more: Any) -> Response:
    """Return a problem to programs and a page to people."""
    if _asks_a_program():
        return problem(status, detail, **more)
    page = render_template("errors/error.html", status=status, detail=detail, request_id=request_id(), back=_back())
    return above_the_page(make_response(page, status))


def _asks_a_program() -> bool:
    if f"{request.path}/".startswith(("/v1/", "/mcp/", "/metrics/")):
        return True
    return request.accept_mimetypes.best == "application/json"


def _back() -> str:
    """Return the page of ours that led here, empty where none did."""
    came_from = request.referrer or ""
    return came_from if came_from.startswith(request.root_url) and came_from != request.url else ""


def field_errors(error: ValidationError, schema: type[BaseModel] | None) -> list[dict[str, str]]:
    """Return the first of pydantic's findings as {field, message}, the field as a dotted path.

    With an unknown one all are told that there are by the schema: a model that calls a tool sees nothing but this.
    """
    return [
        {
            "field": ".".join(str(part) for part in found["loc"]) or "body",
            "message": _message(found, fields_beside(schema, found["loc"])),
        }
        for found in error.errors(include_url=False)[:MOST_TOLD]
    ]


def _message(found: Mapping[str, Any], takes: Mapping[str, FieldInfo] | None) -> str:
    """Return what is wrong, in words of our own where pydantic's speak of how it validates."""
    said = found.get("ctx", {})
    match found["type"]:
        case "extra_forbidden":
            return f"is not taken here{_instead(takes)}"
        case "missing":
            return f"{found['msg']}{_about((takes or {}).get(str(found['loc'][-1])))}"
        case "list_type":
            return "must be a list"
        case "uuid_parsing" | "uuid_type":
            return "must be an id of ours, whole, as an answer has it"
        case "too_long":
            return f"must have at most {_so_many(said['max_length'], found)}, not {said['actual_length']}"
        case "too_short":
            return f"must have at least {_so_many(said['min_length'], found)}, not {said['actual_length']}"
        case "model_type" | "dict_type":
            return "must be a JSON object"
        case "string_unicode":
            return "is not valid Unicode text"
        case "value_error":
            return str(said["error"])
        case _:
            return str(found["msg"])


def _instead(takes: Collection[str] | None) -> str:
    """Say which fields there are, where that is known."""
    return "" if takes is None else f"; there {'is' if len(takes) == 1 else 'are'} {', '.join(takes) or 'none'}"


def _about(wanted: FieldInfo | None) -> str:
    """Say what a field that was left out is, where its description does."""
    return f": {wanted.description}" if wanted is not None and wanted.description else ""


def _so_many(number: int, found: Mapping[str, Any]) -> str:
    """Say how many of what a value must have: of a text its characters, of a list what the field is called after."""
    unit = "character" if number == 1 else "characters"
    return f"{number} {unit}" if isinstance(found["input"], str) else str(number)


def invalid_request(error: ValidationError, schema: type[BaseModel] | None = None) -> Response:
    """Answer a request whose fields do not fit the schema, without one that of the view which has the error's name."""
    if not _asks_a_program():
        return answer(HTTPStatus.UNPROCESSABLE_ENTITY, in_words(error))
    errors = field_errors(error, schema or _schema_of(error))
    detail = "; ".join(f"{found['field']}: {found['message']}" for found in errors[:3])
    return answer(HTTPStatus.UNPROCESSABLE_ENTITY, detail, errors=errors)


def _schema_of(error: ValidationError) -> type[BaseModel] | None:
    view = current_app.view_functions.get(request.endpoint or "")
    taken = taken_by(view).values() if view is not None else ()
    return next((each for each in taken if getattr(each, "__name__", "") == error.title), None)


def init_app(app: Flask) -> None:
    """Map exceptions to answers."""
    app.register_error_handler(DomainError, refused)
    app.register_error_handler(PolicyError, _policy)
    app.register_error_handler(ValidationError, invalid_request)
    app.register_error_handler(IntegrityError, _integrity)
    app.register_error_handler(DataError, _unstorable)
    app.register_error_handler(ParseException, _unreadable)
    app.register_error_handler(ClientDisconnected, _cut_off)
    for away in AWAY:
        app.register_error_handler(away, database_away)
    app.register_error_handler(HTTPException, _http)
    app.register_error_handler(Exception, _unexpected)
    app.after_request(_redirect)
    # Registered after Flask-SQLAlchemy, so that it runs before what that does at the end of a request.
    app.teardown_appcontext(_end)


@event.listens_for(Session, "before_commit")
def _committing(session: Session) -> None:
    """Note that a request has asked for a commit. This is called for savepoints too, which are none."""
    if has_request_context() and not session.in_nested_transaction():
        g.committing = True


def _roll_back() -> None:
    """Undo what the request has begun; where the connection is lost, the database has done so by itself."""
    try:
        db.session.rollback()
    except SQLAlchemyError as error:
        logger.warning("the connection was lost: %s", type(error).__name__)


def _end(_error: BaseException | None) -> None:
    """Give the connection back. If it is lost, that must not fail a request that has its answer."""
    if db.session.registry.has():
        _roll_back()


def refused(error: DomainError) -> Response:
    """Undo what the request has begun, and answer what the domain refuses."""
    _roll_back()
    status = next(status for kind, status in _STATUS.items() if isinstance(error, kind))
    more: dict[str, Any] = {}
    if isinstance(error, InvalidError | ConflictError) and error.field:
        more["errors"] = [{"field": error.field, "message": error.message}]
    if isinstance(error, RefusedError):
        more["reason"] = error.reason
    return answer(status, str(error), **more)


def _policy(error: PolicyError) -> Response:
    _roll_back()
    found = [{"field": f"policy.{error.field}", "message": error.message}]
    return answer(HTTPStatus.UNPROCESSABLE_ENTITY, f"policy.{error}", errors=found)


def _integrity(error: IntegrityError) -> Response:
    _roll_back()
    logger.warning("a constraint refused a write: %s", type(error.orig).__name__)
    return answer(HTTPStatus.CONFLICT, "another request changed the same thing at the same moment; nothing was stored")


def _unstorable(error: DataError) -> Response:
    """Answer what slipped through the checks of fields: a value that no column can hold."""
    _roll_back()
    logger.warning("the database refused a value: %s", type(error.orig).__name__)
    return answer(HTTPStatus.UNPROCESSABLE_ENTITY, "a value cannot be stored; nothing was changed")


def database_away(error: SQLAlchemyError) -> Response:
    """Answer that the database is away; what agents ask before they answer is told that there is nothing."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    unable = next((said for kind, said in _UNABLE.items() if isinstance(cause, kind)), None)
    logger.error("the database %s: %s", "is away" if unable is None else "cannot do this now", type(cause).__name__)
    db.session.remove()
    asked = g.get("asked_as", request.path.rstrip("/"))
    if asked in FAIL_CLOSED:
        return make_response(jsonify({**FAIL_CLOSED[asked], "error": True, "degraded": ["database"]}))
    # After a commit without an answer nobody knows whether it was one; an error after a commit takes nothing back.
    fate = "whether this was stored is not known" if g.get("committing") else "nothing was stored"
    response = answer(HTTPStatus.SERVICE_UNAVAILABLE, f"{unable or 'the database does not answer'}; {fate}")
    # A client whose request takes the database minutes is not to send it again at once.
    response.headers["Retry-After"] = str(min(max(2, int(elapsed())), _LONGEST_PAUSE))
    return response


def _unreadable(error: ParseException) -> Response:
    """Answer a body in chunks that are none; what they are is not quoted in the log."""
    _roll_back()
    logger.warning("a body could not be read: %s", type(error).__name__)
    return answer(HTTPStatus.BAD_REQUEST, "the body is not sent in valid chunks")


def _cut_off(_error: ClientDisconnected) -> Response:
    """Answer a body that ended before its end, to whoever may still be there to read it."""
    _roll_back()
    return answer(HTTPStatus.BAD_REQUEST, "the body was cut off; nothing was done")


def _http(error: HTTPException) -> Response:
    if error.response is not None:
        return make_response(error.response)
    unknown = isinstance(error, NotFound) and request.routing_exception is not None
    detail = _NOTHING_HERE if unknown else error.description or ""
    if unknown and _asks_a_program():
        detail = f"{detail}; {request.root_path}/v1/openapi.json has all there are, and an id in one must be whole"
    if isinstance(error, RequestEntityTooLarge):
        detail = f"this is more than is taken at once, which is at most {request.max_content_length:,} bytes"
    allowed = sorted(error.valid_methods or ()) if isinstance(error, MethodNotAllowed) else []
    if allowed:
        detail = f"{request.method} is not taken here; there are {', '.join(allowed)}"
    response = answer(HTTPStatus(error.code or 500), detail)
    if allowed:
        response.headers["Allow"] = ", ".join(allowed)
    return response


def _redirect(response: Response) -> Response:
    """Answer programs with problem details where the routing redirects them to another spelling of the address."""
    if response.status_code != HTTPStatus.PERMANENT_REDIRECT or not _asks_a_program():
        return response
    found = problem(HTTPStatus.PERMANENT_REDIRECT, "this address is spelled otherwise: see Location")
    # Only the body is replaced: by now the response has headers, such as those that protect it.
    response.data = found.data
    response.mimetype = PROBLEM_TYPE
    response.headers["Cache-Control"] = found.headers["Cache-Control"]
    return response


def _unexpected(_error: Exception) -> Response:
    logger.exception("unexpected error")
    _roll_back()
    return answer(HTTPStatus.INTERNAL_SERVER_ERROR, "something went wrong on our side; the log has the request id")
