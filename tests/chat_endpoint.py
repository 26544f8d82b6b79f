"""An OpenAI-compatible chat endpoint on localhost, for tests that need a language model."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class ChatEndpoint(ThreadingHTTPServer):
    """Records requests, and answers each with what is set here."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.requests: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.keys: list[str | None] = []
        self.said: Any = "Notes of the model."
        self.finish_reason = "stop"
        # By what a request names that the model refuses, what it says of that.
        self.refuses: dict[str, str] = {}
        self.body: bytes | None = None
        self.status = 200
        self.headers: dict[str, str] = {}
        self.delay = 0.0
        self.drip = 0.0
        self.meanwhile: Callable[[], Any] = lambda: None


class _Handler(BaseHTTPRequestHandler):
    server: ChatEndpoint

    def do_POST(self) -> None:
        server = self.server
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server.requests.append(asked)
        server.paths.append(self.path)
        server.keys.append(self.headers["Authorization"])
        server.meanwhile()
        time.sleep(server.delay)
        message = {"role": "assistant", "content": server.said}
        answer: Any = {"choices": [{"message": message, "finish_reason": server.finish_reason}]}
        status = server.status
        if refused := next((why for name, why in server.refuses.items() if name in asked), None):
            status, answer = 400, {"error": {"message": refused}}
        payload = server.body if server.body is not None else json.dumps(answer).encode()
        with suppress(BrokenPipeError, ConnectionResetError):  # the client did not wait
            self.send_response(status)
            self.send_header("Content-Length", str(len(payload)))
            for name, value in server.headers.items():
                self.send_header(name, value)
            self.end_headers()
            step = 16 if server.drip else max(1, len(payload))
            for start in range(0, len(payload), step):
                self.wfile.write(payload[start : start + step])
                self.wfile.flush()
                time.sleep(server.drip)

    def log_message(self, *args: Any) -> None:
        pass


@contextmanager
def chat_endpoint() -> Iterator[ChatEndpoint]:
    """Serve until the block is left."""
    server = ChatEndpoint()
    # It looks that often whether it is to end; by itself it would twice a second, and each test would wait for that.
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()
