"""Which vectors are wanted: the rows that wait, their claims, and what came of them.

An item's `needs_embedding` is the truth: it is false only while the active model has a vector of the present text.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from functools import cache
from itertools import groupby
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector
from sqlalchemy import TextClause, text
from sqlalchemy.orm import Session

from memory.remote.whole_answers import LONGEST_PAUSE
from memory.storage.shelves import ENTITIES, MEMORIES, SHELVES, Shelf

MAX_ATTEMPTS = 6
# A claim whose worker was killed falls due again after this. A worker that lives renews its claims well before, so
# the lease need not outlast the slowest batch; if it lapses all the same, a row is embedded twice and stored once.
LEASE = timedelta(seconds=6)
BACKOFF = timedelta(seconds=2)
LONGEST_BACKOFF = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Job:
    """One text to embed with one model. `version` is the item's at the time of the claim."""

    shelf: Shelf
    user_id: UUID
    item_id: UUID
    model_id: UUID
    version: int
    attempts: int
    text: str


@cache
def statement(template: str, shelf: Shelf) -> TextClause:
    """Return a statement of this module for one kind of item."""
    return text(template.format_map(asdict(shelf)))


# The lock on the model waits for a flip that is deleting it, instead of failing on the foreign key.
_ENQUEUE = """
INSERT INTO {vectors} (user_id, {item}, model_id, {scope}, live, version, due_at, created_at, updated_at)
SELECT m.user_id, m.id, e.id, m.{item_scope}, {live}, m.version, :now, :now, :now
FROM {items} m JOIN embedding_models e ON e.user_id = m.user_id
WHERE m.user_id = :user_id AND m.id = ANY(:ids)
FOR KEY SHARE OF e
ON CONFLICT (user_id, {item}, model_id) DO UPDATE SET
    state = 'pending', vector = NULL, passages = NULL, version = excluded.version, attempts = 0, error = NULL,
    due_at = excluded.due_at, created_at = excluded.created_at, updated_at = excluded.updated_at
"""

_ENQUEUE_MISSING = """
INSERT INTO {vectors} (user_id, {item}, model_id, {scope}, live, version, due_at, created_at, updated_at)
SELECT m.user_id, m.id, e.id, m.{item_scope}, {live}, m.version, :now, :now, :now
FROM {items} m JOIN embedding_models e ON e.user_id = m.user_id
WHERE m.user_id = :user_id AND NOT EXISTS (
    SELECT 1 FROM {vectors} x WHERE x.user_id = m.user_id AND x.{item} = m.id AND x.model_id = e.id
)
ORDER BY m.id
FOR KEY SHARE OF m, e
ON CONFLICT DO NOTHING
"""

# Every statement below looks rows up by the ids that it is given, and joins nothing else: while a user's rows are new,
# the planner's statistics do not know them yet, and a join is then done by comparing every row with every other.
_DUE = """
SELECT {item} FROM {vectors}
WHERE user_id = :user_id AND model_id = :model_id AND state = 'pending' AND due_at <= :now
ORDER BY due_at LIMIT :most FOR UPDATE SKIP LOCKED
"""

_AWAKE = text("""
SELECT id, failures FROM embedding_models
WHERE user_id = :user_id AND (rests_until IS NULL OR rests_until <= :now) ORDER BY state
""")

_CLAIM = """
UPDATE {vectors} SET attempts = attempts + 1, due_at = :lease_ends
WHERE user_id = :user_id AND {item} = ANY(:ids) AND model_id = :model_id
RETURNING {item}, attempts, version
"""

# An entity may be named again between the two statements that read its vector's row and its notes: the row gets the
# version of the notes that were read.
_CATCH_UP = """
UPDATE {vectors} SET version = :version WHERE user_id = :user_id AND {item} = :item_id AND model_id = :model_id
"""

_TEXTS = "SELECT m.id, m.version, {text} AS text FROM {items} m WHERE m.user_id = :user_id AND m.id = ANY(:ids)"

_RENEW = """
SELECT e.ctid FROM {vectors} e
JOIN unnest(CAST(:ids AS uuid[]), CAST(:model_ids AS uuid[]), CAST(:versions AS int[])) AS v(id, model_id, version)
  ON e.{item} = v.id AND e.model_id = v.model_id AND e.version = v.version
WHERE e.user_id = :user_id AND e.{item} = ANY(:ids) AND e.state = 'pending'
"""

_WAITING = """
SELECT {item}, version FROM {vectors}
WHERE user_id = :user_id AND {item} = ANY(:ids) AND model_id = :model_id AND state = 'pending'
"""

# Items before vectors, in the order of the ids: as an edit or a trim locks them, so that none waits for the other.
_LOCK = "SELECT id FROM {items} WHERE user_id = :user_id AND id = ANY(:ids) ORDER BY id FOR NO KEY UPDATE"
_LOCK_FREE = f"{_LOCK} SKIP LOCKED"

# A text that was changed while its vector was made has a newer version, and keeps waiting.
_STORE = """
UPDATE {vectors} SET state = 'ready', vector = :vector, passages = :passages, error = NULL, updated_at = :now
WHERE user_id = :user_id AND {item} = :item_id AND model_id = :model_id
  AND version = :version AND state <> 'ready'
"""

# The items are locked, so their version is that of the vectors just stored, or newer, and then they keep waiting.
_MARK_DONE = """
UPDATE {items} m SET needs_embedding = false
WHERE m.user_id = :user_id AND m.id = ANY(:ids) AND m.needs_embedding
  AND m.version = (CAST(:versions AS int[]))[array_position(CAST(:ids AS uuid[]), m.id)]
"""

_SERVES = text("SELECT state = 'active' FROM embedding_models WHERE user_id = :user_id AND id = :model_id")

_RELEASE = """
UPDATE {vectors} SET attempts = greatest(attempts - 1, 0), due_at = :now
WHERE user_id = :user_id AND {item} = ANY(:ids) AND model_id = :model_id AND state = 'pending'
"""

_FAIL = """
UPDATE {vectors} SET error = :error, state = :state, due_at = :due_at, updated_at = :now
WHERE user_id = :user_id AND {item} = :item_id AND model_id = :model_id
  AND version = :version AND state = 'pending'
"""

_WAKE = text("""
UPDATE embedding_models SET rests_until = NULL WHERE user_id = :user_id AND rests_until IS NOT NULL RETURNING id
""")

# Nothing is put off for so long on purpose, so a clock that was ahead has set that time.
_TOO_LATE = """
SELECT e.ctid FROM {vectors} e WHERE e.user_id = :user_id AND e.state = 'pending' AND e.due_at > :latest
"""

_RESTS_TOO_LONG = text("""
UPDATE embedding_models SET rests_until = NULL WHERE user_id = :user_id AND rests_until > :latest
""")

# Rows that wait for another attempt count as failed too: whoever asks for this has mended what kept them waiting.
_FAILED = """
SELECT e.ctid FROM {vectors} e WHERE e.user_id = :user_id AND (
    e.state = 'error' OR (e.state = 'pending' AND (e.error IS NOT NULL OR e.model_id = ANY(:rested))))
"""


def _unless_held(rows: str, change: str) -> str:
    """Return the template of a change of rows that leaves out those which another transaction holds.

    Such rows are stored, changed or gone in a moment. Rows of vectors are locked in no common order, so waiting for one
    while holding others could end in a deadlock. They are named by their places in the table, which hold while they are
    locked.
    """
    return f"UPDATE {{vectors}} SET {change} WHERE ctid = ANY(ARRAY({rows} FOR NO KEY UPDATE OF e SKIP LOCKED))"  # noqa: S608 - all of it is written here


_RENEW_CLAIMS = _unless_held(_RENEW, "due_at = :lease_ends")
_BRING_FORWARD = _unless_held(_TOO_LATE, "due_at = :now")
_RETRY_FAILED = _unless_held(_FAILED, "state = 'pending', attempts = 0, error = NULL, due_at = :now")


def enqueue(session: Session, user_id: UUID, ids: Sequence[UUID], now: datetime, *, shelf: Shelf = MEMORIES) -> None:
    """Ask for vectors of these items by every model of the user, whatever vectors there were."""
    if ids:
        session.execute(statement(_ENQUEUE, shelf), {"user_id": user_id, "ids": list(ids), "now": now})


def enqueue_missing(session: Session, user_id: UUID, now: datetime) -> int:
    """Ask for every vector that the user's models lack; return how many were added."""
    return _changed_on_all(session, _ENQUEUE_MISSING, {"user_id": user_id, "now": now})


def retry_failed(session: Session, user_id: UUID, now: datetime) -> int:
    """Let rows that failed or whose model rests be tried at once, given up on or not; return how many."""
    rested = wake(session, user_id)
    return _changed_on_all(session, _RETRY_FAILED, {"user_id": user_id, "now": now, "rested": rested})


def bring_forward(session: Session, user_id: UUID, now: datetime) -> None:
    """Let be tried at once what waits for a time that a clock which was ahead has set."""
    latest = now + timedelta(seconds=LONGEST_PAUSE)
    session.execute(_RESTS_TOO_LONG, {"user_id": user_id, "latest": latest})
    _changed_on_all(session, _BRING_FORWARD, {"user_id": user_id, "now": now, "latest": latest})


def wake(session: Session, user_id: UUID) -> list[UUID]:
    """Let models that rest be asked at once; return which."""
    return list(session.scalars(_WAKE, {"user_id": user_id}))


def _changed_on_all(session: Session, template: str, values: dict[str, Any]) -> int:
    changed = 0
    for shelf in SHELVES:
        result: Any = session.execute(statement(template, shelf), values)
        changed += int(result.rowcount)
    return changed


def claim(session: Session, user_id: UUID, most: int, now: datetime) -> list[Job]:
    """Take up to `most` due rows, skipping those that another worker is taking; the caller commits.

    A claim counts as an attempt and lapses after `LEASE` unless it is renewed, so a killed worker loses nothing.
    Nothing is taken for a model that rests, and half as much for each failure of a model: the provider may just be
    back, or large requests may take it too long, so the first one is small.
    """
    jobs: list[Job] = []
    for model_id, failures in session.execute(_AWAKE, {"user_id": user_id, "now": now}).all():
        full = min(most, len(jobs) + max(1, most >> failures))
        for shelf in SHELVES:
            if len(jobs) < full:
                jobs += _claim_on(shelf, session, user_id, model_id, full - len(jobs), now)
    return jobs


def _claim_on(shelf: Shelf, session: Session, user_id: UUID, model_id: UUID, most: int, now: datetime) -> list[Job]:
    scope = {"user_id": user_id, "model_id": model_id}
    ids = session.scalars(statement(_DUE, shelf), {**scope, "most": most, "now": now}).all()
    if not ids:
        return []
    # The texts are read after the claim: an edit that came before it shows here, with the version that goes with it.
    claimed = session.execute(statement(_CLAIM, shelf), {**scope, "ids": ids, "lease_ends": now + LEASE}).all()
    texts = {row.id: row for row in session.execute(statement(_TEXTS, shelf), {"user_id": user_id, "ids": ids})}
    jobs = []
    for item_id, attempts, version in claimed:
        if item_id not in texts:
            continue
        now_at = texts[item_id].version
        if now_at > version:
            session.execute(statement(_CATCH_UP, shelf), {**scope, "item_id": item_id, "version": now_at})
        jobs.append(Job(shelf, user_id, item_id, model_id, now_at, attempts, texts[item_id].text))
    return jobs


def renew(session: Session, jobs: Sequence[Job], now: datetime) -> None:
    """Keep the claims of jobs of one user from lapsing for another `LEASE`; the caller commits."""
    for shelf, group in by_shelf(jobs):
        parameters = {
            "user_id": group[0].user_id,
            "ids": [job.item_id for job in group],
            "model_ids": [job.model_id for job in group],
            "versions": [job.version for job in group],
            "lease_ends": now + LEASE,
        }
        session.execute(statement(_RENEW_CLAIMS, shelf), parameters)


def still_waiting(session: Session, jobs: Sequence[Job]) -> list[Job]:
    """Return those jobs of one model whose text is the same as at their claim, and was not forgotten since."""
    return [job for shelf, group in by_shelf(jobs) for job in _still_waiting_on(shelf, session, group)]


def _still_waiting_on(shelf: Shelf, session: Session, jobs: Sequence[Job]) -> Iterator[Job]:
    model = {"user_id": jobs[0].user_id, "model_id": jobs[0].model_id}
    ids = [job.item_id for job in jobs]
    waiting = set(session.execute(statement(_WAITING, shelf), {**model, "ids": ids}).all())
    return (job for job in jobs if (job.item_id, job.version) in waiting)


def by_shelf(jobs: Sequence[Job]) -> Iterator[tuple[Shelf, list[Job]]]:
    """Group jobs by their kind, in the one order in which everyone locks kinds."""
    order = {shelf: place for place, shelf in enumerate(SHELVES)}
    in_order = sorted(jobs, key=lambda job: order[job.shelf])
    for shelf, group in groupby(in_order, key=lambda job: job.shelf):
        yield shelf, list(group)


class Made(NamedTuple):
    """The vector of a text, shape (dimensions,), and those of its passages, shape (passages, dimensions)."""

    vector: NDArray[np.float32]
    passages: NDArray[np.float32]


def store(session: Session, jobs: Sequence[Job], made: Sequence[Made], now: datetime) -> None:
    """Write what was made for jobs of one user and one model; the caller commits."""
    made_for = {id(job): each for job, each in zip(jobs, made, strict=True)}
    for shelf, group in by_shelf(jobs):
        _store_on(shelf, session, group, [made_for[id(job)] for job in group], now)


def _hold(shelf: Shelf, session: Session, jobs: Sequence[Job]) -> set[UUID]:
    """Lock the items of jobs of one user, and return which of them are locked.

    Entities that another transaction holds are left out: it locks those that its texts name in no order, so waiting for
    it could end in a deadlock. Their claims lapse, and they come again.
    """
    lock = statement(_LOCK_FREE if shelf is ENTITIES else _LOCK, shelf)
    return set(session.scalars(lock, {"user_id": jobs[0].user_id, "ids": [job.item_id for job in jobs]}))


def _store_on(shelf: Shelf, session: Session, jobs: Sequence[Job], made: Sequence[Made], now: datetime) -> None:
    model = {"user_id": jobs[0].user_id, "model_id": jobs[0].model_id}
    held = _hold(shelf, session, jobs)
    kept = [(job, each) for job, each in zip(jobs, made, strict=True) if job.item_id in held]
    rows = [
        {
            **model,
            "item_id": job.item_id,
            "version": job.version,
            "vector": HalfVector(each.vector),
            "passages": [HalfVector(passage) for passage in each.passages] or None,
            "now": now,
        }
        for job, each in kept
    ]
    if not rows:
        return
    # Row by row in one round trip, each vector in its binary form: as one array they would travel as text.
    session.connection().execute(statement(_STORE, shelf), rows)
    if session.scalar(_SERVES, model):
        done = {"ids": [job.item_id for job, _ in kept], "versions": [job.version for job, _ in kept]}
        session.execute(statement(_MARK_DONE, shelf), {"user_id": model["user_id"], **done})


def fail(session: Session, job: Job, error: str, *, permanent: bool, now: datetime) -> None:
    """Put a job back with exponential back-off and jitter, or mark it `error` after the last attempt."""
    over = permanent or job.attempts >= MAX_ATTEMPTS
    parameters = {
        "user_id": job.user_id,
        "item_id": job.item_id,
        "model_id": job.model_id,
        "version": job.version,
        "error": error[:500],
        "state": "error" if over else "pending",
        "due_at": now + backoff(job.attempts),
        "now": now,
    }
    session.execute(statement(_FAIL, job.shelf), parameters)


def release(session: Session, jobs: Sequence[Job], now: datetime) -> None:
    """Give up the claims of jobs of one model, as if they had not been made; the caller commits."""
    for shelf, group in by_shelf(jobs):
        model = {"user_id": group[0].user_id, "model_id": group[0].model_id}
        held = _hold(shelf, session, group)
        session.execute(statement(_RELEASE, shelf), {**model, "ids": list(held), "now": now})


def backoff(attempts: int) -> timedelta:
    """Return 2 s, 4 s, 8 s … for attempts 1, 2, 3 …, at most ten minutes, times 0.5 to 1.5 at random."""
    wait: timedelta = min(BACKOFF * 2 ** min(max(0, attempts - 1), 20), LONGEST_BACKOFF)
    return wait * random.uniform(0.5, 1.5)  # noqa: S311 - spreads retries, guards nothing
