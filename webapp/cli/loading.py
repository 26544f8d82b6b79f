"""What the processes that serve load behind the backs of those who ask already."""

from __future__ import annotations

import atexit
import ctypes
import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from retrieval.words.tokens import tokenizer
from tasks.runtime import Runtime

logger = logging.getLogger(__name__)

_loading: list[threading.Thread] = []
_ended_in_order = threading.Event()


def preload(runtime: Runtime, *, asked: bool) -> None:
    """Load the model from a thread, and for who is `asked` also what only a search needs."""
    thread = threading.Thread(target=_load, args=[runtime, asked], name="model-preload", daemon=True)
    _loading.append(thread)
    thread.start()


def allow_ending() -> None:
    """Let this process end while it loads. Call it before anything that is to be done at the end is registered."""
    # Registered first, so that it runs last.
    atexit.register(_end_if_loading)


@contextmanager
def in_order() -> Iterator[None]:
    """Note that this process ends in order, once this is done or left by a `SystemExit` without a complaint."""
    try:
        yield
    except SystemExit as end:
        if not end.code:
            _end_in_order()
        raise
    _end_in_order()


def _end_in_order() -> None:
    _ended_in_order.set()
    # Nothing more is logged: what fails from here on does so because the process ends.
    for handler in logging.getLogger().handlers:
        handler.addFilter(lambda record: record.thread not in {each.ident for each in _loading})


def _end_if_loading() -> None:
    # The interpreter takes its threads away as it ends, and native code in the middle of loading answers by a crash.
    if _ended_in_order.is_set() and any(each.is_alive() for each in _loading):
        logging.shutdown()
        sys.stdout.flush()
        os._exit(0)


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
