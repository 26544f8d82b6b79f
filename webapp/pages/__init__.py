"""The pages: server-rendered, working without JavaScript, better with htmx."""

from __future__ import annotations

from flask import Flask

from webapp.pages import (
    appearance,
    auth,
    browse,
    conversations,
    entities,
    filters,
    headers,
    memory,
    preferences,
    privacy,
    record,
    remember,
    search,
    spaces,
)


def register(app: Flask) -> None:
    """Mount every blueprint of the pages, with what all templates share."""
    headers.init_app(app)
    filters.init_app(app)
    for module in (
        auth,
        appearance,
        search,
        browse,
        memory,
        remember,
        conversations,
        spaces,
        entities,
        preferences,
        record,
        privacy,
    ):
        app.register_blueprint(module.bp)
