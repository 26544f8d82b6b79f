"""The `/v1` interface: JSON in, JSON out, problem details for everything that goes wrong."""

from __future__ import annotations

from flask_openapi3.openapi import OpenAPI

from webapp.api import admin, entries, memory, ops, providers, spaces, tools
from webapp.api.schemas import Problem

__all__ = ["Problem", "register"]


def register(app: OpenAPI) -> None:
    """Mount every blueprint of the interface."""
    # Swagger's page would show the description to an online validator.
    app.config.setdefault("SWAGGER_CONFIG", {"validatorUrl": None})
    for module in (entries, memory, spaces, providers, tools, admin):
        app.register_api(module.bp)
    app.register_blueprint(ops.bp)
