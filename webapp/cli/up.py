"""`up`: everything at once, kept running by a process that serves nothing itself."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from types import FrameType

import click

from memory.errors import ServerError
from memory.server import EmbeddedServer
from webapp.cli.demo import PASSWORD, ensure_demo
from webapp.cli.ports import check_free, host_option, netloc, port_option
from webapp.cli.revive import WATCH_SECONDS, revive_if_dead
from webapp.cli.running import migrated_runtime
from webapp.logs import set_up_logging

logger = logging.getLogger(__name__)

STOP_SECONDS = 15


@click.command()
@host_option
@port_option
@click.option("--no-demo", is_flag=True, help="Make no demo user.")
def up(host: str, port: int, no_demo: bool) -> None:
    """Start everything: database, web and worker. Ctrl-C stops it all."""
    check_free(host, port)
    runtime = migrated_runtime()
    set_up_logging(runtime.settings.log_level)
    demo = None if no_demo else ensure_demo(runtime)
    children = {
        "web": ["web", "--host", host, "--port", str(port)],
        "worker": ["worker"],
    }
    click.echo(f"Commonplace is at http://{netloc(host, port)}/")
    if demo:
        click.echo(f"Log in as {demo} with the password {PASSWORD}")
    click.echo("Ctrl-C stops it.")
    _Supervisor(runtime.server, children).run()


class _Supervisor:
    """Keeps the children and the embedded database running until it is told to stop."""

    def __init__(self, server: EmbeddedServer | None, commands: dict[str, list[str]]) -> None:
        self._server = server
        self._commands = commands
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._stopping = threading.Event()

    def run(self) -> None:
        """Start the children, start again what dies, stop all on SIGINT or SIGTERM."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)
        try:
            while not self._stopping.is_set():
                if self._server is not None and not revive_if_dead(self._server):
                    raise ServerError(f"the data folder {self._server.folder} was deleted")
                self._start_missing()
                self._stopping.wait(WATCH_SECONDS)
        finally:
            self._stop_children()

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self._stopping.set()

    def _start_missing(self) -> None:
        for name, arguments in self._commands.items():
            child = self._running.get(name)
            if child is not None and child.poll() is None:
                continue
            if child is not None:
                logger.warning("%s ended with %s and is started again", name, child.returncode)
            # A group of its own: Ctrl-C reaches this process alone, which then stops them in order.
            self._running[name] = subprocess.Popen(
                [sys.executable, "-m", "webapp.cli", *arguments], start_new_session=True
            )

    def _stop_children(self) -> None:
        for child in self._running.values():
            if child.poll() is None:
                child.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        for name, child in self._running.items():
            try:
                child.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                logger.warning("%s did not stop in time and is killed", name)
                os.killpg(child.pid, signal.SIGKILL)
