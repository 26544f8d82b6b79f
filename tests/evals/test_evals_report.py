from __future__ import annotations

import json

import pytest

from evals.dataset import DataSet, Question
from evals.report import Report, Variant, failing, reasons, to_dict, to_text
from evals.scores import Outcome

EASY, HARD = "single-hop", "adversarial"


def variant(name: str, *founds: bool, **more: bool) -> Variant:
    """One question for each of `founds`, which says whether it was answered."""
    answered = [
        Outcome(
            Question(f"q{n}", EASY, "?", "here", frozenset({"a"})),
            (("a",),) if found else (),
            frozenset({frozenset({"a"})}),
            4.0,
            **more,
        )
        for n, found in enumerate(founds)
    ]
    return Variant(name, tuple(answered))


def report(*variants: Variant, kind: str = "locomo", reference: Variant | None = None) -> Report:
    return Report(DataSet(kind, "small", (), (), unscored=2), variants, reference)


def share(name: str, of_ten: int) -> Variant:
    return variant(name, *(n < of_ten for n in range(10)))


def test_a_good_report_passes() -> None:
    good = report(share("balanced", 8), share("keyword alone", 7), share("semantic alone", 5))
    assert (reasons(good), to_text(good).endswith("PASS")) == ([], True)


def test_too_little_recall_is_a_reason() -> None:
    assert reasons(report(share("balanced", 6))) == ["balanced: recall@10 is 0.600, below 0.7"]
    assert reasons(report(share("balanced", 6), kind="jsonl")) == ["balanced: recall@5 is 0.600, below 0.8"]


def test_a_leg_that_does_better_alone_is_a_reason() -> None:
    worse = report(share("balanced", 8), share("semantic alone", 9))
    assert reasons(worse) == ["balanced: recall@10 is 0.800, below 0.900 of semantic alone"]


@pytest.mark.parametrize(("kind", "verdict"), [("golden", ["PASS"]), ("jsonl", ["PASS"]), ("notes", [])])
def test_what_is_no_locomo_is_not_held_against_its_legs(kind: str, verdict: list[str]) -> None:
    legs = share("keyword alone", 9), share("semantic alone", 10)
    found = report(share("balanced", 8), *legs, kind=kind, reference=share("reference", 10))
    assert (reasons(found), [line for line in to_text(found).splitlines() if line in {"PASS", "FAIL"}]) == ([], verdict)


def test_another_bm25_that_finds_something_else_is_a_reason() -> None:
    other = report(share("balanced", 8), share("keyword alone", 7), reference=share("reference", 8))
    assert reasons(other) == ["keyword alone: recall@10 is 0.700, the reference finds 0.800"]


@pytest.mark.parametrize("bad", [{"safe": False}, {"compliant": False}])
def test_one_leak_or_one_answer_over_budget_fails(bad: dict[str, bool]) -> None:
    found = report(variant("balanced", True, **bad), kind="golden")
    assert (len(reasons(found)), failing(found)) == (1, ["q0"])
    assert "FAIL" in to_text(found)


def test_the_questions_that_missed_something_are_named() -> None:
    found = report(variant("balanced", True, False))
    assert failing(found) == ["q1"]
    assert "1 questions missed something: q1" in to_text(found)


def test_questions_without_an_answer_are_kept_apart() -> None:
    good, bad = variant("balanced", True).outcomes[0], Question("x", HARD, "?", "here", frozenset({"a"}), apart=True)
    missed = Outcome(bad, (), frozenset({frozenset({"a"})}), 4.0)
    found = Variant("balanced", (good, missed))
    assert (found.mean("recall@10"), found.by_category[HARD]["recall@10"].mean) == (1.0, 0.0)
    assert failing(report(found)) == []
    values = to_dict(report(found))
    assert (list(found.counted), list(values["cases"]), values["apart"]) == (["q0"], ["q0", "x"], ["x"])


def test_marks_are_measured_and_not_judged() -> None:
    found = report(variant("balanced", False), kind="marks")
    assert reasons(found) == []
    assert not {"PASS", "FAIL"} & set(to_text(found).splitlines())


def test_a_report_fits_into_json_without_its_texts() -> None:
    values = json.dumps(to_dict(report(share("balanced", 8), share("fusion rrf", 5))))
    found = json.loads(values)
    assert found["variants"]["balanced"]["measures"]["recall@10"]["mean"] == 0.8
    assert (found["data"]["unscored"], len(found["cases"])) == (2, 10)
    assert '"?"' not in values


def test_each_category_stands_with_its_interval() -> None:
    found = report(share("balanced", 8))
    ((name, measures),) = found.main.by_category.items()
    hits = measures["recall@10"]
    (line,) = [each for each in to_text(found).splitlines() if each.startswith(f"{name} ")]
    assert f"{hits.mean:.3f} ({hits.low:.3f} to {hits.high:.3f})" in line
    assert hits.low < hits.mean < hits.high


def test_the_columns_of_the_tables_line_up() -> None:
    for part in to_text(report(share("balanced", 8), share("keyword alone", 7))).split("\n\n")[1:4]:
        assert len({len(line) for line in part.splitlines()}) == 1
