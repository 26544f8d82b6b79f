"""Ending at a signal as an exception does, so that nothing is left running."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


def end_at_sigterm() -> None:
    """Let SIGTERM end this process as an exception does; by itself it would leave running what was started."""
    # Only the main thread may say what a signal does, and only there would the exception be raised.
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _end)


@contextmanager
def ending_at_sigterm() -> Iterator[None]:
    """Do as `end_at_sigterm` for as long as this lasts."""
    before = signal.getsignal(signal.SIGTERM)
    end_at_sigterm()
    try:
        yield
    finally:
        _restore(signal.SIGTERM, before)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Put off what SIGINT and SIGTERM do until this is done: what must not be left half done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, lambda number, _frame: came.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            _restore(number, handler)
        if came:
            signal.raise_signal(came[0])


def _end(number: int, _frame: FrameType | None) -> None:
    # Whoever asks twice must not interrupt the clearing up.
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


def _restore(number: int, handler: Any) -> None:
    if handler is not None and threading.current_thread() is threading.main_thread():
        signal.signal(number, handler)
