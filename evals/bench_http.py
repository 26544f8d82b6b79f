"""How long a search takes as a client sees it."""

from __future__ import annotations

from collections.abc import Sequence

import httpx

from evals.timing import Latency, latency, timed

TOOL = "/v1/tools/memory_search"
WARM_UP = 20


def bench_http(base_url: str, token: str, space: str, queries: Sequence[str]) -> Latency:
    """Return the latency of a repeated search over one connection, each question asked once before.

    Raises `httpx.HTTPStatusError` when the server refuses: it may limit the searches per minute.
    """
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=base_url, headers=headers, timeout=30) as client:
        for query in queries:
            _ask(client, space, query)
        return latency([timed(lambda each=each: _ask(client, space, each))[1] for each in queries])  # type: ignore[misc]


def _ask(client: httpx.Client, space: str, query: str) -> None:
    client.post(TOOL, json={"query": query, "space": space}).raise_for_status()
