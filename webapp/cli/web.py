"""`web`: the process that serves pages and interface."""

from __future__ import annotations

import logging
import socket
import struct
from http import HTTPStatus
from typing import Any

import click
from gunicorn.app.base import BaseApplication
from gunicorn.http.errors import LimitRequestHeaders, LimitRequestLine
from gunicorn.util import write_nonblock
from gunicorn.workers.gthread import ThreadWorker

import config
from tasks.runtime import build
from webapp.cli.children import held_option, is_let_go
from webapp.cli.lazy import uncollected
from webapp.cli.loading import allow_ending, in_order, preload
from webapp.cli.ports import check_free, host_option, netloc, port_option
from webapp.cli.revive import watch
from webapp.cli.running import migrated_runtime
from webapp.factory import create_app
from webapp.logs import set_up_logging
from webapp.observe import request_id
from webapp.pages.headers import HEADERS, POLICY

# A reply that streams in holds a thread, and no connection of the database, for as long as it takes.
THREADS = 16
# How long a taken port is waited for: the workers of a server that was killed hold it until they notice.
PATIENCE = 5.0  # seconds
# How long a thread waits for the next bytes of a request. Without an end, a handful of clients that announce a body and
# send none of it would hold them all.
LONGEST_SILENCE = 15  # seconds
_NO_LONGER = struct.pack("ll", LONGEST_SILENCE, 0)
# The longest that gunicorn reads; a question of `LONGEST_QUESTION` characters fits, except in scripts that an address
# writes with nine for each. The headers hold the address of the page before.
LONGEST_LINE, LONGEST_HEADER = 8_190, 16_380
# No application is reached by then. The section is what a page shows of an error: see `responseHandling`.
_TOO_LONG = b"""<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>Too long</title></head>
<body>
<section id="errors-error" class="notice notice-error">
<h1>Too long</h1>
<p>This is more than an address can hold, so nothing was asked. Try again with fewer words.</p>
</section>
<p><a href="/search">Back to the search</a></p>
</body>
</html>
"""


@click.command()
@host_option
@port_option
@held_option
def web(host: str, port: int, held: bool) -> None:
    """Serve pages and interface with gunicorn."""
    if held and not is_let_go():
        return
    check_free(host, port, patience=PATIENCE)
    allow_ending()
    runtime = migrated_runtime()
    set_up_logging(runtime.settings.log_level, request_id)
    watch(runtime.server)
    _Gunicorn(
        {
            "bind": netloc(host, port),
            "workers": runtime.settings.web_workers,
            "threads": THREADS,
            "worker_class": _Worker,
            "limit_request_line": LONGEST_LINE,
            "limit_request_field_size": LONGEST_HEADER,
            "timeout": 120,
            "graceful_timeout": 10,
            # Requests are logged by the application, with their ids.
            "accesslog": None,
            "loglevel": "warning",
            "control_socket_disable": True,
        }
    ).run()


class _Worker(ThreadWorker):
    """A worker that waits for no silent client, and says in plain words that an address is too long."""

    def run(self) -> None:
        """Serve until told to end, which may be while the models are loaded."""
        self.log.error_log.addFilter(_is_no_silence)
        with in_order():
            super().run()

    def enqueue_req(self, conn: Any) -> None:
        """Give a connection to a thread. Writing has no such limit: it may take long to read an export."""
        conn.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _NO_LONGER)
        super().enqueue_req(conn)

    def handle_error(self, req: Any, client: Any, addr: Any, exc: BaseException) -> None:
        """Answer a request that could not be read."""
        status = _status_of(exc)
        if status is None:
            super().handle_error(req, client, addr, exc)
            return
        self.log.warning("a request was too long: %d", status)
        headers = {
            "Connection": "close",
            "Content-Type": "text/html; charset=utf-8",
            "Content-Length": str(len(_TOO_LONG)),
            "Cache-Control": "no-store",
            "Content-Security-Policy": POLICY,
            **HEADERS,
        }
        lines = [f"HTTP/1.1 {status.value} {status.phrase}", *(f"{name}: {value}" for name, value in headers.items())]
        head = "\r\n".join([*lines, "", ""])
        try:
            write_nonblock(client, head.encode() + _TOO_LONG)
        except OSError:
            self.log.debug("nobody waited for the answer")


def _is_no_silence(record: logging.LogRecord) -> bool:
    """Leave out of the log that a client began a request and said no more, which gunicorn tells by a long trace."""
    return not (record.exc_info and isinstance(record.exc_info[1], BlockingIOError))


def _status_of(exc: BaseException) -> HTTPStatus | None:
    if isinstance(exc, LimitRequestLine):
        return HTTPStatus.REQUEST_URI_TOO_LONG
    return HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE if isinstance(exc, LimitRequestHeaders) else None


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
        with uncollected():
            app = create_app(runtime)
        preload(runtime, asked=True)
        return app
