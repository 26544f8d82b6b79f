"""Which revision the schema is at, and which one this code needs, told without loading Alembic."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, text

MIGRATIONS = Path(__file__).parents[1] / "migrations"
NEWER = "a newer version of Commonplace has migrated it; install that one again"


def current_revision(connection: Connection) -> str | None:
    """Return the revision that the database is at; None before the first migration."""
    if connection.scalar(text("SELECT to_regclass('alembic_version')")) is None:
        return None
    revision: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return revision


def head_revision() -> str:
    """Return the revision that this code needs: the number that the last migration's file begins with."""
    return max(_revisions())


def is_newer(revision: str | None) -> bool:
    """Tell whether a database is at a revision that this code does not know: a newer version has migrated it."""
    return revision is not None and revision not in _revisions()


def what_differs(revision: str | None) -> str:
    """Return in words at which revision a database is that is not at the one that this code needs, and what to do."""
    advice = NEWER if is_newer(revision) else "run `commonplace migrate`"
    return f"the schema is at {revision}, this code needs {head_revision()}: {advice}"


def _revisions() -> set[str]:
    return {path.name.partition("_")[0] for path in (MIGRATIONS / "versions").glob("[0-9]*_*.py")}
