"""An embedding endpoint on this host, for tests of pages that set one: OpenAI's shape, any number of dimensions."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Endpoint(ThreadingHTTPServer):
    """Answers with vectors of `dimensions` numbers and the HTTP `status`; keeps what it was sent as `keys`.

    Requests with the word `refused` in them get HTTP 400. It does what is `meanwhile` before it answers.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.dimensions = 5
        self.status = 200
        self.refused = ""
        self.keys: list[str | None] = []
        self.meanwhile: Callable[[], Any] = lambda: None


class _Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.keys.append(self.headers["Authorization"])
        self.server.meanwhile()
        items = [{"index": n, "embedding": self._vector(text)} for n, text in enumerate(body["input"])]
        payload = json.dumps({"data": items}).encode()
        is_refused = bool(self.server.refused) and any(self.server.refused in text for text in body["input"])
        self.send_response(400 if is_refused else self.server.status)
        self.send_header("Content-Length", str(len(payload)))
        with suppress(BrokenPipeError, ConnectionResetError):
            self.end_headers()
            self.wfile.write(payload)

    def _vector(self, text: str) -> list[float]:
        return [float(len(text) % 7), *([1.0] * (self.server.dimensions - 1))]

    def log_message(self, *args: Any) -> None:
        pass


@contextmanager
def running() -> Iterator[Endpoint]:
    """Serve on a free port until the block ends."""
    server = Endpoint()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
