"""Ending at a signal as an exception does, so that nothing is left running."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


def told_to_end() -> tuple[signal.Signals, ...]:
    """Return the signals by which others tell this process to end.

    A terminal that is closed is one of them, unless it shall go on then: `nohup` has SIGHUP ignored.
    """
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        return (signal.SIGTERM,)
    return (signal.SIGTERM, signal.SIGHUP)


def end_at_sigterm() -> None:
    """Let what tells this process to end do so as an exception does; by itself it would leave running what was started.

    That is SIGTERM, and SIGHUP unless it is ignored.
    """
    # Only the main thread may say what a signal does, and only there would the exception be raised.
    if threading.current_thread() is threading.main_thread():
        for number in told_to_end():
            signal.signal(number, _end)


@contextmanager
def ending_at_sigterm() -> Iterator[None]:
    """Do as `end_at_sigterm` for as long as this lasts."""
    before = {number: signal.getsignal(number) for number in told_to_end()}
    end_at_sigterm()
    try:
        yield
    finally:
        for number, handler in before.items():
            _restore(number, handler)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Put off what SIGINT, SIGTERM and SIGHUP do until this is done: what must not be left half done.

    That holds for the processes too that are started in here, which Ctrl-C reaches as well, unless they say otherwise.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, *told_to_end())}
    for number in before:
        signal.signal(number, lambda number, _frame: came.append(number))
    # A process that is started has no handler of this one, and which signals wait from it.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, before)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
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
