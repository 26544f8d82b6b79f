"""How every part of the interface is made: the same guards, tags and documented problems."""

from __future__ import annotations

from contextlib import suppress
from http import HTTPStatus
from typing import Any

from flask import Blueprint, Response, g
from flask_openapi3.blueprint import APIBlueprint
from flask_openapi3.models.parameter import Parameter
from flask_openapi3.models.response import Response as Answer
from flask_openapi3.models.tag import Tag
from flask_openapi3.openapi import OpenAPI
from flask_openapi3.utils import parse_rule
from pydantic import BaseModel
from sqlalchemy.exc import SQLAlchemyError

from memory.errors import InvalidError, NotFoundError
from webapp.advice import with_spaces
from webapp.context import session
from webapp.errors import refused
from webapp.given_once import query_required_once
from webapp.guards import (
    bearer_required,
    headers_of,
    keep_last_use,
    object_required,
    place_required,
    scope_required,
    take_small_body,
)
from webapp.headers import ABOUT, CONVERSATION_HEADER, MESSAGE_HEADER

PROBLEMS = {
    "400": "The body is not valid JSON",
    "401": "No valid bearer token",
    "403": "The token lacks the scope",
    "404": "There is no such thing, or it is not yours",
    "409": "The state of things, or a switch, forbids it",
    "413": "The body is too large",
    "414": "The address is too long",
    "415": "The body is not declared as JSON",
    "422": "A field does not fit",
    "431": "The headers are too long",
    "503": "The database does not answer, or cannot do this now",
}


_NAME: dict[str, Any] = {"type": "string"}
_ID: dict[str, Any] = {"type": "string", "format": "uuid"}
_OBJECT = {"application/json": {"schema": {"type": "object"}}}


def describe_success(app: OpenAPI) -> None:
    """Describe as 200, an object and no more, what an operation answers that does not say it itself."""
    for item in app.paths.values():
        for method in ("get", "post", "put", "patch", "delete"):
            operation = getattr(item, method)
            if operation is not None and not any(status.startswith("2") for status in operation.responses):
                told = operation.description or operation.summary
                done = Answer.model_validate({"description": told, "content": _OBJECT})
                operation.responses = {"200": done, **operation.responses}


def describe_headers(app: OpenAPI) -> None:
    """Describe the headers of ours on each operation that reads them."""
    app.components.parameters = {
        name: Parameter.model_validate(
            {
                "name": name,
                "in": "header",
                "description": about,
                "schema": _ID if name in {CONVERSATION_HEADER, MESSAGE_HEADER} else _NAME,
            }
        )
        for name, about in ABOUT.items()
    }
    for rule in app.url_map.iter_rules():
        item = app.paths.get(parse_rule(rule.rule))
        for method in rule.methods or ():
            operation = getattr(item, method.lower(), None)
            if operation is not None and operation.security:
                read = headers_of(app.view_functions[rule.endpoint])
                operation.parameters = [*(operation.parameters or ()), *map(_parameter_of, read)]


def api_blueprint(name: str, description: str, url_prefix: str) -> APIBlueprint:
    """Return a blueprint behind a bearer token, whose endpoints each name a scope."""
    bp = APIBlueprint(
        f"api_{name}",
        __name__,
        url_prefix=url_prefix,
        abp_tags=[Tag(name=name, description=description)],
        abp_security=[{"bearer": []}],
        abp_responses={status: _documented(text) for status, text in PROBLEMS.items()},
    )
    guards = (take_small_body, bearer_required, scope_required, query_required_once, object_required, place_required)
    for guard in guards:
        bp.before_request(guard)
    answers_alike(bp)
    return bp


def answers_alike(bp: Blueprint) -> None:
    """Let a blueprint answer errors, and say what caches and callers are to do, as all of the interface does."""
    bp.after_request(keep_last_use)
    for kind in (InvalidError, NotFoundError):
        bp.register_error_handler(kind, _advised)
    bp.after_request(_keep_private)
    bp.after_request(_say_when)


def new_or_known(answer: type[BaseModel]) -> dict[str | int | HTTPStatus, type[BaseModel] | dict[Any, Any] | None]:
    """Return the description of an endpoint that answers 201 when something is new, 200 when all of it was known."""
    known = {"description": "All of it was known", "content": {"application/json": _of(answer.__name__)}}
    return {"201": answer, "200": known}


def refusing(answer: type[BaseModel]) -> dict[str, Any]:
    """Return the description of a 409 that may also be an answer, which says what was refused and why."""
    found = _documented(PROBLEMS["409"])
    found["content"]["application/json"] = _of(answer.__name__)
    return found


def _documented(text: str) -> dict[str, Any]:
    return {"description": text, "content": {"application/problem+json": _of("Problem")}}


def _of(name: str) -> dict[str, Any]:
    return {"schema": {"$ref": f"#/components/schemas/{name}"}}


def _parameter_of(name: str) -> Parameter:
    # Unchecked: the library's operations hold whole parameters alone, and a `Reference` would be written as {}.
    return Parameter.model_construct(**{"$ref": f"#/components/parameters/{name}"})  # type: ignore[arg-type]


def _advised(error: InvalidError | NotFoundError) -> Response:
    # Without a database the error is told without advice.
    with suppress(SQLAlchemyError):
        session().rollback()
        error = with_spaces(error)
    return refused(error)


def _keep_private(response: Response) -> Response:
    """Keep memories out of every cache on the way."""
    response.headers.setdefault("Cache-Control", "no-store")
    return response


def _say_when(response: Response) -> Response:
    """Say when to ask again where a search was not made because it was one too many."""
    if "retry_after" in g:
        response.headers["Retry-After"] = str(g.retry_after)
    return response
