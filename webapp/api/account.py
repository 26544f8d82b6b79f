"""`/v1/export`: everything that is kept of a user."""

from __future__ import annotations

from flask import Response

from memory.errors import RefusedError
from webapp.accounts import export_response
from webapp.api.blueprint import api_blueprint
from webapp.guards import needs, refuse_confined
from webapp.operations import incognito_spaces

bp = api_blueprint("account", "The account as a whole", "/v1/export")


@bp.get("", summary="Everything that is kept, as one JSON document")
@needs("read")
def export() -> Response:
    """Answer a download; what was forgotten is not in it.

    While a space is incognito by default in this session it is refused, as it would read that too.
    """
    refuse_confined("take everything along")
    if closed := incognito_spaces():
        detail = f"nothing is read of what is incognito by default: {', '.join(sorted(closed))}; end incognito first"
        raise RefusedError("incognito", detail)
    return export_response()
