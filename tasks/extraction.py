"""Facts out of conversations, in the background, where a language model is set and a space wants it."""

from __future__ import annotations

import logging
import threading
import time
from functools import lru_cache

from huey import crontab
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session, sessionmaker

from memory.clock import utc_now
from memory.extraction.extract import Extractor
from memory.keys import Keys
from memory.remote.llm import ChatModel
from tasks.app import huey, runtime
from tasks.runtime import patient

logger = logging.getLogger(__name__)

# One run gives its thread back in time for the next minute's tasks, but for what a slow model is at by then: the worker
# has a thread more for that.
LONGEST_RUN = 40.0  # seconds
# One thread reads at a time: what one has begun to read, another would read once more.
_reading = threading.Lock()


@huey.periodic_task(crontab(minute="*"))
def extract_waiting() -> int:
    """Read waiting conversations for facts, for a while; returns how many messages were settled."""
    return extract()


def extract(longest: float = LONGEST_RUN) -> int:
    """Read part by part, for so many seconds; returns how many messages were settled.

    0 where no language model is set, or when another thread is at it.
    """
    current = runtime()
    if current.chat_model is None or not _reading.acquire(blocking=False):
        return 0
    deadline, total = time.monotonic() + longest, 0
    try:
        extractor = _extractor(current.sessions, current.keys, patient(current.chat_model))
        while time.monotonic() < deadline and (done := extractor.step()):
            total += done
    except OperationalError as error:
        # Nothing was lost: what was not kept waits for the next run.
        logger.warning("extraction stopped, the database does not answer: %s", type(error.orig).__name__)
    finally:
        _reading.release()
    return total


@lru_cache(maxsize=1)
def _extractor(sessions: sessionmaker[Session], keys: Keys, chat_model: ChatModel) -> Extractor:
    """Return the one extractor of this process; it remembers whose turn is next."""
    return Extractor(sessions, keys, utc_now, chat_model)
