"""Changes of many rows past the objects that a session holds."""

from __future__ import annotations

from sqlalchemy.orm import Session
from sqlalchemy.sql.dml import UpdateBase


def run_unsynchronised(session: Session, statement: UpdateBase) -> None:
    """Run an UPDATE or DELETE whose rows the session does not hold as objects, or will not look at again.

    SQLAlchemy would look each of them up otherwise, to bring it up to date.
    """
    session.execute(statement.execution_options(synchronize_session=False))
