"""How every part of the interface is made: the same guards, tags and documented problems."""

from __future__ import annotations

from typing import Any

from flask import Response
from flask_openapi3.blueprint import APIBlueprint
from flask_openapi3.models.tag import Tag

from webapp.guards import bearer_required, keep_last_use, object_required, scope_required

PROBLEMS = {
    "400": "The body is not valid JSON",
    "401": "No valid bearer token",
    "403": "The token lacks the scope",
    "404": "There is no such thing, or it is not yours",
    "409": "The state of things, or a switch, forbids it",
    "413": "The body is too large",
    "415": "The body is not declared as JSON",
    "422": "A field does not fit",
    "503": "The database does not answer",
}


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
    for guard in (bearer_required, scope_required, object_required):
        bp.before_request(guard)
    bp.after_request(keep_last_use)
    bp.after_request(_keep_private)
    return bp


def _documented(text: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Problem"}
    return {"description": text, "content": {"application/problem+json": {"schema": schema}}}


def _keep_private(response: Response) -> Response:
    """Keep memories out of every cache on the way."""
    response.headers.setdefault("Cache-Control", "no-store")
    return response
