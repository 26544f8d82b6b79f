"""The processes of `up`: starting and stopping them."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

import click

logger = logging.getLogger(__name__)

STOP_SECONDS = 15
_HOLDER = 0  # standard input

Child = subprocess.Popen[bytes]

held_option = click.option("--held", is_flag=True, hidden=True)


def start(arguments: Sequence[str]) -> Child:
    """Start a command, which imports all that it needs and does nothing until it is `let_go`.

    It must have the `held_option`, and ask `is_let_go` first of all.
    """
    command = [sys.executable, "-m", "webapp.cli", *arguments, "--held"]
    # A group of its own: Ctrl-C reaches this process alone, which then stops them in order.
    return subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)


def let_go(child: Child) -> None:
    """Let a child that is held go on; one that has ended by now is left to who watches it."""
    assert child.stdin is not None
    with suppress(BrokenPipeError):
        child.stdin.write(b"\n")
        child.stdin.flush()


def is_let_go() -> bool:
    """Wait, in a process that is held, until it is let go; False if the process that holds it has ended.

    Let go, it ends as at SIGTERM once that process has, however that happened: nobody else would stop it, and it would
    keep the port from the next one.
    """
    if not os.read(_HOLDER, 1):
        return False
    threading.Thread(target=_end_with_holder, daemon=True).start()
    return True


def _end_with_holder() -> None:
    # Nothing more is written there: it ends with the process that has the other end.
    while os.read(_HOLDER, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def stop(children: Mapping[str, Child]) -> None:
    """Tell all to end, and kill who has not by then."""
    for child in children.values():
        if child.poll() is None:
            child.send_signal(signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    for name, child in children.items():
        try:
            child.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            logger.warning("%s did not stop in time and is killed", name)
            os.killpg(child.pid, signal.SIGKILL)
