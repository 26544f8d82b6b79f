"""A real `commonplace up` in a data folder of its own, whose processes a test may kill."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import psutil


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(condition, seconds: float, what: str):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.25)
    raise AssertionError(f"{what} did not happen within {seconds} s")


class Server:
    """A real `commonplace up` on a data folder of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.environment = {
            **{k: v for k, v in os.environ.items() if k not in {"DATABASE_URL", "REDIS_URL"}},
            "COMMONPLACE_HOME": str(home),
            "COMMONPLACE_SEARCHES_PER_MINUTE": "0",
        }
        self.log = (home / "up.log").open("wb")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "webapp.cli", "up", "--port", str(self.port), "--no-demo"],
            env=self.environment,
            stdout=self.log,
            stderr=self.log,
        )

    def run(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "webapp.cli", *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    def answers(self) -> bool:
        try:
            # Asked again and again: to read the certificates of the system takes longer than the answer.
            return httpx.get(f"{self.url}/readyz", timeout=10, verify=False).status_code == 200
        except httpx.HTTPError:
            return False

    def child(self, name: str) -> psutil.Process:
        return next(p for p in psutil.Process(self.process.pid).children() if name in p.cmdline())

    def postmaster(self) -> int:
        return int((self.home / "postgres" / "postmaster.pid").read_text().splitlines()[0])

    def backlog(self) -> float:
        text = httpx.get(f"{self.url}/metrics", timeout=60).text
        return float(re.search(r"^commonplace_embedding_backlog (\S+)", text, re.MULTILINE)[1])

    def stop(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(120)
