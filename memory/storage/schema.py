"""Bring the schema up or down, and let the application's role in."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from psycopg import errors, sql
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import OperationalError, ProgrammingError

from memory.errors import SchemaError
from memory.keys import Keys
from memory.models import Base
from memory.storage.database import Databases
from memory.storage.schema_revision import MIGRATIONS, current_revision, head_revision

logger = logging.getLogger(__name__)

# Any number will do, as long as nothing else in this database locks it.
MIGRATION_LOCK = 0x436F6D6D6F6E
# What the application may not do with these: accounts and roles are made by the owner alone, and what was done stays as
# it was written.
_WITHHELD = {
    "users": "INSERT, UPDATE, DELETE",
    "audit_events": "UPDATE, DELETE",
    "tool_calls": "UPDATE, DELETE",
    "audit_links": "INSERT, UPDATE, DELETE",
    "alembic_version": "INSERT, UPDATE, DELETE",
}
GOES_ON = (
    "the database is brought from schema %s to %s, which takes seconds, or minutes where much is stored; "
    "stopped meanwhile, it stays as it was, and the next start begins anew"
)
NOT_AS_KNOWN = (
    "the schema is at %s, but not as that is known here (%s): what made it was no finished version, or it was changed "
    "by hand. Nothing was changed: the version that made it runs on with it. Let that one write what there is by "
    "`commonplace export`, for each user, and `commonplace import export` bring it into an empty database"
)
# Longer than a transaction of ours lies idle.
LONGEST_WAIT = 150.0  # seconds
HELD = (
    "another program has held what is to be changed in the database for %.0f seconds, as an older version that still "
    "runs, a dump, or a session that was left open: end it, and start this again. Nothing was changed"
)
# What a migration meets where it does not find what the one before has left. A right that is lacking is none of it.
_NOT_FOUND = (
    errors.UndefinedColumn,
    errors.UndefinedFunction,
    errors.UndefinedObject,
    errors.UndefinedTable,
    errors.DuplicateColumn,
    errors.DuplicateFunction,
    errors.DuplicateObject,
    errors.DuplicateTable,
)
# What reads and writes past row-level security, and whoever may connect may run: the rights of a dump that names a role
# which is not there are not restored, and those of everybody stay as they are by default.
_OPEN_TO_ALL = """
SELECT p.oid::regprocedure::text FROM pg_proc p
CROSS JOIN LATERAL aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
WHERE p.pronamespace = 'public'::regnamespace AND p.prosecdef AND a.grantee = 0
  AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
"""
_RIGHTS = ("NOSUPERUSER", "NOCREATEDB", "NOCREATEROLE", "NOBYPASSRLS")


def upgrade(engine: Engine, databases: Databases, keys: Keys, revision: str = "head") -> None:
    """Migrate up to `revision` and set up the application's role; safe to run at once from several processes.

    All of it is one transaction. It is logged before a schema is changed that is there already, as that may take long.

    Raises `SchemaError` where the schema is not what its own revision left, or another program holds it.
    """
    with engine.begin() as connection:
        if is_old := (found := current_revision(connection)) not in {None, head_revision()}:
            logger.warning(GOES_ON, found, head_revision())
        # Another process may be migrating, for as long as that takes.
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": MIGRATION_LOCK})
        limit = f"{LONGEST_WAIT * 1000:.0f}ms"
        connection.execute(text("SELECT set_config('lock_timeout', :limit, true)"), {"limit": limit})
        try:
            command.upgrade(_config(connection), revision)
        except OperationalError as error:
            if not isinstance(error.orig, errors.LockNotAvailable):
                raise
            raise SchemaError(HELD % LONGEST_WAIT) from error
        except ProgrammingError as error:
            if not isinstance(error.orig, _NOT_FOUND):
                raise
            raise SchemaError(NOT_AS_KNOWN % (found, error.orig.diag.message_primary)) from error
        if is_old and revision == "head" and (names := missing(connection)):
            raise SchemaError(NOT_AS_KNOWN % (found, f"there is no {', '.join(names)}"))
        _admit_app_role(connection, databases, keys)


def downgrade(engine: Engine, databases: Databases, revision: str = "base") -> None:
    """Migrate down to `revision`, where the application's role may do what it may after an `upgrade` to it."""
    with engine.begin() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": MIGRATION_LOCK})
        command.downgrade(_config(connection), revision)
        _grant(connection, databases.app_role)


def differences(connection: Connection) -> list[object]:
    """Return what the models say and the database lacks, or the other way round."""
    context = MigrationContext.configure(connection, opts={"include_object": _ours})
    return list(compare_metadata(context, Base.metadata))


def missing(connection: Connection) -> list[str]:
    """Return the tables, and the columns of others, that the models say and the database lacks."""
    found = [each for each in differences(connection) if isinstance(each, tuple)]
    tables = [each[1].name for each in found if each[0] == "add_table"]
    columns = [f"{each[2]}.{each[3].name}" for each in found if each[0] == "add_column"]
    return sorted(tables) + sorted(columns)


def open_to_all(connection: Connection) -> Sequence[str]:
    """Return the functions that pass row-level security and that whoever may connect may run."""
    return connection.scalars(text(_OPEN_TO_ALL)).all()


def _ours(_object: object, name: str | None, kind: str, _reflected: bool, _other: object) -> bool:
    # The queue's tables are huey's, and indexes per embedding model come and go with the models.
    if kind == "table":
        return not (name or "").startswith("huey_")
    return not (kind == "index" and (name or "").startswith("hnsw_"))


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def _admit_app_role(connection: Connection, databases: Databases, keys: Keys) -> None:
    """Make the role that may read and write rows but owns nothing and bypasses nothing."""
    role = databases.app_role
    query = "SELECT rolsuper, rolcreatedb, rolcreaterole, rolbypassrls FROM pg_roles WHERE rolname = :role"
    found = connection.execute(text(query), {"role": role}).one_or_none()
    verb = "ALTER" if found else "CREATE"
    # PostgreSQL lets nobody mention a right of a role that they lack themselves, not even to take it away.
    rights = " ".join(word for word, has in zip(_RIGHTS, found or _RIGHTS, strict=True) if has)
    password = keys.password(role)
    statement = sql.SQL(f"{verb} ROLE {{role}} LOGIN {rights} PASSWORD {{password}}")
    composed = statement.format(role=sql.Identifier(role), password=sql.Literal(password))
    connection.exec_driver_sql(composed.as_string(None))
    _grant(connection, role)


def _grant(connection: Connection, role: str) -> None:
    """Let the application's role use all that there is, except for what is withheld, and nobody else."""
    there = set(connection.scalars(text("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")))
    withheld = {table: rights for table, rights in _WITHHELD.items() if table in there}
    for statement in (
        "GRANT USAGE ON SCHEMA public TO {role}",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}",
        "GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {role}",
        "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO {role}",
        *(f"REVOKE {rights} ON {table} FROM {{role}}" for table, rights in withheld.items()),
        *(["GRANT UPDATE (display_name, password_hash) ON users TO {role}"] if "users" in withheld else []),
    ):
        composed = sql.SQL(statement).format(role=sql.Identifier(role))
        connection.exec_driver_sql(composed.as_string(None))
    for function in open_to_all(connection):
        connection.exec_driver_sql(f"REVOKE EXECUTE ON FUNCTION {function} FROM PUBLIC")
