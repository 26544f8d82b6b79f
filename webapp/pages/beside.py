"""What stands beside the memories of a list and changes with them: how many there are, what can be brought back."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

from flask import url_for
from pydantic import ValidationError
from werkzeug.datastructures import MultiDict

from memory.errors import InvalidError
from webapp.htmx import current_page
from webapp.operations import is_incognito, space_for
from webapp.pages.forms import BrowseForm, parse
from webapp.pages.queries import choices, listing
from webapp.pages.restorables import restorables

FRAGMENTS = ("memories/_count.html", "memories/_space.html", "memories/_restorables.html")


def beside_list() -> dict[str, Any]:
    """Return what `swap_or_go` needs to keep the list true that htmx shows; nothing for any other page."""
    path, _, query = current_page().partition("?")
    if path != url_for("browse.index"):
        return {}
    try:
        form = parse(BrowseForm, MultiDict(parse_qsl(query)))
        if is_incognito(space_for(form.space) if form.space else None):
            return {}
    except (ValidationError, InvalidError):
        # An address that a browser made up, or a space that is gone: the list is as good as it can be.
        return {}
    shown = {"form": form, "listing": listing(form), "choices": choices(form.space), "pick": True}
    shown["restorables"] = restorables()
    return {"beside": FRAGMENTS, **shown}
