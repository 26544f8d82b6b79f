"""Vectors that do not get made: given up on, or waiting for longer than a worker that runs would let them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import text as sql
from sqlalchemy.orm import Session

from memory.cursors import from_cursor, to_cursor
from memory.embedding.queue import statement, wake
from memory.errors import NotFoundError
from memory.storage.shelves import SHELVES

# What has been due for longer than this is stuck.
STUCK_AFTER = timedelta(minutes=5)
KINDS = {shelf.name: shelf for shelf in SHELVES}

_FAILED_OR_STUCK = "(x.state = 'error' OR (x.state = 'pending' AND x.due_at <= :stuck))"
_JOBS = f"""
SELECT '{{name}}' AS kind, x.user_id, x.{{item}} AS item_id, x.state, x.attempts,
    CASE x.state WHEN 'error' THEN x.updated_at ELSE x.due_at END AS since,
    md5(concat_ws(' ', '{{name}}', x.user_id, x.{{item}}, x.model_id))::uuid AS place
FROM {{vectors}} x WHERE {_FAILED_OR_STUCK}
"""  # noqa: S608 - all of it is written here
# Items before vectors, as whoever edits or embeds them locks them.
_LOCK = "SELECT id FROM {items} WHERE user_id = :user_id AND id = :item_id FOR NO KEY UPDATE"
_RETRY = f"""
UPDATE {{vectors}} x SET state = 'pending', attempts = 0, error = NULL, due_at = :now
WHERE x.user_id = :user_id AND x.{{item}} = :item_id AND {_FAILED_OR_STUCK}
"""  # noqa: S608 - all of it is written here

_QUEUED = """
SELECT x.created_at AS since FROM {vectors} x
JOIN embedding_models e ON e.user_id = x.user_id AND e.id = x.model_id
WHERE e.state = :state AND x.state = 'pending' AND x.live
"""


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


@dataclass(frozen=True, slots=True)
class JobPage:
    """Some jobs, the oldest first, and the cursor of the next page (None at the end)."""

    jobs: Sequence[StuckJob]
    next_cursor: str | None


def list_stuck(session: Session, *, now: datetime, limit: int, cursor: str | None = None) -> JobPage:
    """Return a page of the jobs of all users that failed or are stuck, the oldest first; needs the owner's rights.

    What fails in one moment may be one item for two models, or for two users of one export: such have an order of
    their own, which means nothing, so that none is lost between two pages.

    Raises `InvalidError` for a bad cursor.
    """
    each = " UNION ALL ".join(statement(_JOBS, shelf).text for shelf in SHELVES)
    values: dict[str, Any] = {}
    further = ""
    if cursor is not None:
        values["since"], values["place"] = from_cursor(cursor)
        further = "WHERE (j.since, j.place) > (:since, :place)"
    jobs = sql(f"""
        SELECT j.*, u.email FROM ({each}) j JOIN users u ON u.id = j.user_id
        {further} ORDER BY j.since, j.place LIMIT :limit
    """)  # noqa: S608 - all of it is written here
    found = session.execute(jobs, {**values, "stuck": now - STUCK_AFTER, "limit": limit + 1}).all()
    last = found[limit - 1] if len(found) > limit else None
    return JobPage([_to_job(row) for row in found[:limit]], to_cursor(last.since, last.place) if last else None)


def _to_job(row: Any) -> StuckJob:
    state = "failed" if row.state == "error" else "stuck"
    return StuckJob(row.kind, row.user_id, row.email, row.item_id, state, row.attempts, row.since)


def count_building(session: Session) -> int:
    """Return how many vectors are to be made of models that take over once they have all; needs the owner's rights.

    What they are made of has a vector of the model that serves, and `telemetry` does not count it as waiting. What is
    archived does not count either.
    """
    return _queued(session, "building")[0]


def backlog_of_models(session: Session, now: datetime) -> dict[str, Any]:
    """Return what waits for a vector of those alone who have a model, as `telemetry` names it.

    Where the server itself embeds nothing, what others keep waits for nothing. Needs the owner's rights.
    """
    number, oldest = _queued(session, "active")
    age = (now - oldest).total_seconds() if oldest else 0.0
    return {"embedding_backlog": number, "embedding_backlog_age": age}


def _queued(session: Session, state: str) -> tuple[int, datetime | None]:
    """Return how many vectors models of that state have still to make, and since when the oldest waits."""
    each = " UNION ALL ".join(statement(_QUEUED, shelf).text for shelf in SHELVES)
    counted = sql(f"SELECT count(*), min(x.since) FROM ({each}) x")  # noqa: S608 - all of it is written here
    number, oldest = session.execute(counted, {"state": state}).one()
    return number, oldest


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
    # The job may wait because its provider rests.
    wake(session, user_id)
