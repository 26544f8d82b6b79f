"""All memories, a page at a time."""

from __future__ import annotations

from typing import Any

from flask import Response, url_for

from memory.ids import unpack
from memory.models import TYPES
from webapp.htmx import at_address, render, wants_fragment
from webapp.operations import is_incognito, space_for
from webapp.pages import undecided
from webapp.pages.bulk import offer
from webapp.pages.closed import closed_page
from webapp.pages.forms import ORDERS, BrowseForm, narrowed_by
from webapp.pages.queries import archived, choices, listing, offered_tokens
from webapp.pages.restorables import restorables
from webapp.pages.visitor import guarded
from webapp.providers import failing_endpoints

bp = guarded("browse")


@bp.get("/memories")
def index() -> Response:
    """List a page of memories, by words as they are typed; with a cursor, htmx gets the further page alone."""
    form = narrowed_by(BrowseForm)
    if is_incognito(space_for(form.space) if form.space else None):
        return closed_page()
    listed, offered = listing(form), choices(form.space)
    fragment = "memories/_page.html" if form.cursor else "memories/_list.html"
    page = render(
        "memories/index.html",
        fragment,
        form=form,
        listing=listed,
        choices=offered,
        archived=None if listed.total or offered.memories else archived(),
        types=TYPES,
        orders=ORDERS,
        writers=offered_tokens(form.token),
        bulk=offer(),
        pick=True,
        ticked=frozenset(unpack(form.ids or "")),
        restorables=restorables(),
        undecided=0 if wants_fragment() else undecided.count(),
        # Asked only for the whole page: its parts do not show this.
        failing=None if wants_fragment() else failing_endpoints(),
    )
    if form.cursor:
        return page
    given: dict[str, Any] = {**form.chosen(), "ids": form.ids}
    return at_address(page, url_for("browse.index", **given), typed=True)
