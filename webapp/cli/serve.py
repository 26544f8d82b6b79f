"""`up`, `web` and `worker`: the processes that serve."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from types import FrameType
from typing import Any

import click
from gunicorn.app.base import BaseApplication

import config
from memory.server import EmbeddedServer, ServerError
from retrieval.tokens import tokenizer
from tasks.app import configure, huey
from tasks.runtime import Runtime, build
from webapp.cli.demo import PASSWORD, ensure_demo
from webapp.cli.wiring import migrated_runtime
from webapp.factory import create_app
from webapp.observe import set_up_logging

logger = logging.getLogger(__name__)

HOST, PORT = "127.0.0.1", 8765
# A reply that streams in holds a thread, and no connection of the database, for as long as it takes.
THREADS = 16
WATCH_SECONDS = 0.5
STOP_SECONDS = 15

_host = click.option("--host", default=HOST, show_default=True)
_port = click.option("--port", default=PORT, show_default=True, type=click.IntRange(1, 65535))


@click.command()
@_host
@_port
@click.option("--no-demo", is_flag=True, help="Make no demo user.")
def up(host: str, port: int, no_demo: bool) -> None:
    """Start everything: database, web and worker. Ctrl-C stops it all."""
    runtime = migrated_runtime()
    set_up_logging(runtime.settings.log_level)
    demo = None if no_demo else ensure_demo(runtime)
    children = {
        "web": ["web", "--host", host, "--port", str(port)],
        "worker": ["worker"],
    }
    click.echo(f"Commonplace is at http://{host}:{port}/")
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
                if self._server is not None:
                    revive_if_dead(self._server)
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


def revive_if_dead(server: EmbeddedServer) -> None:
    """Start the embedded database again after it was killed."""
    if server.alive():
        return
    logger.warning("PostgreSQL is gone and is started again")
    try:
        server.revive()
    except ServerError:
        logger.exception("PostgreSQL does not start")


def watch(server: EmbeddedServer | None) -> None:
    """Keep the embedded database alive from a thread, in a process that runs without `up`."""
    if server is None:
        return

    def look() -> None:
        while True:
            time.sleep(2 * WATCH_SECONDS)
            revive_if_dead(server)

    threading.Thread(target=look, name="database-watch", daemon=True).start()


@click.command()
@_host
@_port
def web(host: str, port: int) -> None:
    """Serve pages and interface with gunicorn."""
    runtime = migrated_runtime()
    set_up_logging(runtime.settings.log_level)
    watch(runtime.server)
    _Gunicorn(
        {
            "bind": f"{host}:{port}",
            "workers": runtime.settings.web_workers,
            "threads": THREADS,
            "worker_class": "gthread",
            "timeout": 120,
            "graceful_timeout": 10,
            # Requests are logged by the application, with their ids.
            "accesslog": None,
            "loglevel": "warning",
            "control_socket_disable": True,
        }
    ).run()


class _Gunicorn(BaseApplication):
    """Gunicorn with options from here; every worker wires itself, after the fork."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        super().__init__()

    def load_config(self) -> None:
        """Take our options."""
        for name, value in self._options.items():
            if name in self.cfg.settings:
                self.cfg.set(name, value)

    def load(self) -> Any:
        """Build the application of one worker, and load the model behind its back."""
        # One thread for each question: with more, two processes and the worker wait for one another at every step.
        runtime = build(config.load(), threads=1)
        app = create_app(runtime)
        threading.Thread(target=_preload, args=[runtime], name="model-preload", daemon=True).start()
        return app


def _preload(runtime: Runtime) -> None:
    try:
        tokenizer()
        runtime.providers.preload()
    except Exception:
        # The boundary of a thread: without the model, search degrades and says so.
        logger.exception("the local embedding model was not loaded")


@click.command()
def worker() -> None:
    """Embed, purge and maintain in the background."""
    runtime = migrated_runtime()
    set_up_logging(runtime.settings.log_level)
    watch(runtime.server)
    configure(runtime)
    threading.Thread(target=_preload, args=[runtime], name="model-preload", daemon=True).start()
    consumer = huey.create_consumer(workers=2, periodic=True, initial_delay=0.1, max_delay=1.0, scheduler_interval=1)
    consumer.run()
