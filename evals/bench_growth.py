"""What a search costs as a user's memories, or the number of users, grow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from evals import bench_search
from evals.bench_search import SearchBench
from evals.corpus import WordModel
from evals.stock import Vectors, around, bring_to_rest, stock
from evals.tables import table
from evals.throwaway import add_user
from tasks.runtime import Runtime

# A search in a million rows of a thousand users may take so many times as long as one in ten thousand rows of ten.
LARGEST_GROWTH = 1.5
FEW_USERS = 10


@dataclass(frozen=True, slots=True)
class Point:
    """A search of one user with so many memories, in a database of `users` who have as many each."""

    users: int
    memories: int
    search: SearchBench


def growth(
    runtime: Runtime,
    sizes: Sequence[int],
    centres: Vectors,
    *,
    questions: Sequence[str],
    now: datetime,
    on_progress: Callable[[int], None] = lambda _rows: None,
) -> list[Point]:
    """Measure the searches of one user after the other, the smallest first; their vectors lie round `centres`."""
    points = []
    for number, size in enumerate(sorted(sizes)):
        user_id = add_user(runtime, f"grown-{number}@example.org", now)
        vectors = around(centres, size, seed=number)
        # The texts of every size are made of the words that the questions have: a question with unknown words would
        # first be searched for other spellings.
        texts = WordModel().texts(size)
        space_id = stock(runtime, user_id, texts, now=now, vectors=vectors, on_progress=on_progress)
        found = bench_search.bench_search(runtime, user_id, space_id, questions, memories=size, now=now)
        points.append(Point(1, size, found))
    return points


def crowd(
    runtime: Runtime,
    users: int,
    memories: int,
    centres: Vectors,
    *,
    questions: Sequence[str],
    now: datetime,
    on_progress: Callable[[int], None] = lambda _rows: None,
) -> list[Point]:
    """Measure the searches of one user among few and among many others with as many memories as that one.

    Raises `ValueError` for fewer users than `FEW_USERS`.
    """
    if users < FEW_USERS:
        raise ValueError(f"at least {FEW_USERS} users are needed")
    texts, vectors = WordModel().texts(memories), around(centres, memories)

    def add(number: int) -> tuple[UUID, UUID]:
        user_id = add_user(runtime, f"one-of-many-{number}@example.org", now)
        space_id = stock(runtime, user_id, texts, now=now, vectors=vectors, at_rest=False, on_progress=on_progress)
        return user_id, space_id

    def measure(so_far: int) -> Point:
        bring_to_rest(runtime)
        found = bench_search.bench_search(runtime, user_id, space_id, questions, memories=memories, now=now)
        return Point(so_far, memories, found)

    user_id, space_id = add(0)
    for number in range(1, FEW_USERS):
        add(number)
    few = measure(FEW_USERS)
    for number in range(FEW_USERS, users):
        add(number)
    return [few, measure(users)]


def ratios(points: Sequence[Point]) -> dict[str, float]:
    """Return ranking and SQL over the bare scan of the same vectors, at each size."""
    return {f"{each.users} x {each.memories}": each.search.ratio for each in points}


def grown(points: Sequence[Point]) -> float:
    """Return the median search at the last point over that at the first."""
    first, last = points[0].search, points[-1].search
    return round(last.ranking_and_sql.p50 / first.ranking_and_sql.p50, 2)


def to_dict(points: Sequence[Point]) -> dict[str, Any]:
    """Return the measurements in values that JSON can carry."""
    values = [{"users": each.users, "memories": each.memories, **bench_search.to_dict(each.search)} for each in points]
    return {"points": values, "grown": grown(points), "ratios": ratios(points)}


def to_text(points: Sequence[Point]) -> str:
    """Return the measurements as a table."""
    header = ("milliseconds", "rows in all", "bare scan", "p50", "p95", "embedded too, p95", "p50 / bare", "recall")
    rows = [
        (
            f"{each.users} x {each.memories}",
            each.users * each.memories,
            each.search.bare_app.p50,
            each.search.ranking_and_sql.p50,
            each.search.ranking_and_sql.p95,
            each.search.uncached.p95,
            each.search.ratio,
            each.search.dense_recall,
        )
        for each in points
    ]
    return f"users x memories of each, {points[0].search.cached.count} questions\n\n{table(header, rows, digits=2)}"


def draw(points: Sequence[Point], path: Path) -> None:
    """Write a picture of cost against size as SVG; needs the extra `eval`."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - heavy, and of an extra

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    sizes = [each.users * each.memories for each in points]
    for label, values in {
        "search: ranking and SQL, p50": [each.search.ranking_and_sql.p50 for each in points],
        "search: ranking and SQL, p95": [each.search.ranking_and_sql.p95 for each in points],
        "bare exact scan, p50": [each.search.bare_app.p50 for each in points],
    }.items():
        axes.plot(sizes, values, marker="o", label=label)
    axes.set(xscale="log", xlabel="memories", ylabel="milliseconds", title="What a search costs as memories grow")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, format="svg", metadata={"Date": None})
