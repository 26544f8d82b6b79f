"""Enrichment in the background: names, tags and entities, once the vectors that are due are made, or left to others.

It comes after embedding, in the worker's thread and not through the queue, where it would stand before the next
write's nudge.
"""

from __future__ import annotations

import logging
import threading
import time
from functools import lru_cache
from typing import Any

from huey import crontab
from huey.signals import SIGNAL_COMPLETE
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session, sessionmaker

from memory.clock import utc_now
from memory.enrichment.enrich import Enricher
from memory.remote.llm import ChatModel
from tasks.app import huey, runtime
from tasks.embedding import embed, embed_waiting, nudge
from tasks.runtime import Runtime

logger = logging.getLogger(__name__)

# One run gives its thread back in time for the next minute's tasks.
LONGEST_RUN = 45.0  # seconds
# One thread reads at a time: the others are for embedding.
_reading = threading.Lock()


@huey.periodic_task(crontab(minute="*"))
def enrich_waiting() -> int:
    """Read waiting texts for names and tags, for a while; returns how many texts were settled."""
    return enrich()


@huey.signal(SIGNAL_COMPLETE)
def after_embedding(_signal: str, task: Any, _error: object = None) -> None:
    """Read the texts that were just embedded for names and tags."""
    if task.name == embed_waiting.task_class.__name__ and not huey.immediate:
        enrich()


def enrich(longest: float = LONGEST_RUN) -> int:
    """Read what waits, batch by batch, for so many seconds; vectors that fall due meanwhile come first.

    While as many threads embed as may, which a slow provider keeps at it for hours, one batch is read. Returns how many
    texts were settled: 0 when enrichment is off, or when another thread is at it.
    """
    current = runtime()
    if not current.settings.enrichment:
        return 0
    deadline, total = time.monotonic() + longest, 0
    try:
        while time.monotonic() < deadline:
            is_last = not _embed_what_is_due(current)
            done = _read_batch(current)
            total += done
            if is_last or not done:
                break
    except OperationalError as error:
        # Nothing was lost: what was not written waits for the next run.
        logger.warning("enrichment stopped, the database does not answer: %s", type(error.orig).__name__)
    if total:
        # Entities that were found want vectors.
        nudge()
    return total


def _read_batch(current: Runtime) -> int:
    """Read one batch unless another thread is at it; return how many texts were settled."""
    if not _reading.acquire(blocking=False):
        return 0
    try:
        return _enricher(current.sessions, current.chat_model).step()
    finally:
        _reading.release()


def _embed_what_is_due(current: Runtime) -> bool:
    """Embed what is due first; tell whether that was done, and not left to the threads that are at it."""
    due = current.backfill.next_due()
    return due is None or due > utc_now() or embed() is not None


@lru_cache(maxsize=1)
def _enricher(sessions: sessionmaker[Session], chat_model: ChatModel | None) -> Enricher:
    """Return the one enricher of this process; it remembers whose turn is next."""
    return Enricher(sessions, utc_now, chat_model)
