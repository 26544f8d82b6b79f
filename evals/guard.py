"""Clears up after a measurement that was killed: `python -m evals.guard HOME`, a process that waits for its end.

A process that is killed stops nothing, and the database of a measurement would run on for ever.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_ALL_IS_WELL = b"."
ATTEMPTS = 100


@contextmanager
def guarded(home: Path) -> Iterator[None]:
    """Let another process end the database in a folder and remove the folder, should this process be killed."""
    # The guard is given a session of its own, so that a signal which ends all that a terminal has started does not end
    # it.
    command = [sys.executable, "-m", "evals.guard", str(home)]
    guard = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)  # noqa: S603 - our own command
    try:
        yield
    finally:
        with suppress(BrokenPipeError):
            guard.communicate(_ALL_IS_WELL)


def main(home: Path) -> None:
    """Wait until the other end of standard input is closed, and clear up unless it was said before that all is well."""
    if sys.stdin.buffer.read(1) == _ALL_IS_WELL:
        return
    # Imported here, as it is hardly ever needed.
    from memory.server.embedded import end_server  # noqa: PLC0415

    for _ in range(ATTEMPTS):
        end_server(home)
        shutil.rmtree(home, ignore_errors=True)
        if not home.exists():
            break
        # A process that is still setting up the database has written no process id yet; it goes on until it misses its
        # files.
        time.sleep(0.1)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
