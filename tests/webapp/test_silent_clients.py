"""Clients that begin a request and say no more, clients that never hang up, and clients that ask again."""

from __future__ import annotations

import http.client
import socket
import time

import httpx
import psutil
import pytest
from gunicorn_server import serving

from webapp.cli.web import LONGEST_SILENCE, THREADS

pytestmark = pytest.mark.slow

FORM = b"Content-Type: application/x-www-form-urlencoded\r\n"
HALF_A_BODY = b"POST /login HTTP/1.1\r\nHost: here\r\n" + FORM + b"Content-Length: 100\r\n\r\nemail="
HALF_A_HEAD = b"GET /login HTTP/1.1\r\nHost:"
NOTHING = b""
# After the answer the connection is to end.
LAST = b"GET /healthz HTTP/1.0\r\n\r\n"
# For five seconds httpx, by which many agents ask, takes a connection that it keeps for a good one.
KEPT = 5.0


def test_silent_clients_do_not_keep_others_out(runtime, home, database_url) -> None:
    with serving(runtime, home, database_url) as port:
        # Each of them is waited for, for two seconds, and not one after the other.
        staying = [socket.create_connection(("127.0.0.1", port), timeout=THREADS / 2) for _ in range(THREADS)]
        for each in staying:
            each.sendall(LAST)
        assert staying[-1].recv(12) == b"HTTP/1.0 200"
        silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(THREADS)]
        for number, each in enumerate(silent):
            each.sendall((HALF_A_HEAD, HALF_A_BODY, NOTHING)[number % 3])
        answer = httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=LONGEST_SILENCE + 15)
        assert answer.json() == {"status": "ok"}
        for each in silent:
            each.settimeout(LONGEST_SILENCE + 15)
            assert each.recv(12) in {b"", b"HTTP/1.1 400"}
            each.close()
    # Strangers can begin as many as they like.
    assert "Traceback" not in (home / "gunicorn.log").read_text()


def test_a_client_ends_a_connection_that_it_keeps_before_the_server_does(runtime, home, database_url) -> None:
    with serving(runtime, home, database_url) as port:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        for pause in (KEPT, 0):
            connection.request("GET", "/healthz")
            assert connection.getresponse().read()
            time.sleep(pause)
        connection.close()


def test_connections_that_are_kept_leave_a_worker_files_to_open(runtime, home, database_url) -> None:
    with serving(runtime, home, database_url) as port:
        for each in psutil.Process().children(recursive=True):
            if str(port) in each.cmdline():
                each.rlimit(psutil.RLIMIT_NOFILE, (256, 256))
        kept = [http.client.HTTPConnection("127.0.0.1", port, timeout=30) for _ in range(300)]
        for each in kept:
            each.request("GET", "/healthz")
            assert each.getresponse().read()
        for each in kept:
            each.close()
    assert "Traceback" not in (home / "gunicorn.log").read_text()
