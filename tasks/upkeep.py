"""What time does to data: undo windows close, tombstones and memories expire."""

from __future__ import annotations

from huey import crontab
from sqlalchemy import func, select

from memory.database import user_session
from memory.embedding.backfill import utc_now
from memory.forget import purge
from memory.rates import drop_old_counts
from tasks.app import huey, runtime


@huey.periodic_task(crontab(minute="*"))
def purge_due() -> int:
    """Remove for good what is due, user by user; returns how many rows."""
    now = utc_now()
    sessions = runtime().sessions
    with sessions.begin() as session:
        drop_old_counts(session, now)
        session.execute(select(func.purge_caches(now)))
        users = session.scalars(select(func.users_with_expired_rows(now))).all()
    total = 0
    for user_id in users:
        with user_session(sessions, user_id) as session:
            total += purge(session, user_id, keys=runtime().keys, now=now)
    return total
