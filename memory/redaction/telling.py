"""A lock between those who write what may say anything, and those who remove a forgotten text from all that says it.

A teller writes a reported call, a fact, a goal or a note. Whoever purges a text looks for it in all of these, but sees
nothing that is not committed yet; and the teller, who asks the tombstones first, does not see those that are not. So
tellers share this lock, and whoever purges takes it alone, once they have looked through what was there before.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, Text, func, literal, literal_column, select
from sqlalchemy import cast as as_type
from sqlalchemy.orm import Session
from sqlalchemy.types import UserDefinedType

from memory.locks import Purpose
from memory.models import ToolCall
from memory.storage.driver import fetch

_LOCK = f"hashtextextended(app_user()::text, {Purpose.TELLING.value})"


class _Xid(UserDefinedType[str]):
    """The number of a transaction."""

    cache_ok = True

    def get_col_spec(self, **_: object) -> str:
        return "xid"


def begin_to_tell(session: Session) -> None:
    """Share the lock until this transaction ends, and wait for whoever is just finishing a purge.

    Tombstones are read after this, and notebooks, facts and goals are locked after it. Spaces, conversations and
    memories are locked before: whoever purges holds them while they wait for tellers.
    """
    fetch(session, f"SELECT pg_advisory_xact_lock_shared({_LOCK})", {})


def may_tell(session: Session) -> bool:
    """Do as `begin_to_tell` does without waiting; False where somebody is just finishing a purge."""
    return bool(fetch(session, f"SELECT pg_try_advisory_xact_lock_shared({_LOCK})", {})[0][0])


def wait_for_tellers(session: Session) -> None:
    """Take the lock alone: wait for all who tell now, and keep others from telling until this transaction ends."""
    fetch(session, f"SELECT pg_advisory_xact_lock({_LOCK})", {})


def moment(session: Session) -> str:
    """Return the present moment as `told_since` takes it: the oldest transaction that has not ended."""
    oldest = as_type(func.pg_snapshot_xmin(func.pg_current_snapshot()), _Xid)
    return session.scalars(select(as_type(oldest, Text))).one()


def told_since(when: str) -> ColumnElement[bool]:
    """Return a condition on calls that holds for all which a statement before this `moment` may have missed.

    Few others fulfil it: a call is told by the number of the transaction that has written its row.
    """
    written = literal_column(f"{ToolCall.__tablename__}.xmin", _Xid())
    return func.age(written) <= func.age(as_type(literal(when, Text), _Xid))
