"""Locks that are no row's, and the order in which everybody takes locks.

Two who take the same locks in different orders wait for each other until the database ends one of them. So these are
taken in this order, and rows of one kind in the order of their ids:

1. the token of a request, whose time of use is noted
2. spaces (`memory.spaces.spaces.lock_spaces`)
3. conversations
4. memories, then episodes; a memory that was forgotten, where the other rows of its space are
5. the lock of `memory.redaction.telling`, then notebooks, then facts
6. tool calls, then the goals of conversations
7. cached vectors
8. the user

Who holds no space, as the embedder and whoever records a call, keeps to the order of ids, or leaves out what somebody
else holds (`SKIP LOCKED`). `tests/memory/test_lock_order.py` and `test_concurrent_writes.py` try it.
"""

from __future__ import annotations

from enum import IntEnum

from sqlalchemy import func, select
from sqlalchemy.orm import Session


class Purpose(IntEnum):
    """What an advisory lock is for: the seed of its key, so that one name stands for a lock of each purpose.

    Changing a number would let an older server and this one write at once.
    """

    MODELS = 0
    AUDIT_CHAIN = 1  # taken by a trigger, as a transaction commits
    OPENING = 2  # of a conversation, by the user's id and its `external_id`
    PREFERENCES = 3
    NOTEBOOKS = 4
    TELLING = 5
    READING = 6  # of a conversation for facts, by its id: a lock of the connection, as no transaction is open


def lock_name(session: Session, name: str, purpose: Purpose) -> None:
    """Wait for whoever holds the lock of a name, mostly a user's id, and hold it until the transaction ends."""
    session.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(name, purpose.value))))
