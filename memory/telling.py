"""Who tells anything, and who takes what is forgotten out of what was told: neither misses the other.

A call that is reported, a fact, a goal, a note: what is written and not committed yet, nobody sees who takes out what
is forgotten at that moment. Who records calls asks the tombstones first, and records the rest.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, Text, func, literal, literal_column, select
from sqlalchemy import cast as as_type
from sqlalchemy.orm import Session
from sqlalchemy.types import UserDefinedType

from memory.driver import fetch
from memory.models import ToolCall

# Other locks of users have lower ones.
_LOCK_SEED = 5
_LOCK = f"hashtextextended(app_user()::text, {_LOCK_SEED})"


class _Xid(UserDefinedType[str]):
    """The number of a transaction."""

    cache_ok = True

    def get_col_spec(self, **_: object) -> str:
        return "xid"


def begin_to_tell(session: Session) -> None:
    """Wait for who is about to end taking out what is forgotten; until this transaction ends, nobody else comes so far.

    Tombstones are read after this, and notebooks, facts and goals are locked after. Spaces, conversations and memories,
    which the other holds while it waits, are locked before.
    """
    fetch(session, f"SELECT pg_advisory_xact_lock_shared({_LOCK})", {})


def may_tell(session: Session) -> bool:
    """Do as `begin_to_tell` does without waiting; False where somebody is about to end taking out what is forgotten."""
    return bool(fetch(session, f"SELECT pg_try_advisory_xact_lock_shared({_LOCK})", {})[0][0])


def wait_for_tellers(session: Session) -> None:
    """Wait for all who are telling; who begins to after this waits until this transaction ends."""
    fetch(session, f"SELECT pg_advisory_xact_lock({_LOCK})", {})


def moment(session: Session) -> str:
    """Return what `told_since` is asked by."""
    oldest = as_type(func.pg_snapshot_xmin(func.pg_current_snapshot()), _Xid)
    return session.scalars(select(as_type(oldest, Text))).one()


def told_since(when: str) -> ColumnElement[bool]:
    """Return what is true of all calls that a statement before this moment may have missed, and of few others."""
    written = literal_column(f"{ToolCall.__tablename__}.xmin", _Xid())
    return func.age(written) <= func.age(as_type(literal(when, Text), _Xid))
