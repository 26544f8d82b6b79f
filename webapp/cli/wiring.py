"""The database of a command, with the schema in place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import click
from psycopg import errors
from sqlalchemy import Engine, text
from sqlalchemy.exc import NotSupportedError, OperationalError, ProgrammingError, SQLAlchemyError
from sqlalchemy.orm import Session

import config
from memory.accounts import find_user
from memory.revision import current_revision, head_revision, is_newer
from tasks.store import Store, open_store

NEWER = "a newer version of Commonplace has migrated it; install that one again"
# What a database that cannot be set up answers: the last where pgvector is not installed.
_NOT_ALLOWED = (errors.InsufficientPrivilege, errors.FeatureNotSupported)
_RIGHTS = (
    "the role of DATABASE_URL must own the database and be allowed to create roles, and pgvector must be enabled "
    "there, by a superuser's CREATE EXTENSION vector"
)
# NULL where there is no such table.
_MAY_QUEUE = "SELECT has_table_privilege(to_regclass('huey_task'), 'INSERT')"


def migrated_store() -> Store:
    """Find or start the database, migrate it if it needs that, and return where it is."""
    store = open_store(config.load())
    ensure_migrated(store)
    return store


def ensure_migrated(store: Store) -> None:
    """Migrate the database if it needs that."""
    if not is_migrated(store):
        migrate(store)


def is_migrated(store: Store) -> bool:
    """Tell whether the application's own role can connect and finds the schema and the queue that this code needs."""
    try:
        with store.sessions() as session:
            if current_revision(session.connection()) != head_revision():
                return False
            # Redis may have been the queue until now.
            return store.settings.redis_url is not None or bool(session.scalar(text(_MAY_QUEUE)))
    except SQLAlchemyError:
        return False


def unread_variables() -> str:
    """Return in words which environment variables are named like ours and change nothing; empty without one."""
    said = (f"{name} (is {meant} meant?)" if meant else name for name, meant in config.unread().items())
    return ", ".join(said)


def migrate(store: Store) -> None:
    """Bring the schema, the application's role and the queue's tables up to date; the command ends where it cannot."""
    # Alembic and the queue are heavy, and nearly always there is nothing for them to do.
    from memory import schema  # noqa: PLC0415
    from tasks.app import create_queue_tables  # noqa: PLC0415

    try:
        with store.databases.as_owner() as engine:
            _check_not_newer(engine)
            schema.upgrade(engine, store.databases, store.keys)
        if store.settings.redis_url is None:
            create_queue_tables(store.databases.owner, store.databases.app_role)
    except OperationalError as error:
        # Whoever cannot connect is told no code; what has one is an answer.
        if getattr(error.orig, "sqlstate", None) is not None:
            raise
        raise click.ClickException(f"the database does not answer: {error.orig}") from error
    except (ProgrammingError, NotSupportedError) as error:
        if not isinstance(error.orig, _NOT_ALLOWED):
            raise
        raise click.ClickException(f"{error.orig.diag.message_primary}: {_RIGHTS}") from error


def _check_not_newer(engine: Engine) -> None:
    with engine.connect() as connection:
        found = current_revision(connection)
    if is_newer(found):
        raise click.ClickException(f"the schema is at {found}, this code needs {head_revision()}: {NEWER}")


@contextmanager
def owner_session(store: Store) -> Iterator[Session]:
    """Open a transaction as the owner of the tables, which alone may make accounts."""
    with store.databases.as_owner() as engine, Session(engine) as session, session.begin():
        yield session


def user_named(store: Store, email: str) -> UUID:
    """Return the id of the user with this address; without one, the command ends."""
    with store.sessions() as session:
        user_id = find_user(session, email)
    if user_id is None:
        raise click.ClickException(f"there is no user {email}")
    return user_id
