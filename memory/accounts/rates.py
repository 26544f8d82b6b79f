"""Counting how often something was done in a window, across processes."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import delete
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from memory.models import RateCount


def count_use(session: Session, key: str, window: timedelta, now: datetime) -> int:
    """Count one more use of `key` in the present window and return the count; the caller commits."""
    seconds = int(window.total_seconds())
    start = datetime.fromtimestamp(int(now.timestamp()) // seconds * seconds, tz=now.tzinfo)
    statement = insert(RateCount).values(key=key, window_start=start, count=1)
    counted = statement.on_conflict_do_update(
        index_elements=[RateCount.key, RateCount.window_start], set_={"count": RateCount.count + 1}
    ).returning(RateCount.count)
    return session.scalars(counted).one()


def drop_old_counts(session: Session, now: datetime) -> None:
    """Delete the counts of windows that nobody asks about any more."""
    session.execute(delete(RateCount).where(RateCount.window_start < now - timedelta(days=1)))
