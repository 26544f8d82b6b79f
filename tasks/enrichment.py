"""Enrichment in the background: names, tags and entities, whenever no vector is due.

It comes after embedding, in the worker's thread and not through the queue, where it would stand before the next
write's nudge.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

from huey import crontab
from huey.signals import SIGNAL_COMPLETE
from sqlalchemy.exc import OperationalError

from memory.embedding.backfill import utc_now
from memory.enrichment.enrich import Enricher
from tasks.app import huey, runtime
from tasks.embedding import embed, embed_waiting, nudge
from tasks.runtime import Runtime

logger = logging.getLogger(__name__)

# One run gives its thread back in time for the next minute's tasks.
LONGEST_RUN = 45.0  # seconds
# One thread reads at a time: the others are for embedding.
_reading = threading.Lock()
_enrichers: dict[int, Enricher] = {}


@huey.periodic_task(crontab(minute="*"))
def enrich_waiting() -> int:
    """Read what waits, for a while; returns how many texts were settled."""
    return enrich()


@huey.signal(SIGNAL_COMPLETE)
def after_embedding(_signal: str, task: Any, _error: object = None) -> None:
    """Read what was just embedded."""
    if task.name == embed_waiting.task_class.__name__ and not huey.immediate:
        enrich()


def enrich(longest: float = LONGEST_RUN) -> int:
    """Read what waits, batch by batch, for so many seconds; vectors that fall due meanwhile come first.

    Returns how many texts were settled: 0 when enrichment is off, or when another thread is at it.
    """
    current = runtime()
    if not current.settings.enrichment or not _reading.acquire(blocking=False):
        return 0
    try:
        return _enrich(current, time.monotonic() + longest)
    finally:
        _reading.release()


def _enrich(current: Runtime, deadline: float) -> int:
    enricher = _enricher(current)
    total = 0
    try:
        while time.monotonic() < deadline:
            if not _embed_what_is_due(current):
                break
            done = enricher.step()
            total += done
            if not done:
                break
    except OperationalError as error:
        # Nothing was lost: what was not written waits for the next run.
        logger.warning("enrichment stopped, the database does not answer: %s", type(error.orig).__name__)
    if total:
        # Entities that were found want vectors.
        nudge()
    return total


def _embed_what_is_due(current: Runtime) -> bool:
    """Embed what is due first; tell whether that was done, and not left to the threads that are at it."""
    due = current.backfill.next_due()
    return due is None or due > utc_now() or embed() is not None


def _enricher(current: Runtime) -> Enricher:
    """Return the enricher of this process's runtime; it remembers whose turn is next."""
    if id(current) not in _enrichers:
        _enrichers.clear()
        _enrichers[id(current)] = Enricher(current.sessions, utc_now, current.chat_model)
    return _enrichers[id(current)]
