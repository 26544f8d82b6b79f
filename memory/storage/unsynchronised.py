"""Changes of many rows past the objects that a session holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, column, update
from sqlalchemy import values as sql_values
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
    ids = among(Memory.id, [memory.id for memory in memories])
    _set(session, user_id, memories, ids, values)
    for memory in memories:
        _note(memory, values)


def set_each(session: Session, user_id: UUID, given: Sequence[tuple[Memory, Mapping[str, Any]]], **values: Any) -> None:
    """Give each of these memories values of its own, in the same columns, and all the same `values`.

    As `set_of_all` does.
    """
    names = [*given[0][1]] if given else []
    columns = [column(name, getattr(Memory, name).type) for name in ("id", *names)]
    rows = [(memory.id, *(own[name] for name in names)) for memory, own in given]
    of = sql_values(*columns, name="given").data(rows)
    _set(session, user_id, rows, Memory.id == of.c.id, {**{name: of.c[name] for name in names}, **values})
    for memory, own in given:
        _note(memory, {**own, **values})


def _set(
    session: Session, user_id: UUID, of: Sequence[Any], which: ColumnElement[bool], values: Mapping[str, Any]
) -> None:
    session.flush()
    if of:
        run_unsynchronised(session, update(Memory).where(Memory.user_id == user_id, which).values(values))


def _note(memory: Memory, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        set_committed_value(memory, name, value)
