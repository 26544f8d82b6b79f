"""How every part of the interface is made: the same guard, tags and documented problems."""

from __future__ import annotations

from flask_openapi3.blueprint import APIBlueprint
from flask_openapi3.models.tag import Tag

from webapp.api.schemas import Problem
from webapp.guards import bearer_required


def api_blueprint(name: str, description: str, url_prefix: str) -> APIBlueprint:
    """Return a blueprint behind a bearer token."""
    bp = APIBlueprint(
        f"api_{name}",
        __name__,
        url_prefix=url_prefix,
        abp_tags=[Tag(name=name, description=description)],
        abp_security=[{"bearer": []}],
        abp_responses={"401": Problem, "403": Problem, "409": Problem, "422": Problem, "503": Problem},
    )
    bp.before_request(bearer_required)
    return bp
