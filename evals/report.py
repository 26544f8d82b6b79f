"""What a run found: as a verdict, as tables, and in values that JSON can carry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from evals.dataset import DataSet
from evals.examine import Examiner
from evals.means import Measure, counted, measures
from evals.policies import DEFAULT, KEYWORD, SEMANTIC
from evals.reference import AVAILABLE, reference_outcomes
from evals.scores import SHARES, Outcome, misses, scores
from evals.tables import Cell, table
from evals.timing import Latency, latency
from retrieval.policy import Policy

SLOW_MS = 200.0
# How far the measures of our own BM25 may be from those of the reference: ties at the tenth place may fall differently.
REFERENCE_TOLERANCE = 0.01
_ALWAYS = dict.fromkeys(SHARES, 1.0)
_SPECIFIED = {"recall@5": 0.80, "precision@5": 0.70, **_ALWAYS}
# What the default policy must reach, by the kind of data. Marks have no goals: they are too few and too partial to
# judge by.
LEAST: Mapping[str, Mapping[str, float]] = {
    "golden": _SPECIFIED,
    "jsonl": _SPECIFIED,
    "locomo": {"recall@10": 0.70, **_ALWAYS},
    "persons": _ALWAYS,
    "marks": {},
}
# On this kind of data the default is compared with its legs, too. The legs are never silent: on other kinds they find
# what the default rightly keeps back.
WITH_LEGS = "locomo"
COLUMNS = ("recall@5", "recall@10", "session recall@10", "hit@10", "MRR", "nDCG@10", "abstention")


@dataclass(frozen=True)
class Variant:
    """One policy, or one condition: what each question brought under it."""

    name: str
    outcomes: tuple[Outcome, ...]

    @cached_property
    def cases(self) -> dict[str, dict[str, float]]:
        """Return the scores of each question by its id."""
        return {each.question.id: scores(each) for each in self.outcomes}

    @cached_property
    def apart(self) -> list[str]:
        """Return the ids of the questions that are kept apart."""
        return [each.question.id for each in self.outcomes if each.question.apart]

    @cached_property
    def counted(self) -> dict[str, dict[str, float]]:
        """Return the scores of all questions but those that are kept apart: what means and differences are made of."""
        return counted(self.cases, self.apart)

    @cached_property
    def measures(self) -> dict[str, Measure]:
        """Return the means over all questions but those that are kept apart."""
        return measures(list(self.counted.values()))

    @cached_property
    def by_category(self) -> dict[str, dict[str, Measure]]:
        """Return the means of each category."""
        named: dict[str, list[dict[str, float]]] = {}
        for each in self.outcomes:
            named.setdefault(each.question.category, []).append(self.cases[each.question.id])
        return {name: measures(named[name]) for name in sorted(named)}

    @cached_property
    def latency(self) -> Latency:
        """Return how long the searches took."""
        return latency([each.milliseconds for each in self.outcomes])

    def mean(self, name: str) -> float | None:
        """Return the mean of a measure, None where no question has it."""
        return self.measures[name].mean if name in self.measures else None


@dataclass(frozen=True)
class Report:
    """All variants of one run; `reference` is what an outside BM25 found, None where that was not asked."""

    data: DataSet
    variants: tuple[Variant, ...]
    reference: Variant | None = None

    def variant(self, name: str) -> Variant | None:
        """Return the variant of a name, None if it was not measured."""
        return next((each for each in self.variants if each.name == name), None)

    @property
    def main(self) -> Variant:
        """Return the default policy, or the first where that was not measured."""
        return self.variant(DEFAULT) or self.variants[0]


def run(
    examiner: Examiner,
    data: DataSet,
    policies: Mapping[str, Policy],
    on_progress: Callable[[int], None] = lambda _questions: None,
) -> Report:
    """Measure each policy on every question; raises `MeasureError` for a search that failed or lacked a leg.

    The default is asked thoroughly, the others once a question. Beside the keyword leg alone stands the reference,
    where its package is installed.
    """
    examiner.warm_up(data.questions)
    found = []
    for name, policy in policies.items():
        ask = examiner.thorough if name == DEFAULT else examiner.briefly
        found.append(Variant(name, tuple(ask(data.questions, policy, on_progress))))
    reference = reference_outcomes(examiner, data) if AVAILABLE and KEYWORD in policies else None
    return Report(data, tuple(found), Variant("bm25s (reference)", tuple(reference)) if reference else None)


def reasons(report: Report) -> list[str]:
    """Return why the run fails; nothing when it passes, or where its kind of data is not judged."""
    main, found = report.main, []
    for name, least in LEAST.get(report.data.kind, {}).items():
        mean = main.mean(name)
        if mean is not None and mean < least:
            found.append(f"{main.name}: {name} is {mean:.3f}, below {least}")
    if report.data.kind == WITH_LEGS:
        found += _beside_the_legs(report)
    return found


def _beside_the_legs(report: Report) -> list[str]:
    """Return which leg does better alone, and whether the keyword leg finds something else than the reference."""
    main, found = report.main, []
    for leg in (KEYWORD, SEMANTIC):
        mine, alone = _recall(main), _recall(report.variant(leg))
        if mine is not None and alone is not None and mine < alone:
            found.append(f"{main.name}: recall@10 is {mine:.3f}, below {alone:.3f} of {leg}")
    keyword, reference = _recall(report.variant(KEYWORD)), _recall(report.reference)
    if keyword is not None and reference is not None and abs(keyword - reference) > REFERENCE_TOLERANCE:
        found.append(f"{KEYWORD}: recall@10 is {keyword:.3f}, the reference finds {reference:.3f}")
    return found


def failing(report: Report) -> list[str]:
    """Return the ids of the questions that missed something under the main variant, those kept apart left out."""
    return [each.question.id for each in report.main.outcomes if not each.question.apart and misses(each)]


def to_dict(report: Report) -> dict[str, Any]:
    """Return the report in values that JSON can carry: names, ids and numbers, never a text."""
    data, why = report.data, reasons(report)
    measured = [*report.variants, *([report.reference] if report.reference else [])]
    return {
        "data": {
            "kind": data.kind,
            "name": data.name,
            "memories": data.size,
            "questions": len(data.questions),
            "unscored": data.unscored,
            "lines": data.lines,
        },
        "passed": not why,
        "reasons": why,
        "failing": failing(report),
        "main": report.main.name,
        "variants": {each.name: _values(each) for each in measured},
        "cases": report.main.cases,
        "apart": report.main.apart,
    }


def _values(variant: Variant) -> dict[str, Any]:
    return {
        "measures": {name: asdict(each) for name, each in variant.measures.items()},
        "by_category": {
            category: {name: asdict(each) for name, each in found.items()}
            for category, found in variant.by_category.items()
        },
        "latency_ms": asdict(variant.latency),
    }


def to_text(report: Report) -> str:
    """Return the report as tables, the verdict last."""
    data, main = report.data, report.main
    parts = [f"{data.name}: {data.size} memories, {len(data.questions)} questions, {data.unscored} without evidence"]
    measured = [*report.variants, *([report.reference] if report.reference else [])]
    if len(measured) > 1:
        parts.append(variants_to_text(measured))
    parts += [measures_to_text(main.measures, main.name), _categories(main), _ending(report)]
    return "\n\n".join(parts)


def variants_to_text(measured: Sequence[Variant]) -> str:
    """Return a table with a line for each variant."""
    columns = [name for name in COLUMNS if any(name in each.measures for each in measured)]
    rows: list[list[Cell]] = [
        [each.name, *(each.mean(name) for name in columns), each.latency.p50 or None, each.latency.p95 or None]
        for each in measured
    ]
    return table(("variant", *columns, "p50 ms", "p95 ms"), rows)


def measures_to_text(found: Mapping[str, Measure], title: str) -> str:
    """Return means and their intervals as a table."""
    rows: list[list[Cell]] = [[name, each.mean, each.low, each.high, each.cases] for name, each in found.items()]
    return table((title, "mean", "95% low", "high", "cases"), rows)


def _categories(variant: Variant) -> str:
    names = ("recall@5", "recall@10", "precision@5", "MRR", "abstention")
    columns = [name for name in names if any(name in found for found in variant.by_category.values())]
    rows: list[list[Cell]] = [
        [category, max(each.cases for each in found.values()), *(_interval(found.get(name)) for name in columns)]
        for category, found in variant.by_category.items()
    ]
    return table(("category", "n", *(f"{name} (95 %)" for name in columns)), rows)


def _ending(report: Report) -> str:
    took = report.main.latency
    slow = f" (warning: above {SLOW_MS:.0f} ms)" if took.p95 > SLOW_MS else ""
    missed, why = failing(report), reasons(report)
    lines = [
        f"latency p50 {took.p50:.1f} ms, p95 {took.p95:.1f} ms{slow}",
        f"{len(missed)} questions missed something: {_named(missed)}",
    ]
    if LEAST.get(report.data.kind):
        lines += ["FAIL", *why] if why else ["PASS"]
    return "\n".join(lines)


def _named(ids: Sequence[str], most: int = 60) -> str:
    more = f" and {len(ids) - most} more" if len(ids) > most else ""
    return (", ".join(ids[:most]) or "none") + more


def _interval(found: Measure | None) -> str | None:
    return f"{found.mean:.3f} ({found.low:.3f} to {found.high:.3f})" if found else None


def _recall(variant: Variant | None) -> float | None:
    return variant.mean("recall@10") if variant else None
