"""A real Redis of the tests' own, on a port of its own."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from redis import Redis
from redis.exceptions import RedisError


class RedisServer:
    """Starts, stops and starts again; keeps nothing on disk, so that a restart is a loss of all keys."""

    def __init__(self, binary: str, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._binary = binary
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [self._binary, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir"]
        self._process = subprocess.Popen([*command, str(self._folder)], stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with suppress(RedisError):
                self.client().ping()
                return
            time.sleep(0.05)
        raise AssertionError("redis-server did not start")

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def hang(self) -> None:
        """Keep the connections and answer nothing, until `stop`."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def client(self) -> Redis:
        return Redis.from_url(self.url)


@contextmanager
def redis_server() -> Iterator[RedisServer]:
    """Serve until the block is left; skips the test where there is no redis-server."""
    binary = shutil.which("redis-server")
    if binary is None:
        pytest.skip("there is no redis-server on this machine")
    with tempfile.TemporaryDirectory(prefix="commonplace-redis-") as folder:
        server = RedisServer(binary, Path(folder))
        server.start()
        yield server
        server.stop()
