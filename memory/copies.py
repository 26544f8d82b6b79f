"""Copies of what the database holds that lie outside it, in Redis or in the memory of a process.

Whoever takes an original away names its copies, and every holder of this process drops them once the transaction has
committed. If it rolls back, they stay.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol
from weakref import WeakSet

from sqlalchemy import event
from sqlalchemy.orm import Session

_STALE = "stale_copies"


class Holder(Protocol):
    """Something that keeps copies by name."""

    def drop(self, names: Collection[str]) -> None:
        """Drop the copies of these names; must not raise."""
        ...


_holders: WeakSet[Holder] = WeakSet()


def register(holder: Holder) -> None:
    """Let a holder hear of what is to be dropped, for as long as it lives."""
    _holders.add(holder)


def drop_after_commit(session: Session, names: Iterable[str]) -> None:
    """Drop the copies of these names when the session's transaction commits."""
    session.info.setdefault(_STALE, set()).update(names)


# Both are told of savepoints too, which decide nothing yet.
@event.listens_for(Session, "after_commit")
def _drop(session: Session) -> None:
    if session.in_nested_transaction():
        return
    if names := session.info.pop(_STALE, None):
        for holder in list(_holders):
            holder.drop(names)


@event.listens_for(Session, "after_rollback")
def _keep(session: Session) -> None:
    if not session.in_nested_transaction():
        session.info.pop(_STALE, None)
