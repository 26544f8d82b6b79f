"""A runtime for the commands that embed, search or queue, with the schema in place."""

from __future__ import annotations

import logging
import math

import click

import config
from memory.embedding.base import EmbeddingError
from memory.embedding.local import resolve_model
from memory.embedding.providers import NO_LOCAL_MODEL
from tasks.app import configure
from tasks.runtime import Runtime, build
from webapp.cli.wiring import ensure_migrated, unread_variables

logger = logging.getLogger(__name__)


def warn_of_unread() -> None:
    """Log what `unread_variables` says, once logging is set up."""
    if said := unread_variables():
        logger.warning("nothing reads %s: the README lists the settings", said)


def migrated_runtime(*, serves: bool = True, limit: float = math.inf) -> Runtime:
    """Find or start the database, migrate it if it needs that, and return the runtime.

    For `serves` see `ensure_migrated`, for `limit` `open_store`.

    The command ends where there can be no such local model as the settings name.
    """
    settings = config.load()
    _check_model(settings.embedding_model)
    runtime = build(settings, limit=limit)
    ensure_migrated(runtime, serves=serves)
    configure(runtime)
    return runtime


def _check_model(name: str) -> None:
    if name == NO_LOCAL_MODEL:
        return
    try:
        resolve_model(name)
    except EmbeddingError as error:
        raise click.ClickException(f"COMMONPLACE_EMBEDDING_MODEL: {error}") from error
