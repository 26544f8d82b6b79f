"""Changes of many rows past the objects that a session holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import update
from sqlalchemy.orm import Session
from sqlalchemy.orm.attributes import set_committed_value
from sqlalchemy.sql.dml import UpdateBase

from memory.ids import among
from memory.models import Memory


def run_unsynchronised(session: Session, statement: UpdateBase) -> None:
    """Run an UPDATE or DELETE whose rows the session does not hold as objects, or will not look at again.

    SQLAlchemy would look each of them up otherwise, to bring it up to date.
    """
    session.execute(statement.execution_options(synchronize_session=False))


def set_of_all(session: Session, user_id: UUID, memories: Sequence[Memory], **values: Any) -> None:
    """Give all of these memories, which the caller has locked, the same values, in one statement.

    So what follows from it, as their places in the keyword index, is worked out once for all of them. For each by
    itself that takes twenty times as long.
    """
    session.flush()
    if not memories:
        return
    mine = (Memory.user_id == user_id, among(Memory.id, [memory.id for memory in memories]))
    run_unsynchronised(session, update(Memory).where(*mine).values(values))
    for memory in memories:
        for name, value in values.items():
            set_committed_value(memory, name, value)
