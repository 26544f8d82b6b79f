"""The processes of a server: found by what they leave in files, told from those of others, and ended."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import psutil

# How long each way of ending a server may take before the next, which is harder.
ENDING_SECONDS = 3.0


def pid_in(path: Path) -> int | None:
    """Return the number of the server that a pid file, or the lock of a socket, names; None without one."""
    try:
        # `initdb` fills a folder by one that serves nobody, and whose number stands there less than zero.
        return abs(int(path.read_text(encoding="utf-8").splitlines()[0]))
    except (OSError, ValueError, IndexError):
        return None


def named_in(path: Path) -> Iterable[psutil.Process]:
    """Return the process that a pid file, or the lock of a socket, names, or all where the power went before it did."""
    return psutil.process_iter() if (pid := pid_in(path)) is None else [psutil.Process(pid)]


def is_running(pid: int) -> bool:
    """Tell whether a process runs; a zombie does not."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def is_postgres(pid: int | None) -> bool:
    """Tell whether a process runs and is one of PostgreSQL's, of whatever folder."""
    try:
        return pid is not None and is_running(pid) and "postgres" in psutil.Process(pid).name()
    except psutil.Error:
        return False


def serves(process: psutil.Process, folder: Path) -> bool:
    """Tell whether a process is the server of a folder: a stale pid file may name another server by now.

    It was told the folder when it was started, and works in it even if it was moved since. Raises `psutil.AccessDenied`
    where it must not be asked.
    """
    try:
        # `is_running` asks when it was started, too: another process may carry the number by now.
        return (
            process.is_running()
            and is_postgres(process.pid)
            and (str(folder) in process.cmdline() or _works_in(process, folder))
        )
    except psutil.NoSuchProcess:
        return False


def end_postmaster(process: psutil.Process | None, folder: Path) -> None:
    """End the server of a folder if that is what the process is."""
    # The folder may have been moved: first in order, then at once, then by force.
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
        try:
            if process is None or not serves(process, folder):
                return
            process.send_signal(number)
        except psutil.Error:
            return  # It has ended, or is not ours to end.
        deadline = time.monotonic() + ENDING_SECONDS
        while is_postgres(process.pid) and time.monotonic() < deadline:
            time.sleep(0.05)


def end_orphans(folder: Path) -> None:
    """End what a server that was killed in a folder has left running, as where it is in the middle of a statement."""
    ended = list(_orphans(folder))
    for each in ended:
        with contextlib.suppress(psutil.Error):
            each.kill()
    psutil.wait_procs(ended, ENDING_SECONDS)


def _orphans(folder: Path) -> Iterator[psutil.Process]:
    """Yield what a server that was killed in a folder has left running.

    Its processes end once they notice. One that fails at every step, as where its files are gone, never looks.
    """
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            is_orphan = is_postgres(process.pid) and not is_postgres(process.ppid())
            if is_orphan and str(folder) not in process.cmdline() and _works_in(process, folder):
                yield process


def place_of(process: psutil.Process) -> os.stat_result | None:
    """Return the folder that a process works in; None where that is not told, as of one that is about to have ended."""
    # By its name alone one that was deleted cannot be told from what is there now.
    with contextlib.suppress(OSError):
        return os.stat(f"/proc/{process.pid}/cwd")
    try:
        name = process.cwd()
    except psutil.Error:
        return None
    return os.stat(name) if name else None


def _works_in(process: psutil.Process, folder: Path) -> bool:
    try:
        return Path(process.cwd()) == folder
    except psutil.AccessDenied:
        return False
