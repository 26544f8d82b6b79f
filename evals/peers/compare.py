"""What a comparison found: as tables, and in values that JSON can carry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from math import isfinite
from typing import Any

from evals.dataset import DataSet
from evals.means import Measure, compare
from evals.peers.cutoff import SILENT, Cut, as_silent
from evals.peers.measure import Found
from evals.tables import Cell, table

COLUMNS = ("recall@5", "recall@10", "session recall@10", "hit@10", "MRR", "nDCG@10", SILENT)
PAIRED = ("recall@5", "recall@10", "MRR", "nDCG@10", SILENT)


@dataclass(frozen=True)
class Comparison:
    """All systems over one data set; `ours` is the one that the others are held against."""

    data: DataSet
    ours: Found
    peers: tuple[Found, ...]

    @property
    def measured(self) -> list[Found]:
        """Return those that could be measured, ours first."""
        return [each for each in (self.ours, *self.peers) if each.variant is not None]

    @cached_property
    def differences(self) -> dict[str, dict[str, Measure]]:
        """Return ours less theirs, question by question, by the peer's name."""
        assert self.ours.variant is not None
        return {
            each.name: compare(self.ours.variant.cases, each.variant.cases)
            for each in self.peers
            if each.variant is not None
        }

    @cached_property
    def cuts(self) -> dict[str, Cut]:
        """Return the peers that could be made as silent as ours is, by name; none where ours never is."""
        assert self.ours.variant is not None
        wanted = self.ours.variant.mean(SILENT)
        made = {each.name: as_silent(each, wanted) for each in self.peers} if wanted else {}
        return {name: cut for name, cut in made.items() if cut is not None}

    @property
    def ahead(self) -> list[str]:
        """Return where a peer is ahead of ours, in words."""
        assert self.ours.variant is not None
        mine, found = self.ours.variant.latency, []
        for each in self.peers:
            if each.variant is None:
                continue
            differs = {name: one for name, one in self.differences[each.name].items() if one.differs}
            lost = [name for name, one in differs.items() if name in PAIRED and one.high < 0]
            took = each.variant.latency
            lost += [name for name in ("p50", "p95") if getattr(took, name) < getattr(mine, name)]
            found += [f"{each.name} is ahead in {', '.join(lost)}"] if lost else []
        return found


def to_values(found: Comparison) -> dict[str, Any]:
    """Return the comparison in values that JSON can carry: names, ids and numbers, never a text."""
    data = found.data
    return {
        "data": {
            "kind": data.kind,
            "name": data.name,
            "collections": len(data.collections),
            "memories": data.size,
            "questions": len(data.questions),
        },
        "as_silent": {name: _cut(found, each) for name, each in found.cuts.items()},
        "systems": {each.name: _system(each) for each in (found.ours, *found.peers)},
        "differences": {
            name: {measure: asdict(one) for measure, one in each.items()} for name, each in found.differences.items()
        },
        "ahead": found.ahead,
    }


def _cut(found: Comparison, cut: Cut) -> dict[str, Any]:
    assert found.ours.variant is not None
    differences = compare(found.ours.variant.cases, cut.variant.cases)
    return {
        "above": cut.score if isfinite(cut.score) else None,
        "measures": {name: asdict(each) for name, each in cut.variant.measures.items()},
        "differences": {name: asdict(each) for name, each in differences.items()},
    }


def _system(found: Found) -> dict[str, Any]:
    if found.variant is None:
        return {"says": found.says, "error": found.error}
    return {
        "says": found.says,
        "settings": found.settings,
        "versions": dict(found.versions),
        "measures": {name: asdict(each) for name, each in found.variant.measures.items()},
        "by_category": {
            category: {name: asdict(each) for name, each in measures.items()}
            for category, measures in found.variant.by_category.items()
        },
        "latency_ms": asdict(found.variant.latency),
        "stored": found.stored,
        "store_seconds": round(found.store_seconds, 3),
        "strangers": list(found.strangers),
        "cases": found.variant.cases,
    }


def to_text(found: Comparison) -> str:
    """Return the comparison as tables: quality and speed, differences, settings, and what could not be measured."""
    data = found.data
    parts = [
        f"{data.name}: {data.size} memories of {len(data.collections)} users, {len(data.questions)} questions",
        _quality(found),
        _speed(found),
        _differences(found),
        _as_silent(found),
        _settings(found.measured),
        _failures(found),
        "\n".join(found.ahead or [_nobody_ahead(found)]),
    ]
    return "\n\n".join(part for part in parts if part)


def _nobody_ahead(found: Comparison) -> str:
    return "no peer is ahead in any of these" if found.differences else "no peer could be measured"


def _quality(found: Comparison) -> str:
    systems = [(each.name, each.variant) for each in found.measured if each.variant is not None]
    columns = [name for name in COLUMNS if any(name in variant.measures for _, variant in systems)]
    rows: list[list[Cell]] = [[name, *(variant.mean(column) for column in columns)] for name, variant in systems]
    return table(("system", *columns), rows)


def _speed(found: Comparison) -> str:
    assert found.ours.variant is not None
    mine = found.ours.variant.latency
    rows: list[list[Cell]] = []
    for each in found.measured:
        assert each.variant is not None
        took = each.variant.latency
        ratios = [round(took.p50 / mine.p50, 2), round(took.p95 / mine.p95, 2)]
        rows.append([each.name, took.p50, took.p95, *ratios, each.rate])
    return table(("a search, question embedded", "p50 ms", "p95 ms", "x ours", "x ours", "stored/s"), rows, digits=2)


def _differences(found: Comparison) -> str:
    names = [name for name in PAIRED if any(name in each for each in found.differences.values())]
    rows: list[list[Cell]] = [
        [peer, *(_interval(each.get(name)) for name in names)] for peer, each in found.differences.items()
    ]
    return table(("ours less theirs (95 %)", *names), rows) if rows else ""


def _as_silent(found: Comparison) -> str:
    if not found.cuts:
        return ""
    assert found.ours.variant is not None
    mine = found.ours.variant
    rows: list[list[Cell]] = [[found.ours.name, None, *map(mine.mean, PAIRED), None]]
    for name, cut in found.cuts.items():
        difference = compare(mine.cases, cut.variant.cases).get(PAIRED[0])
        rows.append([name, cut.score, *map(cut.variant.mean, PAIRED), _interval(difference)])
    return table(("as silent as ours", "above", *PAIRED, f"ours less theirs, {PAIRED[0]}"), rows)


def _interval(measure: Measure | None) -> str | None:
    return f"{measure.mean:+.3f} ({measure.low:+.3f} to {measure.high:+.3f})" if measure else None


def _settings(measured: Sequence[Found]) -> str:
    return "\n".join(f"{each.name}: {each.says}; {each.settings}; {_versions(each.versions)}" for each in measured)


def _versions(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _failures(found: Comparison) -> str:
    failed = [f"{each.name}: could not run: {each.error}" for each in found.peers if each.error]
    reached = [
        f"{each.name}: tried to reach {', '.join(each.strangers)}, and was refused"
        for each in found.peers
        if each.strangers
    ]
    return "\n".join([*failed, *reached])
