"""From which list of memories, and which page of it, a memory's own pages were come to: their addresses say so."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

from flask import request, url_for
from pydantic import ValidationError
from werkzeug.datastructures import MultiDict

from webapp.htmx import current_page
from webapp.pages.forms import BrowseForm, parse


def place_here() -> dict[str, Any]:
    """Return what the address of this page says of the list."""
    return _place_in(request.args)


def place_before() -> dict[str, Any]:
    """Return what the address of the page says that a form was sent from."""
    path, _, query = current_page().partition("?")
    memories = url_for("browse.index")
    return _place_in(MultiDict(parse_qsl(query))) if f"{path}/".startswith(f"{memories}/") else {}


def _place_in(query: MultiDict[str, str]) -> dict[str, Any]:
    try:
        return parse(BrowseForm, query).place
    except ValidationError:
        # Somebody wrote it by hand: it leads to the list as it is.
        return {}
