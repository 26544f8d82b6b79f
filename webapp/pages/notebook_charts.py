"""Charts as tables of numbers, which the browser draws: the picture never says more than the table beneath it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory.errors import InvalidError
from memory.models import Space
from memory.notebooks import figures
from retrieval.days.dates import local
from webapp.context import credential, local_now, session, zone
from webapp.operations import space_for
from webapp.pages.notebook_answers import closed_spaces
from webapp.pages.notebook_forms import ChartForm
from webapp.pages.space_forms import policy_of
from webapp.pages.words import counted

NAMES = {
    "growth": "Memories over time",
    "ages": "Importance against age",
    "tags": "Tags",
    "repeats": "What deduplication saves",
    "backlog": "Embedding backlog",
    "latency": "Search latency",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a chart: where it stands on the axis, in seconds, days or by its number, its name, its values."""

    at: float
    name: str
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Series:
    """One column of values: its name, the colour that it has, how it is drawn, and its number of decimals."""

    name: str
    colour: str
    drawn: str = "line"
    decimals: int = 0


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart. `axis` is `time` (seconds since 1970), `number` or `names`."""

    title: str
    said: str
    axis: str
    axis_name: str
    series: tuple[Series, ...]
    rows: Sequence[Row]


def chart_of(form: ChartForm) -> Chart:
    """Return the chart that a form asks for, of what there is now; a space that is gone leaves an empty one."""
    try:
        space = space_for(form.space) if form.space else None
    except InvalidError:
        return Chart(NAMES[form.chart], "This space is gone.", "names", "", (), ())
    return _CHARTS[form.chart](space)


def _growth(space: Space | None) -> Chart:
    rows = figures.growth(session(), _me(), _id(space), now=local_now())
    series = (Series("in all", "total"), Series("new", "relevance", "bars"))
    said = f"{rows[-1][2]:,} active memories." if rows else ""
    return _over_time(NAMES["growth"], said, series, [(at, total, made) for at, made, total in rows])


def _ages(space: Space | None) -> Chart:
    tau = policy_of(space or space_for(None)).tau_days
    rows = figures.ages(session(), _me(), _id(space), tau_days=tau, now=local_now())
    series = (
        Series("mean importance", "importance", "points", 2),
        Series(f"recency, τ = {tau:g} days", "recency", "line", 2),
        Series("memories", "total", "none"),
    )
    points = [Row(days, f"{days:.1f} days", (mean, fresh, count)) for days, count, mean, fresh in rows]
    return Chart(NAMES["ages"], "Both run from 0 to 1.", "number", "Age in days", series, points)


def _tags(space: Space | None) -> Chart:
    # Tags are words of the memories, and the other charts are numbers alone.
    closed = frozenset(each.id for each in closed_spaces())
    rows = figures.tags(session(), _me(), _id(space), closed=closed, now=local_now())
    shut = closed if space is None else closed & {space.id}
    said = "" if not shut else f"Without {counted(len(shut), 'space')} in which incognito is on."
    return _by_name(NAMES["tags"], said, "Tag", rows)


def _repeats(_space: Space | None) -> Chart:
    rows = figures.repeats(session(), _me(), now=local_now())
    series = (Series("stored", "total", "bars"), Series("merged", "relevance"), Series("refused", "importance"))
    written, merged = sum(row[1] + row[2] for row in rows), sum(row[2] for row in rows)
    said = f"{merged:,} of {written:,} writes said what was known, and made no second row." if rows else ""
    return _over_time(NAMES["repeats"], said, series, rows)


def _backlog(_space: Space | None) -> Chart:
    rows = figures.backlog(session(), _me(), now=local_now())
    return _by_name(NAMES["backlog"], "", "Vector", rows if any(count for _, count in rows) else ())


def _latency(_space: Space | None) -> Chart:
    rows = figures.latency(session(), _me(), now=local_now())
    series = (
        Series("median, ms", "relevance", "line", 1),
        Series("95 in 100, ms", "importance", "line", 1),
        Series("searches", "total", "none"),
    )
    points = [(at, p50, p95, count) for at, count, p50, p95 in rows]
    return _over_time(NAMES["latency"], "Searches by agents' tools and by recall cells.", series, points)


def _over_time(
    title: str, said: str, series: tuple[Series, ...], rows: Sequence[tuple[datetime, *tuple[float, ...]]]
) -> Chart:
    points = [Row(at.timestamp(), f"{local(at, zone()):%Y-%m-%d}", tuple(values)) for at, *values in rows]
    return Chart(title, said, "time", "From", series, points)


def _by_name(title: str, said: str, axis_name: str, rows: Sequence[tuple[str, int]]) -> Chart:
    points = [Row(place, name, (count,)) for place, (name, count) in enumerate(rows)]
    return Chart(title, said, "names", axis_name, (Series("memories", "relevance", "bars"),), points)


def _me() -> UUID:
    return credential().user_id


def _id(space: Space | None) -> UUID | None:
    return space.id if space is not None else None


_CHARTS: dict[str, Callable[[Space | None], Chart]] = {
    "growth": _growth,
    "ages": _ages,
    "tags": _tags,
    "repeats": _repeats,
    "backlog": _backlog,
    "latency": _latency,
}
