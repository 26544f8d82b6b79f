"""An embedding provider on localhost, for tests that need a remote one."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[dict[str, Any]], Any]


class Provider(ThreadingHTTPServer):
    """An embedding provider on localhost: records requests, answers with what `answer` returns."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.requests: list[tuple[str, str, str | None, Any]] = []
        self.answer: Answer = openai_shape
        self.status = 200
        self.headers: dict[str, str] = {}
        self.delay = 0.0
        # Seconds between one sixteenth of an answer and the next.
        self.drip = 0.0


class _Handler(BaseHTTPRequestHandler):
    server: Provider

    def do_GET(self) -> None:
        self._reply(None, {"status": "ok"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._reply(body, self.server.answer(body))

    def _reply(self, body: Any, answer: Any) -> None:
        self.server.requests.append((self.command, self.path, self.headers["Authorization"], body))
        time.sleep(self.server.delay)
        payload = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(payload)))
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        with suppress(BrokenPipeError, ConnectionResetError):  # the client did not wait
            self.end_headers()
            step = -(-len(payload) // 16) if self.server.drip else max(1, len(payload))
            for start in range(0, len(payload), step):
                self.wfile.write(payload[start : start + step])
                self.wfile.flush()
                time.sleep(self.server.drip)

    def log_message(self, *args: Any) -> None:
        pass


def vector(text: str) -> list[float]:
    return [float(len(text)), 1.0, 0.0]


def openai_shape(body: dict[str, Any]) -> dict[str, Any]:
    items = [{"index": index, "embedding": vector(text)} for index, text in enumerate(body["input"])]
    return {"data": items[::-1]}
