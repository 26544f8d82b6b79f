"""`web`: the process that serves pages and interface."""

from __future__ import annotations

import errno
import json
import logging
import os
import re
import socket
import struct
import time
from contextlib import suppress
from http import HTTPStatus
from typing import Any

import click
from gunicorn.app.base import BaseApplication
from gunicorn.http.body import Body, ChunkedReader, LengthReader
from gunicorn.http.errors import (
    ExpectationFailed,
    LimitRequestHeaders,
    LimitRequestLine,
    ParseException,
    UnsupportedTransferCoding,
)
from gunicorn.http.message import Request
from gunicorn.http.parser import RequestParser
from gunicorn.util import close_graceful, write_nonblock
from gunicorn.workers.gthread import ThreadWorker

import config
from memory.ids import new_id
from tasks.runtime import build
from webapp.cli.children import held_option, is_let_go
from webapp.cli.lazy import uncollected
from webapp.cli.loading import allow_ending, in_order, preload
from webapp.cli.ports import check_free, host_option, netloc, port_option
from webapp.cli.revive import watch
from webapp.cli.running import migrated_runtime, warn_of_unread
from webapp.errors import PROBLEM_TYPE, problem_details
from webapp.factory import create_app
from webapp.logs import set_up_logging
from webapp.observe import request_id
from webapp.pages.headers import HEADERS, POLICY

# A reply that streams in holds a thread, and no connection of the database, for as long as it takes.
THREADS = 16
# How long a worker that ends goes on with what it has begun.
GRACE = 10  # seconds
# How long a taken port is waited for: the workers of a server that was killed hold it until they notice, and end.
PATIENCE = GRACE + 3.0  # seconds
# How long a thread waits until a client sends more, or takes more of an answer. Without an end, a handful of clients
# that announce a body and send none of it, or read nothing of what they asked for, would hold them all.
LONGEST_SILENCE = 15  # seconds
# Nor does a thread wait much longer than that in all for a client that is slower: a byte now and then is no better than
# none.
SLOWEST = 1_000  # bytes a second
# How long a connection is kept on which nobody asks: longer than usual clients and proxies do, which is 90 seconds with
# Go and Rust, and two minutes with Caddy. It is not to be the server that ends it, as another request may be on its way
# there, which would be lost.
KEPT = 130  # seconds
# So many are open at once in a worker, and further ones end with their answer: each is an open file, of which some
# systems let a process have 256.
CONNECTIONS = 200
# The longest that gunicorn reads; a question of `LONGEST_QUESTION` characters fits, except in scripts that an address
# writes with nine for each. The headers hold the address of the page before.
LONGEST_LINE, LONGEST_HEADER = 8_190, 16_380
_TOO_LONG_FOR = {
    HTTPStatus.REQUEST_URI_TOO_LONG: f"the address is longer than {LONGEST_LINE} bytes",
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE: "there are too many headers, or one is too long",
}
# Bytes of a request that tell whether a program's interface is asked: a method, and the beginning of a path. An empty
# line may come before them.
_BEGINNING = 64
_OF_PROGRAMS = re.compile(rb"(?:\r\n)?\S+ +/v1[/?\s]")
_STATUS: dict[type[ParseException], HTTPStatus] = {
    LimitRequestLine: HTTPStatus.REQUEST_URI_TOO_LONG,
    LimitRequestHeaders: HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    ExpectationFailed: HTTPStatus.EXPECTATION_FAILED,
    UnsupportedTransferCoding: HTTPStatus.NOT_IMPLEMENTED,
}
# Characters of what was sent that are said to be wrong.
_LONGEST_QUOTE = 200
# Sent as it is, as no application is reached by then. The section is what a page shows of an error: see
# `responseHandling`.
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
    if not held:
        warn_of_unread()
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
            "graceful_timeout": GRACE,
            "keepalive": KEPT,
            "worker_connections": CONNECTIONS,
            # Requests are logged by the application, with their ids.
            "accesslog": None,
            "loglevel": "warning",
            "control_socket_disable": True,
            # The system's `sendfile` would wait for ever for a client that reads nothing; see `PacedSocket`.
            "sendfile": False,
            # Headers of proxies count as `COMMONPLACE_TRUSTED_PROXIES` says, and from this machine no more than else.
            "forwarded_allow_ips": "",
        }
    ).run()


class PacedSocket(socket.socket):
    """A connection that gives up on who is silent for `LONGEST_SILENCE`, or slower than `SLOWEST` for longer than that.

    What waits raises `BlockingIOError` then. Who lends it a time-out of its own decides itself how long to wait: see
    `webapp.streams.patience`.
    """

    silence: float = LONGEST_SILENCE
    _waited = 0.0
    _moved = 0
    _parted = False

    def begin(self) -> None:
        """Count anew, for the next request."""
        self._waited, self._moved = 0.0, 0
        seconds, rest = divmod(self.silence, 1)
        for side in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            self.setsockopt(socket.SOL_SOCKET, side, struct.pack("ll", int(seconds), int(rest * 1e6)))

    def recv(self, size: int, flags: int = 0) -> bytes:
        """Return what comes next, as `socket.recv` does."""
        began = time.monotonic()
        came = super().recv(size, flags)
        self._keep_pace(began, len(came))
        return came

    def sendall(self, data: Any, flags: int = 0) -> None:
        """Send all of it. The library's own would wait for each part anew, without an end."""
        left = memoryview(data)
        while left:
            began = time.monotonic()
            sent = super().send(left, flags)
            self._keep_pace(began, sent)
            left = left[sent:]

    def part(self) -> None:
        """Say that no more comes, and wait two seconds at most until the other side hangs up."""
        self._parted = True
        with suppress(OSError):
            close_graceful(self.dup())

    def shutdown(self, how: int) -> None:
        """End one side of it, as `socket.shutdown` does; raises `OSError` once there is nothing left to wait for."""
        if self._parted:
            raise OSError(errno.ENOTCONN, os.strerror(errno.ENOTCONN))
        super().shutdown(how)

    def _keep_pace(self, began: float, moved: int) -> None:
        if self.gettimeout() is not None:
            return
        self._waited += time.monotonic() - began
        self._moved += moved
        if self._waited > self.silence + self._moved / SLOWEST:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))


class _Worker(ThreadWorker):
    """A worker that waits for no silent client, and says in plain words that an address is too long."""

    def run(self) -> None:
        """Serve until told to end, which may be while the models are loaded."""
        self.log.error_log.addFilter(_is_no_silence)
        RequestParser.mesg_class = _Request
        with in_order():
            super().run()

    def enqueue_req(self, conn: Any) -> None:
        """Give a connection to a thread, which waits for the client no longer than `PacedSocket` does."""
        if not isinstance(conn.sock, PacedSocket):
            conn.sock = PacedSocket(fileno=conn.sock.detach())
        conn.sock.begin()
        super().enqueue_req(conn)

    def handle(self, conn: Any) -> Any:
        """Answer what a client asks, and wait here until it has hung up where the connection ends with that.

        Else the loop that takes new connections would wait, and one client that asks and does not hang up keep all
        others out for two seconds.
        """
        kept = super().handle(conn)
        if not kept:
            conn.sock.part()
        return kept

    def finish_request(self, conn: Any, fs: Any) -> None:
        """Keep a connection for its next request, and one on which nothing was ever asked no longer than the silent."""
        super().finish_request(conn, fs)
        if self.pending_conns and self.pending_conns[-1] is conn:
            conn.timeout = time.monotonic() + LONGEST_SILENCE

    def handle_error(self, req: Any, client: Any, addr: Any, exc: BaseException) -> None:
        """Answer a request that could not be read: nothing of what it says is logged."""
        if not isinstance(exc, _UnreadableError):
            # Not about the request: what the application sends may be no HTTP either.
            super().handle_error(req, client, addr, exc)
            return
        status = _status_of(exc.why)
        if status in _TOO_LONG_FOR and not exc.of_a_program:
            self.log.warning("a request was too long: %d", status)
            _answer(client, status, "text/html; charset=utf-8", _TOO_LONG)
            return
        # Any other such request is a program's, as browsers send none. Which address it meant is not known.
        request = str(new_id())
        self.log.warning("a request could not be read: %s [%s]", type(exc.why).__name__, request)
        detail = _TOO_LONG_FOR.get(status) or f"the request is not valid HTTP: {str(exc.why)[:_LONGEST_QUOTE]}"
        told = problem_details(status, detail, "", request)
        _answer(client, status, PROBLEM_TYPE, json.dumps(told).encode())


class _UnreadableError(Exception):
    """Why a request could not be read, and whether a program sent it."""

    def __init__(self, why: ParseException, *, of_a_program: bool) -> None:
        super().__init__(why)
        self.why = why
        self.of_a_program = of_a_program


class _Request(Request):
    """A request that is remembered by its beginning where the rest cannot be read, and ends with what nobody reads."""

    _began = b""

    def __init__(self, *args: Any) -> None:
        """Read all but the body; raises `_UnreadableError` for what is no HTTP, or too long."""
        try:
            super().__init__(*args)
        except ParseException as error:
            raise _UnreadableError(error, of_a_program=_OF_PROGRAMS.match(self._began) is not None) from error

    def should_close(self) -> bool:
        """Tell that no other request may follow on the connection, which the answer says to the client.

        What is left of a body that nobody read may be long, and is not waited for: the next request would be lost.
        """
        return super().should_close() or _is_left(self.body)

    def read_into(self, unreader: Any, buf: bytearray, stop: bool | None = False) -> None:
        """Take what comes next. Until the first line is whole it stands at the beginning."""
        super().read_into(unreader, buf, stop)
        if self.method is None:
            self._began = bytes(buf[:_BEGINNING])


def _is_left(body: Body | None) -> bool:
    """Tell whether a body has more than was read of it."""
    reader = body.reader if body is not None else None
    if isinstance(reader, ChunkedReader):
        return reader.parser is not None
    return isinstance(reader, LengthReader) and reader.length > 0


def _answer(client: socket.socket, status: HTTPStatus, kind: str, body: bytes) -> None:
    headers = {
        "Connection": "close",
        "Content-Type": kind,
        "Content-Length": str(len(body)),
        "Cache-Control": "no-store",
        "Content-Security-Policy": POLICY,
        **HEADERS,
    }
    lines = [f"HTTP/1.1 {status.value} {status.phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    # The client may be gone by now.
    with suppress(OSError):
        write_nonblock(client, "\r\n".join([*lines, "", ""]).encode() + body)


def _is_no_silence(record: logging.LogRecord) -> bool:
    """Leave out of the log that a client was silent or too slow, which gunicorn tells by a long trace."""
    return not (record.exc_info and isinstance(record.exc_info[1], BlockingIOError))


def _status_of(exc: ParseException) -> HTTPStatus:
    return next((status for kind, status in _STATUS.items() if isinstance(exc, kind)), HTTPStatus.BAD_REQUEST)


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
