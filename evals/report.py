"""What an evaluation found, as a dictionary, as a table, and as a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from evals.locomo import ADVERSARIAL, CATEGORIES
from evals.quality import Answered, Quality, by_category, headline, summarise
from evals.tables import Cell, table
from evals.timing import Latency

DEFAULT = "balanced"
KEYWORD, SEMANTIC = "keyword alone", "semantic alone"
LEAST_RECALL = 0.70
# How far our own BM25 may be from the reference: ties at the tenth place fall differently.
REFERENCE_TOLERANCE = 0.01


@dataclass(frozen=True, slots=True)
class Variant:
    """One policy: each question's measures, and how long its searches took."""

    name: str
    answered: tuple[Answered, ...]
    latency: Latency

    @property
    def headline(self) -> Quality:
        """Return the means over categories 1 to 4."""
        return headline(self.answered)


@dataclass(frozen=True, slots=True)
class Report:
    """All variants; `reference` is what an outside BM25 found, None where that was not available."""

    variants: tuple[Variant, ...]
    reference: tuple[Answered, ...] | None = None

    def recall(self, name: str) -> float | None:
        """Return recall at 10 over categories 1 to 4 of the named variant, None if it was not measured."""
        return next((each.headline.recall_at_10 for each in self.variants if each.name == name), None)

    @property
    def reference_recall(self) -> float | None:
        """Return recall at 10 over categories 1 to 4 of the outside BM25."""
        return None if self.reference is None else headline(self.reference).recall_at_10


def passes(report: Report) -> list[str]:
    """Return the reasons why the default is not good enough; none when it is."""
    default = report.recall(DEFAULT)
    if default is None:
        return [f"{DEFAULT} was not measured"]
    reasons = []
    if default < LEAST_RECALL:
        reasons.append(f"{DEFAULT}: recall@10 is {default:.3f}, below {LEAST_RECALL}")
    for leg in (KEYWORD, SEMANTIC):
        alone = report.recall(leg)
        if alone is not None and default < alone:
            reasons.append(f"{DEFAULT}: recall@10 is {default:.3f}, below {alone:.3f} of {leg}")
    keyword, reference = report.recall(KEYWORD), report.reference_recall
    if keyword is not None and reference is not None and abs(keyword - reference) > REFERENCE_TOLERANCE:
        reasons.append(f"{KEYWORD}: recall@10 is {keyword:.3f}, the reference finds {reference:.3f}")
    return reasons


def to_dict(report: Report) -> dict[str, Any]:
    """Return the report in values that JSON can carry."""
    found: dict[str, Any] = {
        each.name: {**_measures(each.answered), "latency_ms": asdict(each.latency)} for each in report.variants
    }
    reference = None if report.reference is None else _measures(report.reference)
    return {"variants": found, "reference_bm25": reference, "failed": passes(report)}


def to_text(report: Report) -> str:
    """Return the report as two tables: the headline of each variant, and recall at 10 by category."""
    rows = [_row(each.name, each.answered, each.latency) for each in report.variants]
    shares = [_shares(each.name, each.answered) for each in report.variants]
    if report.reference is not None:
        rows.append(_row("bm25s (reference)", report.reference, None))
        shares.append(_shares("bm25s (reference)", report.reference))
    columns = ("categories 1-4", "n", "recall@5", "recall@10", "hit@10", "MRR", "p50 ms", "p95 ms")
    names = [f"{number} {name}" for number, name in CATEGORIES.items()]
    return f"{table(columns, rows)}\n\n{table(('recall@10 by category', *names), shares)}"


def _measures(answered: Sequence[Answered]) -> dict[str, Any]:
    return {
        "categories_1_to_4": asdict(headline(answered)),
        "adversarial": asdict(summarise([each for each in answered if each.category == ADVERSARIAL])),
        "by_category": {str(number): asdict(each) for number, each in by_category(answered).items()},
    }


def _row(name: str, answered: Sequence[Answered], took: Latency | None) -> list[Cell]:
    top = headline(answered)
    measures: list[Cell] = [top.questions, top.recall_at_5, top.recall_at_10, top.hit_at_10, top.mrr]
    return [name, *measures, took.p50 if took else None, took.p95 if took else None]


def _shares(name: str, answered: Sequence[Answered]) -> list[Cell]:
    found = by_category(answered)
    return [name, *(found[number].recall_at_10 if number in found else None for number in CATEGORIES)]
