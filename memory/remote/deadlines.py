"""Requests that end in time, however little at a time an endpoint sends.

The HTTP library bounds each wait for a part of what comes, and not how often it waits: whoever sends a line of a
header now and then, or one interim answer after another, would hold its caller for ever.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import httpx

from memory.remote.certificates import trusted
from memory.remote.whole_answers import ENCODINGS

# Bytes: who takes a request little by little is looked at between its parts.
_WRITTEN_AT_ONCE = 1 << 16
_until: ContextVar[float] = ContextVar("until", default=float("inf"))


@contextmanager
def by(until: float) -> Iterator[None]:
    """Let no wait of this thread for an endpoint go on beyond a moment of the monotonic clock.

    Holds for clients that `client_for` made; they raise `httpx.TimeoutException` then.
    """
    token = _until.set(until)
    try:
        yield
    finally:
        _until.reset(token)


def client_for(
    headers: Mapping[str, str], *, timeout: float, transport: httpx.BaseTransport | None = None
) -> httpx.Client:
    """Return a client for one endpoint: it waits `timeout` seconds for each part of an answer, and not beyond `by`.

    Without a `transport` it connects by itself, or by the proxy that the environment names.
    """
    client = httpx.Client(timeout=timeout, headers={**ENCODINGS, **headers}, transport=transport, verify=trusted())
    # The library has no other way in: what connects is an attribute of each of its pools of connections.
    for each in (client._transport, *client._mounts.values()):
        if isinstance(each, httpx.HTTPTransport):
            pool: Any = each._pool
            pool._network_backend = _Network(pool._network_backend)
    return client


def _left(timeout: float | None) -> float | None:
    left = _until.get() - time.monotonic()
    if left <= 0:
        raise httpx.ReadTimeout("not in time")
    return left if timeout is None else min(timeout, left)


class _Network:
    """What connects a pool, but not beyond the moment."""

    def __init__(self, network: Any) -> None:
        self._network = network

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, **options: Any) -> _Stream:
        return _Stream(self._network.connect_tcp(host, port, timeout=_left(timeout), **options))


class _Stream:
    """A connection that is read and written, but not beyond the moment."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        received: bytes = self._stream.read(max_bytes, _left(timeout))
        return received

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _WRITTEN_AT_ONCE):
            self._stream.write(buffer[start : start + _WRITTEN_AT_ONCE], _left(timeout))

    def start_tls(self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None) -> _Stream:
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, _left(timeout)))

    def close(self) -> None:
        self._stream.close()

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
