"""How fast a long conversation is over HTTP: appending, assembling its context, listing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

import httpx

from evals.tables import table
from evals.timing import Latency, latency, timed
from memory.ids import new_id

CONVERSATIONS = "/v1/conversations"
BARE = "/healthz"
STRATEGIES = ("truncate", "window", "summarise", "hybrid")
ROLES = ("user", "assistant")
TOKEN_BUDGET = 4_000
PAGE = 50
WARM_UP = 20
ROUNDS = 50
# Other conversations beside the long one, so that a page of the list is full and more pages follow.
OTHERS = 100

# Milliseconds that the 95th percentile stays under.
APPEND_GOAL, CONTEXT_GOAL, LIST_GOAL = 30.0, 50.0, 30.0


@dataclass(frozen=True, slots=True)
class Measured:
    """One kind of request, its latency and its goal in milliseconds."""

    name: str
    latency: Latency
    goal: float

    @property
    def met(self) -> bool:
        """Tell whether 95 of 100 requests stayed under the goal."""
        return self.latency.p95 < self.goal


@dataclass(frozen=True, slots=True)
class ConversationBench:
    """What was measured on one conversation of so many messages; `bare` is a request that reads nothing."""

    messages: int
    bare: Latency
    measured: tuple[Measured, ...]

    @property
    def ratios(self) -> dict[str, float]:
        """Return the median of each kind of request over that of a bare one."""
        return {each.name: round(each.latency.p50 / self.bare.p50, 2) for each in self.measured}


def bench_conversations(
    base_url: str,
    token: str,
    texts: Sequence[str],
    *,
    embed: Callable[[], object],
    forget: Callable[[UUID], object],
    on_progress: Callable[[int], None] = lambda _requests: None,
) -> ConversationBench:
    """Append the texts one by one to a new conversation, then ask for its context and for lists.

    `embed` gives what was appended its vectors, as a worker would have done in the meantime. Then the context is
    asked for as if for the first time, `forget` dropping what was kept of an earlier one, and after two more messages
    each time, as an agent does. Raises `httpx.HTTPStatusError`
    when the server refuses.
    """
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=base_url, headers=headers, timeout=60) as http:
        client = _Client(http, on_progress)
        client.warm_up(texts[: 2 * WARM_UP])
        for number in range(OTHERS):
            client.append(client.open(), texts[number % len(texts)], number)
        thread = client.open()
        appended = [client.append(thread, each, number) for number, each in enumerate(texts)]
        embed()
        first = client.first_contexts(thread, forget)
        contexts = {strategy: client.contexts(thread, strategy, texts) for strategy in STRATEGIES}
        return ConversationBench(
            len(texts),
            latency(client.nothing()),
            (
                Measured("append a message", latency(appended), APPEND_GOAL),
                Measured("context, hybrid, first", latency(first), CONTEXT_GOAL),
                *(Measured(f"context, {name}", latency(took), CONTEXT_GOAL) for name, took in contexts.items()),
                Measured("list messages", latency(client.pages(f"{thread}/messages", "messages")), LIST_GOAL),
                Measured("list conversations", latency(client.lists()), LIST_GOAL),
            ),
        )


def requests(texts: int) -> int:
    """Return how many requests `bench_conversations` is told of as progress."""
    return 2 * WARM_UP + OTHERS + texts + WARM_UP + len(STRATEGIES) * (WARM_UP + 3 * ROUNDS)


@dataclass(frozen=True, slots=True)
class _Client:
    """One connection. Conversations are paths."""

    http: httpx.Client
    on_progress: Callable[[int], None]

    def warm_up(self, texts: Sequence[str]) -> None:
        """Ask for everything once and more, in another conversation."""
        thread = self.open()
        for number in range(2 * WARM_UP):
            self.append(thread, texts[number % len(texts)], number)
        for strategy in STRATEGIES:
            for _ in range(WARM_UP):
                self.context(thread, strategy)
        self._get(f"{thread}/messages", limit=PAGE)
        self._get(CONVERSATIONS, limit=PAGE)

    def open(self) -> str:
        """Open a conversation and return its path."""
        response = self.http.post(CONVERSATIONS, json={})
        response.raise_for_status()
        return f"{CONVERSATIONS}/{response.json()['id']}"

    def append(self, thread: str, text: str, number: int) -> float:
        """Return the milliseconds that it took to append one message, the user's where the number is even."""
        message = {"role": ROLES[number % 2], "content": text, "client_id": str(new_id())}
        response, took = timed(lambda: self.http.post(f"{thread}/messages", json={"message": message}))
        response.raise_for_status()
        self.on_progress(1)
        return took

    def contexts(self, thread: str, strategy: str, texts: Sequence[str]) -> list[float]:
        """Return the milliseconds of contexts, each of a conversation that has grown by a turn."""
        took = []
        for turn in range(ROUNDS):
            for number in (2 * turn, 2 * turn + 1):
                self.append(thread, texts[number % len(texts)], number)
            took.append(self.context(thread, strategy))
        return took

    def first_contexts(self, thread: str, forget: Callable[[UUID], object]) -> list[float]:
        """Return the milliseconds of contexts for which no summary is at hand."""
        took = []
        for _ in range(WARM_UP):
            forget(UUID(thread.rpartition("/")[2]))
            took.append(self.context(thread, "hybrid"))
        return took

    def nothing(self) -> list[float]:
        """Return the milliseconds of requests that read nothing."""
        return [self._get(BARE)[1] for _ in range(2 * ROUNDS)]

    def context(self, thread: str, strategy: str) -> float:
        """Return the milliseconds of one context."""
        _, took = self._get(f"{thread}/context", strategy=strategy, token_budget=TOKEN_BUDGET)
        self.on_progress(1)
        return took

    def pages(self, path: str, name: str) -> list[float]:
        """Return the milliseconds of every page of a list, from its first to its last."""
        took, cursor = [], None
        while True:
            answer, milliseconds = self._get(path, limit=PAGE, **({"cursor": cursor} if cursor else {}))
            took.append(milliseconds)
            cursor = answer["next_cursor"]
            if cursor is None or not answer[name]:
                return took

    def lists(self) -> list[float]:
        """Return the milliseconds of every page of the conversations, many times over."""
        return [took for _ in range(ROUNDS) for took in self.pages(CONVERSATIONS, "conversations")]

    def _get(self, path: str, **query: Any) -> tuple[dict[str, Any], float]:
        response, took = timed(lambda: self.http.get(path, params=query))
        response.raise_for_status()
        return dict(response.json()), took


def to_dict(bench: ConversationBench) -> dict[str, Any]:
    """Return the measurements in values that JSON can carry."""
    measured = [{**asdict(each), "met": each.met} for each in bench.measured]
    return {
        "messages": bench.messages,
        "goals_met": all(each.met for each in bench.measured),
        "measured": measured,
        "bare": asdict(bench.bare),
        "ratios": bench.ratios,
    }


def to_text(bench: ConversationBench) -> str:
    """Return the measurements as a table."""
    header = ("milliseconds", "p50", "p95", "p50 / bare", "goal (p95)")
    ratios = bench.ratios
    rows: list[tuple[str, float, float, float | None, str]] = [
        ("bare request", bench.bare.p50, bench.bare.p95, None, "")
    ]
    rows += [
        (each.name, each.latency.p50, each.latency.p95, ratios[each.name], f"< {each.goal:g} {_word(each)}")
        for each in bench.measured
    ]
    return f"a conversation of {bench.messages} messages, over HTTP\n\n{table(header, rows, digits=1)}"


def _word(measured: Measured) -> str:
    return "met" if measured.met else "MISSED"
