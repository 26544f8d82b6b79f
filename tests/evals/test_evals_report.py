from __future__ import annotations

import json

from evals.quality import Answered
from evals.report import Report, Variant, passes, to_dict, to_text
from evals.timing import latency


def answered(recall: float) -> tuple[Answered, ...]:
    return (Answered(4, recall, recall, 1.0, 1.0),)


def report(reference: float | None = 0.60, **recalls: float) -> Report:
    values = {"balanced": 0.70, "keyword alone": 0.60, "semantic alone": 0.50}
    values.update({name.replace("_", " "): value for name, value in recalls.items()})
    found = [Variant(name, answered(recall), latency([1.0])) for name, recall in values.items()]
    return Report(tuple(found), None if reference is None else answered(reference))


def test_a_good_report_passes() -> None:
    assert passes(report()) == []


def test_too_little_recall_is_a_reason() -> None:
    assert passes(report(balanced=0.65)) == ["balanced: recall@10 is 0.650, below 0.7"]


def test_a_leg_that_does_better_alone_is_a_reason() -> None:
    assert passes(report(semantic_alone=0.71)) == ["balanced: recall@10 is 0.700, below 0.710 of semantic alone"]


def test_another_bm25_that_finds_something_else_is_a_reason() -> None:
    assert passes(report(0.62)) == ["keyword alone: recall@10 is 0.600, the reference finds 0.620"]


def test_without_the_reference_the_rest_is_judged() -> None:
    assert passes(report(None)) == []


def test_a_report_without_the_default_does_not_pass() -> None:
    assert passes(Report(())) == ["balanced was not measured"]


def test_a_report_fits_into_json() -> None:
    found = json.loads(json.dumps(to_dict(report())))
    assert found["variants"]["balanced"]["categories_1_to_4"]["recall_at_10"] == 0.7


def test_the_columns_of_the_table_line_up() -> None:
    lines = to_text(report()).split("\n\n")[0].splitlines()
    assert len({len(line) for line in lines}) == 1
