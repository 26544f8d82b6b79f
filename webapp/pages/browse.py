"""All memories, newest first."""

from __future__ import annotations

from flask import Response, request

from memory.models import TYPES
from webapp.htmx import render
from webapp.operations import is_incognito, space_for
from webapp.pages.bulk import offer
from webapp.pages.forms import BrowseForm, parse
from webapp.pages.queries import choices, listing
from webapp.pages.visitor import guarded

bp = guarded("browse")


@bp.get("/memories")
def index() -> Response:
    """List a page of memories; with a cursor, htmx gets the further page alone."""
    form = parse(BrowseForm, request.args)
    if is_incognito(space_for(form.space) if form.space else None):
        return render("memories/closed.html", "memories/_closed.html")
    fragment = "memories/_page.html" if form.cursor else "memories/_list.html"
    return render(
        "memories/index.html",
        fragment,
        form=form,
        listing=listing(form),
        choices=choices(),
        types=TYPES,
        bulk=offer(),
        pick=True,
    )
