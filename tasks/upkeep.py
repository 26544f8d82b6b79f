"""What time does to data: undo windows close, tombstones and memories expire, and what nobody wants is archived."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from huey import crontab
from sqlalchemy import func, select, union
from sqlalchemy.exc import OperationalError

from memory.accounts.rates import drop_old_counts
from memory.clock import utc_now
from memory.forgetting.forget import set_aside_expired
from memory.forgetting.purge import purge
from memory.notebooks.notebooks import UNDO_WINDOW
from memory.record.telemetry import advance_totals
from memory.storage.database import user_session
from memory.storage.samples import sample_anew
from memory.writing.retention import age_out, spaces_with_aged
from memory.writing.roll_ups import outdated
from tasks.app import huey, runtime
from tasks.rollup import roll_up, roll_up_again

logger = logging.getLogger(__name__)

# One run gives its thread back in time for the next minute's tasks, and the next hour's goes on.
LONGEST_RUN = 45.0  # seconds
# Who writes to a space waits for one batch of what has expired there, and no longer.
SET_ASIDE_AT_ONCE = 1000
# Each batch reads the whole record of calls for what it must blank there, in about the same time for few and many.
PURGED_AT_ONCE = 20_000


@dataclass(slots=True)
class _Round:
    """How far this process has come with everybody's spaces."""

    last: tuple[UUID, UUID]  # a user and a space


_aging = _Round((UUID(int=0), UUID(int=0)))


@huey.periodic_task(crontab(minute="*"))
def purge_due() -> int:
    """Delete for good everything that is due, user by user; returns how many rows were deleted.

    A failure for one user, or with the caches, is logged and tried again the next time; the other users' rows are
    deleted nonetheless.
    """
    now = utc_now()
    sessions = runtime().sessions
    with _logged("old caches and counts are not dropped"), sessions.begin() as session:
        drop_old_counts(session, now)
        session.execute(select(func.purge_caches(now)))
    with sessions() as session:
        users = session.scalars(
            union(select(func.users_with_expired_rows(now)), select(func.users_with_removed_cells(now - UNDO_WINDOW)))
        ).all()
    total = 0
    for user_id in users:
        with _logged("what is due is not purged for user %s", user_id):
            total += _purge_of(user_id, now)
    return total


def _purge_of(user_id: UUID, now: datetime) -> int:
    # Each batch is a transaction, so the spaces of the first ones are free again while the others are read.
    aside = SET_ASIDE_AT_ONCE
    while aside >= SET_ASIDE_AT_ONCE:
        with user_session(runtime().sessions, user_id) as session:
            aside = set_aside_expired(session, user_id, now=now, most=SET_ASIDE_AT_ONCE)
    total, gone = 0, PURGED_AT_ONCE
    while gone >= PURGED_AT_ONCE:
        with user_session(runtime().sessions, user_id) as session:
            gone = purge(session, user_id, keys=runtime().keys, now=now, most=PURGED_AT_ONCE)
        total += gone
    return total


@contextmanager
def _logged(message: str, *values: object) -> Iterator[None]:
    """Log an error that concerns one user, and go on; raise one that concerns all, as when the database is away."""
    try:
        yield
    except Exception as error:  # The boundary between people: what one's rows do is no reason to fail the others'.
        if _is_away(error):
            raise
        logger.exception(message, *values)


def _is_away(error: Exception) -> bool:
    # Whoever could not connect at all was told no code.
    return isinstance(error, OperationalError) and (
        error.connection_invalidated or getattr(error.orig, "sqlstate", None) is None
    )


# Not when vector indexes are begun, which read far more.
@huey.periodic_task(crontab(minute="5-59/10"))
def sample_changed() -> list[str]:
    """Let the planner's samples forget what was purged; returns the names of the tables that had changed."""
    with runtime().databases.as_owner() as owner:
        return sample_anew(owner)


@huey.periodic_task(crontab(minute="7"))
def count_on() -> None:
    """Bring the totals of what was done forward."""
    with runtime().sessions.begin() as session:
        advance_totals(session, utc_now())


@huey.periodic_task(crontab(minute="17"))
def archive_aged() -> int:
    """Archive memories that are older than their space keeps them, batch by batch; returns how many.

    A failure in one space is logged and tried again the next time; the other spaces are archived nonetheless.
    """
    deadline, total = time.monotonic() + LONGEST_RUN, 0
    with runtime().sessions() as session:
        spaces = spaces_with_aged(session, utc_now())
    # Begins behind where the last run ended, so that spaces which are looked at every hour keep nobody else waiting.
    for place in sorted(spaces, key=lambda place: (place <= _aging.last, place)):
        with _logged("nothing more is archived for user %s in space %s", *place):
            total += _archive_aged_of(*place, deadline)
        _aging.last = place
        if time.monotonic() >= deadline:
            break
    if total:
        logger.info("%d memories were archived, as their spaces keep them no longer", total)
    return total


@huey.periodic_task(crontab(minute="37"))
def roll_up_corrected() -> int:
    """Make roll-ups anew of which a source was corrected since; returns how many say something else now."""
    deadline, total = time.monotonic() + LONGEST_RUN, 0
    with runtime().sessions() as session:
        found = outdated(session)
    for user_id, memory_id in found:
        with _logged("the roll-up %s of user %s is not made anew", memory_id, user_id):
            total += roll_up_again(user_id, memory_id)
        if time.monotonic() >= deadline:
            break
    return total


def _archive_aged_of(user_id: UUID, space_id: UUID, deadline: float) -> int:
    rolled_up = roll_up(user_id, space_id, deadline)
    if rolled_up is not None:
        return rolled_up
    total, after = 0, None
    while True:
        # A transaction for each: who writes to the space waits for one batch and no longer.
        with user_session(runtime().sessions, user_id) as session:
            aged = age_out(session, user_id, space_id, now=utc_now(), after=after)
        total, after = total + len(aged.ids), aged.last
        if after is None or time.monotonic() >= deadline:
            return total
