"""A runtime for the commands that embed, search or queue, with the schema in place."""

from __future__ import annotations

import config
from tasks.app import configure
from tasks.runtime import Runtime, build
from webapp.cli.wiring import ensure_migrated


def migrated_runtime() -> Runtime:
    """Find or start the database, migrate it if it needs that, and return the runtime."""
    runtime = build(config.load())
    ensure_migrated(runtime)
    configure(runtime)
    return runtime
