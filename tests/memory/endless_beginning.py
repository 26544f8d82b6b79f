"""An HTTP server on this host whose answers begin again and again, a little at a time, and never come to their body."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# Bytes that are sent over and over, and what comes before them: a header without an end, or answers before the answer.
BEGINNINGS = {
    "header": (b"HTTP/1.1 200 OK\r\n", b"X-More: a\r\n"),
    "interim": (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
}


class _Beginning(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, kind: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.first, self.again = BEGINNINGS[kind]
        self.closing = threading.Event()


class _Handler(BaseHTTPRequestHandler):
    server: _Beginning

    def do_POST(self) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):  # the client did not wait
            self.wfile.write(self.server.first)
            while not self.server.closing.is_set():
                self.wfile.write(self.server.again)
                time.sleep(0.1)

    def do_GET(self) -> None:
        self.do_POST()

    def log_message(self, *args: Any) -> None:
        pass


@contextmanager
def beginning(kind: str) -> Iterator[str]:
    """Serve until the block is left; gives the address."""
    server = _Beginning(kind)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.closing.set()
        server.shutdown()
        server.server_close()
