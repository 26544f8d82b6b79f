"""What a memory's own pages were come to from, a page of the list or a search: their addresses say so."""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode

from flask import request, url_for
from pydantic import ValidationError
from werkzeug.datastructures import MultiDict

from webapp.htmx import current_page
from webapp.pages.forms import BrowseForm, SearchForm, parse

# A longer question has no room in the addresses of all that can be done to a memory.
_LONGEST = 1_000


class Way(NamedTuple):
    """Where a memory's own pages lead back to, and what that page is called."""

    url: str
    name: str


def place_here() -> dict[str, Any]:
    """Return what the address of this page says of the list, or the search."""
    return _place_in(request.args)


def place_before() -> dict[str, Any]:
    """Return what the address of the page says that a form was sent from."""
    path, _, query = current_page().partition("?")
    given = MultiDict(parse_qsl(query))
    if path == url_for("search.index"):
        return place_of(_searched(given))
    return _place_in(given) if f"{path}/".startswith(f"{url_for('browse.index')}/") else {}


def place_of(form: SearchForm | None) -> dict[str, Any]:
    """Return what leads back to a search."""
    asked = urlencode(form.chosen(), doseq=True) if form is not None else ""
    return {"asked": asked} if 0 < len(asked) <= _LONGEST else {}


def way_back(place: dict[str, Any]) -> Way:
    """Return what a place leads back to: the search, or else the list."""
    form = _searched(MultiDict(parse_qsl(place.get("asked", ""))))
    if form is not None and form.q:
        return Way(url_for("search.index", **form.chosen()), "Search")
    return Way(url_for("browse.index", **{name: place[name] for name in place if name != "asked"}), "Memories")


def _searched(query: MultiDict[str, str]) -> SearchForm | None:
    try:
        return parse(SearchForm, query)
    except ValidationError:
        return None


def _place_in(query: MultiDict[str, str]) -> dict[str, Any]:
    try:
        return parse(BrowseForm, query).place
    except ValidationError:
        # Somebody wrote it by hand: it leads to the list as it is.
        return {}
