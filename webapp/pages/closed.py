"""The page in the place of what is not shown while incognito is on."""

from __future__ import annotations

from flask import Response

from webapp.htmx import render


def closed_page() -> Response:
    """Say that nothing is shown: the whole page, or the fragment that htmx asked for."""
    return render("memories/closed.html", "memories/_closed.html")
