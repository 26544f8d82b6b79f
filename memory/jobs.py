"""Vectors that do not get made: given up on, or waiting for longer than a worker that runs would let them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import text as sql
from sqlalchemy.orm import Session

from memory.embedding.queue import statement, wake
from memory.errors import NotFoundError
from memory.shelves import SHELVES

# What is due for longer is stuck.
STUCK_AFTER = timedelta(minutes=5)
KINDS = {shelf.name: shelf for shelf in SHELVES}

_FAILED_OR_STUCK = "(x.state = 'error' OR (x.state = 'pending' AND x.due_at <= :stuck))"
_JOBS = f"""
SELECT '{{name}}' AS kind, x.user_id, x.{{item}} AS item_id, x.state, x.attempts, x.due_at, x.updated_at
FROM {{vectors}} x WHERE {_FAILED_OR_STUCK}
"""  # noqa: S608 - all of it is written here
# Items before vectors, as whoever edits or embeds them locks them.
_LOCK = "SELECT id FROM {items} WHERE user_id = :user_id AND id = :item_id FOR NO KEY UPDATE"
_RETRY = f"""
UPDATE {{vectors}} x SET state = 'pending', attempts = 0, error = NULL, due_at = :now
WHERE x.user_id = :user_id AND x.{{item}} = :item_id AND {_FAILED_OR_STUCK}
"""  # noqa: S608 - all of it is written here


@dataclass(frozen=True, slots=True)
class StuckJob:
    """One vector that is not made: whose, of which item, and since when; never of what text.

    `state` is `failed` when it was given up on, `stuck` when nobody takes it up.
    """

    kind: str
    user_id: UUID
    email: str
    item_id: UUID
    state: str
    attempts: int
    since: datetime


def list_stuck(session: Session, *, now: datetime, most: int) -> Sequence[StuckJob]:
    """Return jobs of all users that failed or are stuck, the oldest first, at most `most`; needs the owner's rights."""
    each = " UNION ALL ".join(statement(_JOBS, shelf).text for shelf in SHELVES)
    jobs = sql(f"""
        SELECT j.*, u.email FROM ({each}) j JOIN users u ON u.id = j.user_id
        ORDER BY j.updated_at, j.item_id LIMIT :most
    """)  # noqa: S608 - all of it is written here
    return [_to_job(row) for row in session.execute(jobs, {"stuck": now - STUCK_AFTER, "most": most})]


def _to_job(row: Any) -> StuckJob:
    failed = row.state == "error"
    state, since = ("failed", row.updated_at) if failed else ("stuck", row.due_at)
    return StuckJob(row.kind, row.user_id, row.email, row.item_id, state, row.attempts, since)


def retry_job(session: Session, user_id: UUID, kind: str, item_id: UUID, *, now: datetime) -> None:
    """Let one job that failed or is stuck wait again as if it were new; the session is confined to its user.

    Raises `NotFoundError` when there is no such job.
    """
    shelf = KINDS.get(kind)
    done: Any = None
    if shelf is not None:
        values = {"user_id": user_id, "item_id": item_id}
        session.execute(statement(_LOCK, shelf), values)
        done = session.execute(statement(_RETRY, shelf), {**values, "now": now, "stuck": now - STUCK_AFTER})
    if done is None or not done.rowcount:
        raise NotFoundError("there is no such job that failed or is stuck")
    # Its provider may be what it waits for.
    wake(session, user_id)
