"""How long a search takes as a client sees it: asked for the first time, asked again, and by many clients at once."""

from __future__ import annotations

import http.client
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from evals.tables import table
from evals.timing import Latency, latency, timed
from retrieval.reading.hearing import UNREAD

TOOL = "/v1/tools/memory_search"
# An address that does no work: what it takes is the way there and back, through the same server.
BARE = "/healthz"
WARM_UP = 20
TIMEOUT = 60.0
# 95th percentiles in milliseconds: of a question whose vector is at hand, and of one that must be embedded.
CACHED_GOAL = 15.0
UNCACHED_GOAL = 40.0


@dataclass(frozen=True, slots=True)
class Crowd:
    """So many clients, each asking all questions over a connection of its own.

    `rate` is searches per second, `unread` the share of answers that say there was no time to read what was found.
    """

    clients: int
    latency: Latency
    rate: float
    unread: float


@dataclass(frozen=True, slots=True)
class HttpBench:
    """Searches over one connection, each question `first` asked once, then `again`; then by many clients at once.

    `bare` is a request that reads nothing, `unread` the share as of `Crowd` of those asked for the first time.
    """

    bare: Latency
    first: Latency
    again: Latency
    crowds: tuple[Crowd, ...]
    unread: float

    @property
    def ratios(self) -> dict[str, float]:
        """Return the medians of questions over that of a bare request."""
        medians = {"asked for the first time": self.first.p50, "asked again": self.again.p50}
        return {f"{name} / bare request": round(each / self.bare.p50, 2) for name, each in medians.items()}

    @property
    def goals_met(self) -> bool:
        """Tell whether both 95th percentiles are at most their goals."""
        return self.first.p95 <= UNCACHED_GOAL and self.again.p95 <= CACHED_GOAL


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is: its host, its port, whether it is spoken to by TLS, and what stands before every path."""

    host: str
    port: int | None
    tls: bool
    prefix: str

    def connect(self) -> http.client.HTTPConnection:
        """Return a connection, which opens when it is first asked; a certificate that does not fit is refused."""
        kind = http.client.HTTPSConnection if self.tls else http.client.HTTPConnection
        return kind(self.host, self.port, timeout=TIMEOUT)


def address_of(base_url: str) -> Address:
    """Return the address in a URL; raises `ValueError` where it is no URL that starts with http:// or https://."""
    parts = urlsplit(base_url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError(f"{base_url!r} is no address that starts with http:// or https://")
    return Address(parts.hostname, parts.port, parts.scheme == "https", parts.path.rstrip("/"))


class RefusedError(Exception):
    """The server did not answer a search; it may limit the searches per minute, or be none of this kind."""


def bench_http(
    base_url: str, token: str, space: str, questions: Sequence[str], *, clients: Sequence[int] = ()
) -> HttpBench:
    """Ask different questions that the server has not been asked before, one `WARM_UP` of which is not counted.

    Raises `RefusedError` when the server does, `OSError` when it is away, `ValueError` for too few questions and for
    what is no address.
    """
    if len(questions) <= WARM_UP:
        raise ValueError(f"more than {WARM_UP} questions are needed")
    with _Client(base_url, token, space) as client:
        client.ask_all(questions[:WARM_UP])
        bare = client.ask_nothing(len(questions))
        first, unread = client.ask_all(questions[WARM_UP:]), client.unread
        again = client.ask_all(questions[WARM_UP:])
    crowds = tuple(_crowd(base_url, token, space, questions[WARM_UP:], each) for each in clients)
    return HttpBench(latency(bare), latency(first), latency(again), crowds, round(unread / len(first), 3))


def _crowd(base_url: str, token: str, space: str, questions: Sequence[str], clients: int) -> Crowd:
    """Ask all questions by several clients at once, each beginning at another question, so that no two ask the same."""

    def ask_from(number: int) -> tuple[list[float], int]:
        start = number * len(questions) // clients
        with _Client(base_url, token, space) as client:
            return client.ask_all([*questions[start:], *questions[:start]]), client.unread

    with ThreadPoolExecutor(clients) as threads:
        lists, milliseconds = timed(lambda: list(threads.map(ask_from, range(clients))))
    took = [each for one, _ in lists for each in one]
    unread = sum(each for _, each in lists)
    return Crowd(clients, latency(took), round(len(took) / milliseconds * 1000, 1), round(unread / len(took), 3))


class _Client:
    """One connection that is kept open. The standard library's: what a client does is not what is measured."""

    def __init__(self, base_url: str, token: str, space: str) -> None:
        address = address_of(base_url)
        self._connection, self._prefix = address.connect(), address.prefix
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._space = space
        self.unread = 0

    def __enter__(self) -> _Client:
        return self

    def __exit__(self, *_error: object) -> None:
        self._connection.close()

    def ask_all(self, questions: Sequence[str]) -> list[float]:
        """Return the milliseconds of each search, with its answer read to the end.

        Sets `unread` to how many answers say that there was no time to read what was found.
        """
        self.unread, took = 0, []
        for question in questions:
            answer, milliseconds = timed(partial(self._ask, question))
            self.unread += UNREAD in _degraded(answer)
            took.append(milliseconds)
        return took

    def ask_nothing(self, times: int) -> list[float]:
        """Return the milliseconds of each bare request."""
        return [timed(lambda: self._send("GET", BARE))[1] for _ in range(times)]

    def _ask(self, question: str) -> bytes:
        return self._send("POST", TOOL, json.dumps({"query": question, "space": self._space}))

    def _send(self, method: str, path: str, body: str | None = None) -> bytes:
        try:
            self._connection.request(method, self._prefix + path, body, self._headers)
            response = self._connection.getresponse()
            answer = response.read()
        except http.client.HTTPException as error:
            raise RefusedError(f"the server does not speak HTTP as it should: {str(error).strip()[:300]}") from None
        if response.status != http.client.OK:
            raise RefusedError(f"{response.status}: {answer[:300].decode(errors='replace')}")
        return answer


def _degraded(answer: bytes) -> list[str]:
    """Return what the server says that a search went without; raises `RefusedError` if it is no search's answer."""
    try:
        return list(json.loads(answer)["degraded"])
    except (ValueError, KeyError, TypeError):
        said = answer[:300].decode(errors="replace")
        raise RefusedError(f"this is no answer of a search, another server may be there: {said}") from None


def to_dict(bench: HttpBench) -> dict[str, Any]:
    """Return the measurements in values that JSON can carry."""
    return {**asdict(bench), "ratios": bench.ratios, "goals_met": bench.goals_met}


def to_text(bench: HttpBench) -> str:
    """Return the measurements as a table."""
    first, again = bench.first, bench.again
    rows: list[tuple[str, float, float, str | None, float | None, float | None]] = [
        ("bare request", bench.bare.p50, bench.bare.p95, None, None, None),
        ("asked for the first time", first.p50, first.p95, _verdict(first, UNCACHED_GOAL), None, 100 * bench.unread),
        ("asked again", again.p50, again.p95, _verdict(again, CACHED_GOAL), None, None),
        *(
            (f"{each.clients} at once", each.latency.p50, each.latency.p95, None, each.rate, 100 * each.unread)
            for each in bench.crowds
        ),
    ]
    body = table(("milliseconds", "p50", "p95", "goal (p95)", "per second", "% unread"), rows, digits=1)
    title = f"{bench.first.count} questions to memory_search over HTTP"
    ratios = "\n".join(f"{name}: {ratio:.2f}" for name, ratio in bench.ratios.items())
    return f"{title}\n\n{body}\n\n{ratios}"


def _verdict(measured: Latency, goal: float) -> str:
    return f"<= {goal:g} {'met' if measured.p95 <= goal else 'MISSED'}"
