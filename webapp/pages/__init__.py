"""The pages: server-rendered, working without JavaScript, better with htmx."""

from __future__ import annotations

from flask import Flask


def register(app: Flask) -> None:
    """Mount every blueprint of the pages."""
    del app
