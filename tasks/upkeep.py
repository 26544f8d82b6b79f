"""What time does to data: undo windows close, tombstones and memories expire, and what nobody wants is archived."""

from __future__ import annotations

import logging
import time
from uuid import UUID

from huey import crontab
from sqlalchemy import func, select, union

from memory.database import user_session
from memory.embedding.backfill import utc_now
from memory.forget import purge
from memory.notebooks.notebooks import UNDO_WINDOW
from memory.rates import drop_old_counts
from memory.retention import age_out, spaces_with_aged
from memory.telemetry import advance_totals
from tasks.app import huey, runtime

logger = logging.getLogger(__name__)

# One run gives its thread back in time for the next minute's tasks, and the next hour's goes on.
LONGEST_RUN = 45.0  # seconds
# The user and the space that this process looked at last.
_left_off = [(UUID(int=0), UUID(int=0))]


@huey.periodic_task(crontab(minute="*"))
def purge_due() -> int:
    """Remove for good what is due, user by user; returns how many rows."""
    now = utc_now()
    sessions = runtime().sessions
    with sessions.begin() as session:
        drop_old_counts(session, now)
        session.execute(select(func.purge_caches(now)))
        users = session.scalars(
            union(select(func.users_with_expired_rows(now)), select(func.users_with_removed_cells(now - UNDO_WINDOW)))
        ).all()
    total = 0
    for user_id in users:
        with user_session(sessions, user_id) as session:
            total += purge(session, user_id, keys=runtime().keys, now=now)
    return total


@huey.periodic_task(crontab(minute="7"))
def count_on() -> None:
    """Bring the totals of what was done forward."""
    with runtime().sessions.begin() as session:
        advance_totals(session, utc_now())


@huey.periodic_task(crontab(minute="17"))
def archive_aged() -> int:
    """Archive what is older than its space keeps it, batch by batch; returns how many memories."""
    deadline, total = time.monotonic() + LONGEST_RUN, 0
    with runtime().sessions() as session:
        spaces = spaces_with_aged(session, utc_now())
    # Where the last run left off: what is looked at every hour, and wanted, keeps nobody else's waiting.
    for place in sorted(spaces, key=lambda place: (place <= _left_off[0], place)):
        total += _archive_aged_of(*place, deadline)
        _left_off[:] = [place]
        if time.monotonic() >= deadline:
            break
    if total:
        logger.info("%d memories were archived, as their spaces keep them no longer", total)
    return total


def _archive_aged_of(user_id: UUID, space_id: UUID, deadline: float) -> int:
    total, after = 0, None
    while True:
        # A transaction for each: who writes to the space waits for one batch and no longer.
        with user_session(runtime().sessions, user_id) as session:
            aged = age_out(session, user_id, space_id, now=utc_now(), after=after)
        total, after = total + len(aged.ids), aged.last
        if after is None or time.monotonic() >= deadline:
            return total
