"""The database of a command, with the schema in place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import click
import psycopg
from psycopg import errors
from sqlalchemy import Connection, Engine, Text, cast, or_, select, text
from sqlalchemy.exc import NotSupportedError, OperationalError, ProgrammingError, SQLAlchemyError
from sqlalchemy.orm import Session

import config
from memory.errors import first_line
from memory.keys import is_kept_of
from memory.models import User
from memory.storage.database import CONNECTING
from memory.storage.schema_revision import current_revision, head_revision, is_newer, what_differs
from tasks.store import Store, open_store

# What a database that cannot be set up answers: the last where pgvector is not installed.
_NOT_ALLOWED = (errors.InsufficientPrivilege, errors.FeatureNotSupported)
_RIGHTS = (
    "the role of DATABASE_URL must own the database and be allowed to create roles, and pgvector must be enabled "
    "there, by a superuser's CREATE EXTENSION vector"
)
USE_IT = (
    "use that key, or let `commonplace migrate` put this one in force, which shuts out servers that run with the other"
)
ANOTHER_KEY = f"its password comes of the secret key, so the database was set up with another one: {USE_IT}"
# NULL where there is no such table.
_MAY_QUEUE = "SELECT has_table_privilege(to_regclass('huey_task'), 'INSERT')"


def migrated_store() -> Store:
    """Find or start the database, migrate it if it needs that, and return where it is."""
    store = open_store(config.load())
    ensure_migrated(store)
    return store


def ensure_migrated(store: Store, *, serves: bool = False) -> None:
    """Migrate the database if it needs that.

    One that was set up with another secret key is left as it is, and the command ends, unless it `serves`: a server
    that runs would be shut out of its database, and whoever runs one command may not know which key that has.
    """
    if not is_migrated(store) or (serves and not has_key(store)):
        migrate(store, with_any_key=serves)


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


def has_key(store: Store) -> bool:
    """Tell whether a migrated database was set up with this key: an embedded one lets the role in without its password.

    Where the owner may not look, the role has come in by its password, if the server asks for one.
    """
    with store.databases.as_owner() as engine, engine.connect() as connection:
        if not connection.scalar(text("SELECT has_table_privilege('pg_authid', 'SELECT')")):
            return True
        role = store.databases.app_role
        kept = connection.scalar(text("SELECT rolpassword FROM pg_authid WHERE rolname = :role"), {"role": role})
    return is_kept_of(kept or "", store.keys.password(role))


def refuses_password(error: SQLAlchemyError, url: str) -> bool:
    """Tell whether the database of a URL refused its password, of whoever could not connect.

    A refusal has no code, its words are in the server's language, and other reasons are told after the password, as
    that there are too many connections: it is one of the password where another password is answered alike.
    """
    refused = error.orig if isinstance(error, OperationalError) else None
    if not isinstance(refused, errors.OperationalError) or refused.pgconn is None or not refused.pgconn.used_password:
        return False
    try:
        psycopg.connect(url, password="-", connect_timeout=CONNECTING).close()  # noqa: S106 - one to be refused
    except errors.OperationalError as other:
        return str(other) == str(refused)
    return False


def unread_variables() -> str:
    """Return in words which environment variables are named like ours and change nothing; empty without one."""
    said = (f"{name} (is {meant} meant?)" if meant else name for name, meant in config.unread().items())
    return ", ".join(said)


def migrate(store: Store, *, with_any_key: bool = True) -> None:
    """Bring the schema, the application's role and the queue's tables up to date; the command ends where it cannot.

    That puts the secret key in force, unless not `with_any_key`: then it ends where the database has another one.
    """
    # Alembic and the queue are heavy, and nearly always there is nothing for them to do.
    from memory.storage import schema  # noqa: PLC0415
    from tasks.app import create_queue_tables  # noqa: PLC0415

    try:
        with store.databases.as_owner() as engine:
            _check_not_newer(engine)
            if not with_any_key:
                _check_key(engine, store)
            schema.upgrade(engine, store.databases, store.keys)
        if store.settings.redis_url is None:
            create_queue_tables(store.databases.owner, store.databases.app_role)
    except OperationalError as error:
        # Without a code nobody could connect; a code is an answer of the database.
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
        raise click.ClickException(what_differs(found))


def has_role(connection: Connection, name: str) -> bool:
    """Tell whether the server knows a role: PostgreSQL asks for the password of one that it does not know, too."""
    query = "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = :role)"
    return bool(connection.scalar(text(query), {"role": name}))


def _check_key(owner: Engine, store: Store) -> None:
    with owner.connect() as connection:
        # A database that was restored from elsewhere may lack the role, and then nobody can connect as it.
        if current_revision(connection) is None or not has_role(connection, store.databases.app_role):
            return
    try:
        with store.sessions() as session:
            session.connection()
    except OperationalError as error:
        if refuses_password(error, store.databases.app):
            said = f"the role {store.databases.app_role} may not come in ({first_line(error.orig or error)})"
            raise click.ClickException(f"{said}: {ANOTHER_KEY}") from error


@contextmanager
def owner_session(store: Store) -> Iterator[Session]:
    """Open a transaction as the owner of the tables, which alone may make accounts."""
    with store.databases.as_owner() as engine, Session(engine) as session, session.begin():
        yield session


def user_named(store: Store, email: str) -> UUID:
    """Return the id of the user with this address or id, disabled or not; without one, the command ends."""
    name = email.strip().lower()
    with owner_session(store) as session:
        user_id = session.scalar(select(User.id).where(or_(User.email == name, cast(User.id, Text) == name)))
    if user_id is None:
        raise click.ClickException(f"there is no user {email}")
    return user_id
