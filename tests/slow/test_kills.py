"""kill -9 of web, worker and database, in turn, during a load of writes: nothing acknowledged is lost."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import threading
import time
from pathlib import Path

import httpx
import psutil
import pytest
from real_server import Server, wait_for

pytestmark = pytest.mark.slow

WRITERS = 3
EMBEDDED_WITHIN = 120


class Load:
    """Writers that remember what was acknowledged."""

    def __init__(self, server: Server, token: str) -> None:
        self.acknowledged: dict[str, str] = {}
        self.failures = 0
        self._server, self._token = server, token
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=[n]) for n in range(WRITERS)]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _write(self, number: int) -> None:
        count = 0
        with httpx.Client(headers={"Authorization": f"Bearer {self._token}"}, timeout=10) as client:
            while not self._stop.is_set():
                count += 1
                text = f"Writer {number} noted observation number {count} about station {count * 7 % 1000}"
                try:
                    answer = client.post(f"{self._server.url}/v1/memory/entries", json={"text": text})
                except httpx.HTTPError:
                    self.failures += 1
                    time.sleep(0.2)
                    continue
                if answer.status_code in {200, 201}:
                    self.acknowledged[text] = answer.json()["id"]
                else:
                    self.failures += 1
                    time.sleep(0.2)
                time.sleep(0.01)

    def growing(self, by: int = 20) -> None:
        goal = len(self.acknowledged) + by
        wait_for(lambda: len(self.acknowledged) >= goal, 60, "writing again")


def stored(server: Server, token: str) -> dict[str, str]:
    found, cursor = {}, None
    with httpx.Client(headers={"Authorization": f"Bearer {token}"}, timeout=60) as client:
        while True:
            parameters = {"limit": 200, **({"cursor": cursor} if cursor else {})}
            page = client.get(f"{server.url}/v1/memory/entries", params=parameters).json()
            found |= {entry["text"]: entry["id"] for entry in page["entries"]}
            cursor = page["next_cursor"]
            if cursor is None:
                return found


def test_kills_lose_nothing_that_was_acknowledged(server: Server) -> None:
    server.run("user", "create", "--email", "load@example.org", "--password", "a long password")
    token = server.run("token", "create", "--email", "load@example.org", "--name", "load", "--scopes", "read,write")
    httpx.patch(
        f"{server.url}/v1/spaces/default",
        json={"soft_cap": 1_000_000},
        headers={"Authorization": f"Bearer {token}"},
        timeout=60,
    ).raise_for_status()
    with Load(server, token) as load:
        load.growing()
        for victim in (
            lambda: server.child("web").pid,
            lambda: server.child("worker").pid,
            server.postmaster,
            lambda: server.child("web").children()[0].pid,
        ):
            os.kill(victim(), signal.SIGKILL)
            time.sleep(1)
            wait_for(server.answers, 60, "an answer after the kill")
            load.growing()
    found = stored(server, token)
    assert {text: found.get(text) for text in load.acknowledged} == load.acknowledged
    wait_for(lambda: server.backlog() == 0, EMBEDDED_WITHIN, "embedding every row")
    assert server.stop() == 0


def test_a_web_process_that_follows_one_that_was_killed_waits_for_its_port(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        # A worker answers what it has begun before it ends, and holds the port as long.
        form = b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 9"
        client.sendall(b"POST /login HTTP/1.1\r\nHost: here\r\n" + form + b"\r\n\r\nemail=")
        time.sleep(1)
        server.child("web").kill()
        time.sleep(2)  # What was started in its place is found then.
        follows = server.child("web")
        wait_for(lambda: len(follows.children()) == 2, 60, "workers of it")
    assert server.child("web") == follows


def test_a_second_start_answers_within_five_seconds(server: Server) -> None:
    server.stop()
    # The machine may be busy with something else for a while: noise only ever adds to the time.
    assert min(_seconds_to_answer(server.home) for _ in range(3)) < 5


def _seconds_to_answer(home: Path) -> float:
    started = time.monotonic()
    again = Server(home)
    try:
        wait_for(lambda: _healthy(again), 60, "the first answer")
        return time.monotonic() - started
    finally:
        again.stop()


def _healthy(server: Server) -> bool:
    try:
        return httpx.get(f"{server.url}/healthz", timeout=1).status_code == 200
    except httpx.HTTPError:
        return False


def test_ctrl_c_leaves_no_process_behind(server: Server) -> None:
    processes = _processes(server)
    assert server.stop() == 0
    assert _left(processes) == []


def test_a_data_folder_that_is_deleted_ends_it_all(server: Server) -> None:
    processes = _processes(server)
    _delete(server.home)
    assert server.process.wait(120) == 1
    assert _left(processes) == []


def test_a_database_that_dies_after_its_folder_was_deleted_ends_it_all(server: Server) -> None:
    processes = _processes(server)
    postmaster = server.postmaster()
    _delete(server.home)
    # Who watches may have noticed already, and have killed it.
    with contextlib.suppress(ProcessLookupError):
        os.kill(postmaster, signal.SIGKILL)
    assert server.process.wait(120) == 1
    assert _left(processes) == []


def _delete(folder: Path) -> None:
    """Delete a folder that processes still make files in."""
    while folder.exists():
        shutil.rmtree(folder, ignore_errors=True)


def _processes(server: Server) -> list[int]:
    found = [psutil.Process(pid) for pid in (server.process.pid, server.postmaster())]
    return [each.pid for process in found for each in (process, *process.children(recursive=True))]


def _left(processes: list[int]) -> list[int]:
    return [pid for pid in processes if psutil.pid_exists(pid) and not _zombie(pid)]


def _zombie(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
