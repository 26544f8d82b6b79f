"""A web server of its own for a measurement, as `commonplace web` starts it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

import httpx
import psutil

from evals.throwaway import EMBEDDING_MODEL
from tasks.app import create_queue_tables
from tasks.runtime import Runtime

START_SECONDS = 60
# The longest wait, in seconds, for the models, which the web processes load in the background: until then that would
# slow down what is measured.
SETTLE_SECONDS = 180
IDLE_SHARE = 0.05
STOP_SECONDS = 20


@contextmanager
def serving(runtime: Runtime, *, worker: bool = False, settings: Mapping[str, str] | None = None) -> Iterator[str]:
    """Serve a throwaway runtime on a free port, with or without a worker, and give the address once all is loaded.

    `settings` are environment variables of the processes.

    Raises `RuntimeError` when the server does not start.
    """
    create_queue_tables(runtime.databases.owner, runtime.databases.app_role)
    port = _free_port()
    url = f"http://127.0.0.1:{port}"
    commands = [["web", "--port", str(port)], *([["worker"]] if worker else [])]
    children = [_start(runtime, command, settings or {}) for command in commands]
    try:
        _wait_until_ready(children[0], url)
        _wait_until_idle(children)
        yield url
    finally:
        for child in children:
            _stop(child)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _start(runtime: Runtime, command: list[str], settings: Mapping[str, str]) -> subprocess.Popen[bytes]:
    ours = ("COMMONPLACE_", "DATABASE_URL", "REDIS_URL")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    environment["COMMONPLACE_HOME"] = str(runtime.settings.home)
    environment["COMMONPLACE_LOG_LEVEL"] = "WARNING"
    environment[EMBEDDING_MODEL] = os.environ.get(EMBEDDING_MODEL, "")
    environment.update(settings)
    # A process group of its own, so that Ctrl-C reaches this process alone, which then stops the server. `held` makes
    # the server end if this process is killed.
    child = subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-m", "webapp.cli", *command, "--held"],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert child.stdin is not None
    with suppress(BrokenPipeError):
        child.stdin.write(b"\n")
        child.stdin.flush()
    return child


def _wait_until_ready(web: subprocess.Popen[bytes], url: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and web.poll() is None:
        try:
            if httpx.get(f"{url}/readyz", timeout=5).is_success:
                return
        except httpx.HTTPError:
            time.sleep(0.2)
    raise RuntimeError("the web server did not start")


def _wait_until_idle(children: list[subprocess.Popen[bytes]]) -> None:
    deadline = time.monotonic() + SETTLE_SECONDS
    before, busy = _cpu_seconds(children), True
    while busy and time.monotonic() < deadline:
        time.sleep(1.0)
        after = _cpu_seconds(children)
        busy, before = after - before > IDLE_SHARE, after


def _cpu_seconds(children: list[subprocess.Popen[bytes]]) -> float:
    total = 0.0
    for child in children:
        parent = psutil.Process(child.pid)
        for process in (parent, *parent.children(recursive=True)):
            times = process.cpu_times()
            total += times.user + times.system
    return total


def _stop(child: subprocess.Popen[bytes]) -> None:
    child.send_signal(signal.SIGTERM)
    try:
        child.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    finally:
        if child.stdin is not None:
            child.stdin.close()
