"""Clients that send or take less than any line does, and clients that do not stop."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from itertools import count

import pytest
from gunicorn.util import close_graceful

from webapp.cli import web
from webapp.cli.web import LONGEST_SILENCE, PacedSocket

# Each wait seems to take a third of what silence may.
STEP = LONGEST_SILENCE / 3


@pytest.fixture
def pair(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[PacedSocket, socket.socket]]:
    """A connection of ours and its other end, by a clock that goes on by `STEP` between two looks at it."""
    monkeypatch.setattr(web.time, "monotonic", map(STEP.__mul__, count()).__next__)
    ours, theirs = socket.socketpair()
    with PacedSocket(fileno=ours.detach()) as paced, theirs:
        paced.begin()
        theirs.sendall(b"x" * 100_000)
        yield paced, theirs


def _moves(paced: PacedSocket, size: int) -> dict[str, Callable[[], object]]:
    return {"come": lambda: paced.recv(size), "go": lambda: paced.sendall(b"x" * size)}


@pytest.mark.parametrize("way", ["come", "go"])
def test_a_byte_now_and_then_is_no_better_than_none(pair, way: str) -> None:
    paced, _ = pair
    move = _moves(paced, 1)[way]
    for _ in range(3):
        move()
    with pytest.raises(BlockingIOError):
        move()
    paced.begin()
    move()


@pytest.mark.parametrize("way", ["come", "go"])
def test_who_is_slow_and_no_slower_than_a_line_may_take_long(pair, way: str) -> None:
    paced, _ = pair
    for _ in range(8):
        _moves(paced, int(STEP * web.SLOWEST))[way]()


def test_a_time_out_of_its_own_counts_alone(pair) -> None:
    paced, _ = pair
    paced.settimeout(300)
    for _ in range(8):
        paced.recv(1)


def test_nobody_is_waited_for_who_reads_nothing(pair) -> None:
    paced, _ = pair
    paced.silence = 0.05
    paced.begin()
    with pytest.raises(BlockingIOError):
        paced.sendall(b"x" * 10_000_000)


def test_what_a_client_goes_on_sending_is_waited_for_once() -> None:
    ours, theirs = socket.socketpair()
    paced = PacedSocket(fileno=ours.detach())
    theirs.sendall(b"x" * 100_000)
    paced.part()
    close_graceful(paced)
    # The rest was left unread, so it is told at once that nobody reads on.
    with theirs, pytest.raises(ConnectionError):
        theirs.recv(1)
