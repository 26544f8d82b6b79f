"""Light, dark, or as the system is: kept in a cookie, so that a page comes in the right colours at once."""

from __future__ import annotations

from flask import Blueprint, Response, request, url_for
from werkzeug.http import dump_cookie

from memory.errors import InvalidError
from webapp.htmx import see_other
from webapp.pages.visitor import local_path

bp = Blueprint("appearance", __name__)

COOKIE = "appearance"
CHOICES = ("auto", "light", "dark")
_YEAR = 60 * 60 * 24 * 365


def chosen() -> str:
    """Return this browser's choice."""
    value = request.cookies.get(COOKIE, "")
    return value if value in CHOICES else "auto"


def cookie(value: str = "") -> str:
    """Return the cookie that keeps a choice, with all that is said of it."""
    path, secure = url_for("notebook.home"), request.is_secure
    return dump_cookie(COOKIE, value, max_age=_YEAR, path=path, samesite="Lax", secure=secure, sync_expires=False)


@bp.post("/appearance")
def choose() -> Response:
    """Keep the choice; a script does the same without asking the server."""
    value = request.form.get("appearance", "")
    if value not in CHOICES:
        raise InvalidError("appearance", f"must be one of {', '.join(CHOICES)}")
    to = local_path(request.form.get("next"), url_for("notebook.home"))
    response = see_other(to)
    response.headers.add("Set-Cookie", cookie(value))
    return response
