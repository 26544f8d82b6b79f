"""The server as it is started, in a process of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx


@contextmanager
def serving(runtime: Any, home: Path, database_url: str) -> Iterator[int]:
    """Serve with gunicorn, and give the port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {
        **{k: v for k, v in os.environ.items() if k != "REDIS_URL"},
        "DATABASE_URL": database_url,
        "COMMONPLACE_HOME": str(home),
        "COMMONPLACE_SECRET_KEY": runtime.settings.secret_key.decode(),
        "COMMONPLACE_WEB_WORKERS": "1",
        "COMMONPLACE_EMBEDDING_MODEL": "none",
    }
    command = [sys.executable, "-m", "webapp.cli", "web", "--port", str(port)]
    with open(home / "gunicorn.log", "wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 120
        while not _answers(port):
            assert process.poll() is None, (home / "gunicorn.log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.2)
        yield port
    finally:
        process.terminate()
        process.wait(60)


def _answers(port: int) -> bool:
    try:
        # Asked again and again: to read the certificates of the system takes longer than the answer.
        return httpx.get(f"http://127.0.0.1:{port}/readyz", timeout=10, verify=False).status_code == 200
    except httpx.HTTPError:
        return False
