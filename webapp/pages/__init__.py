"""The pages: server-rendered, working without JavaScript, better with htmx."""

from __future__ import annotations

from flask import Flask, request

from webapp.pages import (
    account,
    admin,
    appearance,
    auth,
    browse,
    bulk,
    conversations,
    entities,
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
    runs,
    search,
    spaces,
    themes,
    tokens,
    visitor,
)


def register(app: Flask) -> None:
    """Mount every blueprint of the pages, with what all templates share."""
    headers.init_app(app)
    filters.init_app(app)
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
        letting_go,
        remember,
        conversations,
        spaces,
        themes,
        entities,
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


def _recognise_astray() -> None:
    """Let who asks for an address that is not there keep the frame of a page, and so the ways on from it."""
    if request.routing_exception is not None and not request.path.startswith("/v1/"):
        visitor.recognise()
