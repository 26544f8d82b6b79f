"""The pages: server-rendered, working without JavaScript, better with htmx."""

from __future__ import annotations

from urllib.parse import quote

from flask import Flask, current_app, request
from flask import session as cookie
from werkzeug.exceptions import HTTPException, MethodNotAllowed
from werkzeug.wrappers import Response

from webapp.htmx import see_other
from webapp.pages import (
    account,
    admin,
    appearance,
    auth,
    browse,
    bulk,
    conversation_files,
    conversations,
    entities,
    facts,
    filters,
    headers,
    history,
    letting_go,
    memory,
    notebook,
    notebook_cells,
    playground,
    preferences,
    privacy,
    providers,
    recalls,
    record,
    remember,
    remember_files,
    runs,
    search,
    spaces,
    themes,
    tokens,
    undecided,
    visitor,
)
from webapp.pages.forms import LARGEST_CHATS, LARGEST_FORM


def register(app: Flask) -> None:
    """Mount every blueprint of the pages, with what all templates share."""
    headers.init_app(app)
    filters.init_app(app)
    app.before_request(_limit_form)
    for module in (
        auth,
        appearance,
        notebook,
        notebook_cells,
        search,
        browse,
        bulk,
        memory,
        history,
        recalls,
        undecided,
        letting_go,
        remember,
        remember_files,
        conversations,
        conversation_files,
        spaces,
        themes,
        entities,
        facts,
        preferences,
        record,
        privacy,
        account,
        tokens,
        providers,
        playground,
        admin,
        runs,
    ):
        app.register_blueprint(module.bp)
    app.before_request(_recognise_astray)


def _limit_form() -> None:
    """Take no more than a form may hold: it is parsed before anybody knows who sends it, but for a cookie of ours."""
    if not request.path.startswith("/v1/"):
        large = request.endpoint == "conversation_files.save" and "user" in cookie
        request.max_content_length = LARGEST_CHATS if large else LARGEST_FORM


def _recognise_astray() -> Response | None:
    """Show an unknown address within the frame of a page, with its menu; lead that of a form to the page above it.

    The address of a form stays in the browser where the answer was a page, as with a field that does not fit. Whoever
    opens it again, or sends it to somebody, means that page.
    """
    astray = request.routing_exception
    if astray is None or request.path.startswith("/v1/"):
        return None
    reads = request.method == "GET" and "text/html" in request.accept_mimetypes.values()
    if reads and isinstance(astray, MethodNotAllowed):
        # Quoted again: what was decoded may be a line's end, which no header can have, or a question mark.
        return see_other(quote(request.root_path + _page_above(request.path)))
    visitor.recognise()
    return None


def _page_above(path: str) -> str:
    """Return the nearest address above a path that can be read."""
    addresses = current_app.create_url_adapter(request)
    while addresses is not None and (path := path.rpartition("/")[0]):
        try:
            addresses.match(path, method="GET")
        except HTTPException:
            continue
        return path
    return "/"
