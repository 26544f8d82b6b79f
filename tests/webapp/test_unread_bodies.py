"""Requests that are answered before their body is read: none that follows on the connection is lost."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from http.client import HTTPResponse

import pytest
from gunicorn_server import serving

HEAD = "POST {} HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\n{}\r\n\r\n"
CHUNKED = "Transfer-Encoding: chunked"
BODIES = {
    "small": ("Content-Length: 100", b"x" * 100),
    "big": ("Content-Length: 300000", b"x" * 300_000),
    "small, in chunks": (CHUNKED, b"3\r\nabc\r\n0\r\n\r\n"),
    "big, in chunks": (CHUNKED, b"493e0\r\n" + b"x" * 300_000 + b"\r\n0\r\n\r\n"),
}


@pytest.fixture(scope="module")
def port(runtime, home, database_url) -> Iterator[int]:
    with serving(runtime, home, database_url) as found:
        yield found


def _end_of(port: int, path: str, length: str, body: bytes) -> tuple[int, str | None]:
    """Return the status of the answer, and what it says of the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
        client.sendall(HEAD.format(path, length).encode() + body)
        answer = HTTPResponse(client)
        answer.begin()
        return answer.status, answer.getheader("Connection")


@pytest.mark.parametrize(("length", "body"), BODIES.values(), ids=BODIES)
def test_where_nobody_read_the_body_the_connection_is_said_to_end(port, length, body) -> None:
    assert _end_of(port, "/v1/nothing", length, body) == (404, "close")


@pytest.mark.parametrize(("length", "body"), [BODIES["small"], ("Content-Length: 0", b"")])
def test_where_it_was_read_the_connection_goes_on(port, length, body) -> None:
    assert _end_of(port, "/v1/memory/entries", length, body) == (401, "keep-alive")


def test_a_body_in_chunks_that_was_read_ends_no_connection(port, ada) -> None:
    length = f"{CHUNKED}\r\nAuthorization: {ada.headers['Authorization']}"
    assert _end_of(port, "/v1/memory/entries", length, BODIES["small, in chunks"][1]) == (400, "keep-alive")
