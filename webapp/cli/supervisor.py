"""Keeping the processes that serve, and their database, running."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Mapping, Sequence
from types import FrameType

import click
from sqlalchemy import func, select

from memory.ending import told_to_end
from memory.errors import ServerError
from memory.server.embedded import EmbeddedServer
from tasks.runtime import Runtime
from webapp.cli import children
from webapp.cli.children import Child
from webapp.cli.demo import ensure_demo
from webapp.cli.ports import netloc, wait_for_answer
from webapp.cli.revive import WATCH_SECONDS, look_after
from webapp.cli.running import migrated_runtime, warn_of_unread
from webapp.logs import set_up_logging

logger = logging.getLogger(__name__)


def supervise(
    host: str, port: int, commands: Mapping[str, Sequence[str]], running: dict[str, Child], *, with_demo: bool
) -> None:
    """Start the database and the commands by name, and keep them running until told to end.

    Those that are `running` already are held. Whoever calls must stop what is in there afterwards, however this ends.
    Host and port are where they serve, which is said once a request is answered there.
    """
    runtime = migrated_runtime()
    set_up_logging(runtime.settings.log_level)
    warn_of_unread()
    login = ensure_demo(runtime) if with_demo else _first_account(runtime)
    supervisor = _Supervisor(runtime.server, commands, running)
    threading.Thread(target=_announce, args=(host, port, login, supervisor.stopping), daemon=True).start()
    supervisor.run()


def _announce(host: str, port: int, login: str | None, stopping: threading.Event) -> None:
    """Say the address, and how to log in there, once it can be opened."""
    if not wait_for_answer(host, port, stopping):
        return
    click.echo(f"Commonplace is at http://{netloc(host, port)}/")
    if login:
        click.echo(login)
    click.echo("Ctrl-C stops it.")


def _first_account(runtime: Runtime) -> str | None:
    """Return in words how an account is made, where there is none to log in with."""
    with runtime.sessions() as session:
        if session.scalar(select(func.all_users()).limit(1)) is not None:
            return None
    return "There is no account yet: `commonplace user create --email you@example.com --admin` makes one"


class _Supervisor:
    """Keeps the children and the embedded database running until it is told to stop."""

    def __init__(
        self, server: EmbeddedServer | None, commands: Mapping[str, Sequence[str]], running: dict[str, Child]
    ) -> None:
        self._server = server
        self._commands = commands
        self._running = running
        self.stopping = threading.Event()

    def run(self) -> None:
        """Let go or start the children, start again what dies, return when told to end."""
        for number in (signal.SIGINT, *told_to_end()):
            signal.signal(number, self._stop)
        for child in self._running.values():
            children.let_go(child)
        while not self.stopping.is_set():
            if self._server is not None and not look_after(self._server):
                said = f"the data folder {self._server.folder} was deleted or replaced"
                raise ServerError(f"{said}: start again once all of it is there")
            self._start_missing()
            self.stopping.wait(WATCH_SECONDS)

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self.stopping.set()

    def _start_missing(self) -> None:
        for name, arguments in self._commands.items():
            child = self._running.get(name)
            if child is not None and child.poll() is None:
                continue
            if child is not None:
                logger.warning("%s ended with %s and is started again", name, child.returncode)
            self._running[name] = children.start(arguments)
            children.let_go(self._running[name])
