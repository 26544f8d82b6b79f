"""What the processes that serve load behind the backs of those who ask already."""

from __future__ import annotations

import ctypes
import logging
import sys
import threading

from retrieval.tokens import tokenizer
from tasks.runtime import Runtime

logger = logging.getLogger(__name__)


def preload(runtime: Runtime, *, asked: bool) -> None:
    """Load the model from a thread, and for who is `asked` also what only a search needs."""
    threading.Thread(target=_load, args=[runtime, asked], name="model-preload", daemon=True).start()


def _load(runtime: Runtime, asked: bool) -> None:
    try:
        tokenizer()
        runtime.providers.preload(asked=asked)
    except Exception:
        # The boundary of a thread: without the model, search degrades and says so.
        logger.exception("the local embedding model was not loaded")
    if asked:
        runtime.reader()
    give_back()


def give_back() -> None:
    """Give the system back what was needed while loading: a fifth of a process, which the C library would keep."""
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
        trim(0)
