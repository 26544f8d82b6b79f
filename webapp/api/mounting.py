"""All of the interface, mounted: only what wires the application imports it."""

from __future__ import annotations

from flask_openapi3.openapi import OpenAPI

from webapp.api import (
    account,
    admin,
    audit,
    command,
    context,
    conversations,
    entities,
    entries,
    facts,
    mcp,
    memory,
    ops,
    preferences,
    providers,
    spaces,
    tool_calls,
    tools,
    updates,
)
from webapp.api.blueprint import describe_headers, describe_success


def register(app: OpenAPI) -> None:
    """Mount every blueprint of the interface."""
    # Swagger's page would show the description to an online validator.
    app.config.setdefault("SWAGGER_CONFIG", {"validatorUrl": None})
    for module in (
        entries,
        updates,
        entities,
        facts,
        conversations,
        context,
        memory,
        spaces,
        providers,
        tools,
        admin,
        preferences,
        audit,
        tool_calls,
        command,
        account,
    ):
        app.register_api(module.bp)
    describe_success(app)
    describe_headers(app)
    app.register_blueprint(mcp.bp)
    app.register_blueprint(mcp.login)
    app.register_blueprint(ops.bp)
