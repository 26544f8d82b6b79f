"""A runtime for a command, with the schema in place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click
from sqlalchemy.exc import OperationalError, SQLAlchemyError
from sqlalchemy.orm import Session

import config
from memory import schema
from memory.database import make_engine
from tasks.app import configure, create_queue_tables
from tasks.runtime import Runtime, build


def migrated_runtime() -> Runtime:
    """Find or start the database, migrate it if it needs that, and return the runtime."""
    runtime = build(config.load())
    if not is_migrated(runtime):
        migrate(runtime)
    configure(runtime)
    return runtime


def is_migrated(runtime: Runtime) -> bool:
    """Tell whether the application's own role can connect and finds the schema that this code needs."""
    try:
        with runtime.sessions() as session:
            return schema.current_revision(session.connection()) == schema.head_revision()
    except SQLAlchemyError:
        return False


def migrate(runtime: Runtime) -> None:
    """Bring the schema, the application's role and the queue's tables up to date."""
    engine = make_engine(runtime.databases.owner, pool_size=1)
    try:
        schema.upgrade(engine, runtime.databases, runtime.keys)
        if runtime.settings.redis_url is None:
            create_queue_tables(runtime.databases.owner, runtime.databases.app_role)
    except OperationalError as error:
        raise click.ClickException(f"the database does not answer: {error.orig}") from error
    finally:
        engine.dispose()


@contextmanager
def owner_session(runtime: Runtime) -> Iterator[Session]:
    """Open a transaction as the owner of the tables, which alone may make accounts."""
    engine = make_engine(runtime.databases.owner, pool_size=1)
    try:
        with Session(engine) as session, session.begin():
            yield session
    finally:
        engine.dispose()
