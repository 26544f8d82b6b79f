"""An HTTP server on this host that takes every request and answers none: a provider during an outage."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class _Silent(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.closing = threading.Event()


class _Handler(BaseHTTPRequestHandler):
    server: _Silent

    def do_POST(self) -> None:
        # Returns without an answer, once the server closes; the client has long gone by then.
        self.server.closing.wait()

    def log_message(self, *args: Any) -> None:
        pass


@contextmanager
def silent() -> Iterator[str]:
    """Serve until the block is left; gives the address."""
    server = _Silent()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()
