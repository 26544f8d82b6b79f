"""A database of its own for a measurement, gone afterwards."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from uuid import UUID

from sqlalchemy.orm import Session, sessionmaker

import config
from evals.guard import guarded
from memory.accounts.accounts import create_user
from memory.ending import ending_at_sigterm
from memory.storage import schema
from memory.storage.database import make_engine
from tasks.runtime import Runtime, build

EMAIL = "measure@example.org"
# The password of an account that cannot be reached from outside and is deleted with its folder.
PASSWORD = "measured-and-gone"  # noqa: S105
EMBEDDING_MODEL = "COMMONPLACE_EMBEDDING_MODEL"


@contextmanager
def throwaway(*, now: datetime, role: str = "user") -> Iterator[tuple[Runtime, UUID]]:
    """Give a runtime on a fresh embedded PostgreSQL, migrated, and the id of its one user.

    The user's own data folder and DATABASE_URL stay untouched; of the environment only the embedding model
    counts. The server is stopped and the folder removed at the end, whatever happened, SIGTERM and SIGKILL included.
    """
    with ending_at_sigterm(), temporary_home() as home, guarded(home):
        runtime = build(config.load(_environment(home)))
        try:
            yield runtime, _prepare(runtime, now, role)
        finally:
            close(runtime)


@contextmanager
def temporary_home() -> Iterator[Path]:
    """Give an empty folder that PostgreSQL can use, and remove it at the end."""
    home = Path(tempfile.mkdtemp(prefix="commonplace-"))
    # Started by root, PostgreSQL runs as another user, who must be able to enter this folder.
    home.chmod(0o711)
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


def close(runtime: Runtime) -> None:
    """Close the connections and let go of the embedded server."""
    runtime.close()
    if runtime.server is not None:
        runtime.server.release()


def _environment(home: Path) -> dict[str, str]:
    model = os.environ.get(EMBEDDING_MODEL, "")
    return {"COMMONPLACE_HOME": str(home), EMBEDDING_MODEL: model}


def _prepare(runtime: Runtime, now: datetime, role: str = "user") -> UUID:
    owner = make_engine(runtime.databases.owner, pool_size=1)
    try:
        schema.upgrade(owner, runtime.databases, runtime.keys)
    finally:
        owner.dispose()
    return add_user(runtime, EMAIL, now, role)


def add_user(runtime: Runtime, email: str, now: datetime, role: str = "user") -> UUID:
    """Add a user, with `PASSWORD`, to a throwaway database; returns the id."""
    # A new engine: connections made before the vector extension existed could not register its type.
    owner = make_engine(runtime.databases.owner, pool_size=1)
    try:
        with sessionmaker(owner, class_=Session).begin() as session:
            return create_user(session, email, PASSWORD, soft_cap=runtime.settings.soft_cap, now=now, role=role).id
    finally:
        owner.dispose()
