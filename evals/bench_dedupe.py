"""What recognising repeats costs a write among many memories, and what it recognises, beside a bare insert."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import insert

from evals.stock import SPACE, memory_row
from evals.tables import table
from evals.timing import Latency, latency, timed
from memory.drafts.drafts import Draft
from memory.models import Memory, Space
from memory.spaces.spaces import create_space
from memory.storage.database import user_session
from memory.writing.remember import remember
from tasks.runtime import Runtime

BARE_SPACE = "bench-bare"
WARM_UP = 10
# The outcome that each kind of write must have.
EXPECTED = {
    "new": "created",
    "repeat": "merged",
    "other marks": "merged",
    "one word more": "merged",
    "other number": "created",
}


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of write: its latency, and how many of its texts came to which outcome."""

    name: str
    latency: Latency
    outcomes: dict[str, int]

    @property
    def right(self) -> float:
        """Return the share of the texts that came to what they should."""
        return self.outcomes.get(EXPECTED[self.name], 0) / self.latency.count


@dataclass(frozen=True, slots=True)
class DedupeBench:
    """Writes of one text each, committed, in a space of `memories`; `bare` inserts the same row and no more."""

    memories: int
    bare: Latency
    kinds: tuple[Kind, ...]

    @property
    def ratio(self) -> float:
        """Return the median of a new memory over that of a bare insert."""
        return round(self.kinds[0].latency.p50 / self.bare.p50, 2)


def numbered(texts: Sequence[str]) -> list[str]:
    """Return the texts with a number in each, which makes it differ from its neighbours."""
    return [f"{each.rstrip('.')} in room {number}." for number, each in enumerate(texts)]


def bench_dedupe(
    runtime: Runtime,
    user_id: UUID,
    stored: Sequence[str],
    fresh: Sequence[str],
    *,
    now: datetime,
    on_progress: Callable[[int], None] = lambda _writes: None,
) -> DedupeBench:
    """Write one text of each kind in turn for every one of `fresh`, beside a bare insert.

    `stored` are the texts of the space, as `numbered` makes them. Raises `ValueError` for too few of either.
    """
    if len(fresh) <= WARM_UP or len(stored) < len(fresh):
        raise ValueError(f"more than {WARM_UP} texts are needed, and as many stored ones")
    with user_session(runtime.sessions, user_id) as session:
        bare_space = create_space(session, user_id, BARE_SPACE, soft_cap=len(fresh), now=now, actor="bench")
        session.expunge(bare_space)
    bare: list[float] = []
    took: dict[str, list[float]] = {name: [] for name in EXPECTED}
    outcomes: dict[str, Counter[str]] = {name: Counter() for name in EXPECTED}
    for number, text in enumerate(fresh):
        _, milliseconds = timed(lambda: _insert(runtime, bare_space, text, now))  # noqa: B023 - run at once
        bare.append(milliseconds)
        for name, said in _writes(stored[number], text):
            outcome, milliseconds = timed(lambda: _remember(runtime, user_id, said, now))  # noqa: B023 - run at once
            took[name].append(milliseconds)
            if number >= WARM_UP:
                outcomes[name][outcome] += 1
        on_progress(1)
    kinds = tuple(Kind(name, latency(took[name][WARM_UP:]), dict(outcomes[name])) for name in EXPECTED)
    return DedupeBench(len(stored), latency(bare[WARM_UP:]), kinds)


def _writes(stored: str, fresh: str) -> Iterator[tuple[str, str]]:
    """Yield one text of each kind. The number stands last, so that it can be another one."""
    yield "new", fresh
    yield "repeat", f"  {stored.upper()} "
    yield "other marks", f"{stored.rstrip('.')}!".replace(":", " -", 1)
    yield "one word more", f"{stored.rstrip('.')}, please."
    start, _, number = stored.rstrip(".").rpartition(" ")
    yield "other number", f"{start} {int(number) + 500_000}."


def _insert(runtime: Runtime, space: Space, text: str, now: datetime) -> None:
    with user_session(runtime.sessions, space.user_id) as session:
        session.execute(insert(Memory), [memory_row(space, text, now)])


def _remember(runtime: Runtime, user_id: UUID, text: str, now: datetime) -> str:
    with user_session(runtime.sessions, user_id) as session:
        return remember(session, user_id, SPACE, Draft(text), keys=runtime.keys, now=now, actor="bench").outcome


def to_dict(bench: DedupeBench) -> dict[str, Any]:
    """Return the measurements in values that JSON can carry."""
    return {**asdict(bench), "ratio": bench.ratio, "right": {each.name: each.right for each in bench.kinds}}


def to_text(bench: DedupeBench) -> str:
    """Return the measurements as a table."""
    rows: list[tuple[str, float, float, str, str]] = [
        (each.name, each.latency.p50, each.latency.p95, f"{each.right:.1%}", EXPECTED[each.name])
        for each in bench.kinds
    ]
    rows.insert(0, ("bare insert of the row", bench.bare.p50, bench.bare.p95, "", ""))
    body = table(("milliseconds", "p50", "p95", "right", "should be"), rows)
    count = bench.bare.count
    return (
        f"{count} writes of each kind among {bench.memories} memories\n\n{body}\n\n"
        f"a new memory / bare insert: {bench.ratio:.2f}"
    )
