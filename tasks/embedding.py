"""Embedding in the background. The rows are the truth, and a task is only a nudge."""

from __future__ import annotations

import logging
import threading
from datetime import timedelta

from huey import crontab
from huey.exceptions import HueyException
from psycopg import Error as PostgresError
from psycopg.errors import AdminShutdown, CrashShutdown
from redis.exceptions import RedisError

from memory.clock import utc_now
from memory.embedding.indexes import maintain_indexes
from memory.errors import first_line
from memory.remote.breaker import Breaker
from retrieval.lookup.candidates import EXACT_SCAN_LIMIT
from tasks.app import huey, runtime

logger = logging.getLogger(__name__)

QUEUE_PAUSE = 2.0  # seconds without nudges after one that failed
queue_breaker = Breaker(QUEUE_PAUSE)
# How many threads embed at once: more than one, as a provider may keep one waiting. A large import takes hours, so the
# other threads are for what must not wait that long, such as purges.
EMBEDDING_AT_ONCE = 2
THREADS = EMBEDDING_AT_ONCE + 2  # of the worker; an index is built for long as well
_embedding = threading.BoundedSemaphore(EMBEDDING_AT_ONCE)
# Set when a task found both threads taken: these may have looked for the last time already, and look once more.
_turned_away = threading.Event()


def nudge() -> None:
    """Ask a worker to look for rows that wait for a vector; call it after the commit.

    A look that is queued and has not begun will see what was just committed, so one is enough. When the queue is down,
    this neither fails nor waits: the sweep finds the rows later.
    """
    if not queue_breaker.allows():
        return
    try:
        try:
            _queue_a_look()
        except (AdminShutdown, CrashShutdown):
            # A server that shut down while the connection was idle has left this on it, which shows only now: it may be
            # back.
            _queue_a_look()
    except (PostgresError, RedisError, HueyException, OSError) as error:
        if queue_breaker.failed():
            logger.warning("the embedder was not nudged; the sweep will find the rows: %s", first_line(error))
    else:
        queue_breaker.worked()


def _queue_a_look() -> None:
    if huey.immediate or not huey.pending_count():
        embed_waiting()


@huey.task()
def embed_waiting() -> int:
    """Embed all that is due, then come back for what falls due later: retries and lapsed claims.

    While as many threads as may are at it, it is left to them.
    """
    done = embed()
    due = runtime().backfill.next_due()
    if due is not None and not huey.immediate and not huey.scheduled_count():
        embed_waiting.schedule(delay=max(1.0, (due - utc_now()) / timedelta(seconds=1)))
    return done or 0


def embed() -> int | None:
    """Embed all texts that are due; returns how many rows were settled.

    None while as many threads as may are embedding already.
    """
    done = _embed()
    if done is None:
        _turned_away.set()
        # The last thread may have ended before it could see that somebody was turned away.
        done = _embed()
    while done is not None and _turned_away.is_set() and (more := _embed()) is not None:
        done += more
    return done


def _embed() -> int | None:
    if not _embedding.acquire(blocking=False):
        return None
    try:
        _turned_away.clear()
        return runtime().backfill.run()
    finally:
        _embedding.release()


@huey.periodic_task(crontab(minute="*"))
def sweep() -> int:
    """Find rows whose nudge was lost and users whose model changed, then embed."""
    queued = runtime().backfill.sweep()
    embed_waiting.call_local()
    return queued


@huey.task()
def fill() -> int:
    """Embed as the sweep does, and at once also what rests after failures.

    Somebody asked for this by hand, who has mended the cause or wants to know.
    """
    runtime().backfill.wake()
    queued: int = sweep.call_local()
    return queued


@huey.periodic_task(crontab(minute="*/10"))
def index_vectors() -> list[str]:
    """Build the vector indexes that grown scopes need."""
    with runtime().databases.as_owner() as owner:
        return maintain_indexes(owner, EXACT_SCAN_LIMIT)
