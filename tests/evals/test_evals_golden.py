from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from evals.cli import eval_group
from evals.golden import BUNDLED, Case, Setup, parse, read
from evals.golden_report import compare, interval, judge, scores, to_text
from evals.run_golden import Outcome, run
from evals.throwaway import throwaway

NOW = datetime(2025, 6, 1, tzinfo=UTC)
UV, TEA, CAT = "User prefers uv over pip", "The user drinks green tea", "The cat is called Miso"


def data(*cases: dict[str, Any], **setups: list[dict[str, Any]]) -> dict[str, Any]:
    return {"version": "1.0.0", "setups": setups, "cases": list(cases)}


def one(**fields: Any) -> dict[str, Any]:
    return {"id": "a", "query": "uv?", "expected_retrievals": [UV], "setup_memories": [{"content": UV}], **fields}


def outcome(
    found: Sequence[str], *expected: str, name: str = "a", safe: bool = True, compliant: bool = True
) -> Outcome:
    return Outcome(Case(name, "c", "q", (), frozenset(expected)), tuple(found), 5.0, safe, compliant)


def test_a_case_has_the_shared_memories_and_its_own() -> None:
    (case,) = parse(data(one(setup="ann"), ann=[{"content": TEA, "type": "preference"}]))
    assert [each.content for each in case.memories] == [TEA, UV]
    assert (case.memories[0].type, case.expected) == ("preference", frozenset({UV}))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (data(one(), one()), "two cases have the same id"),
        (data(one(setup="bob")), "case a: there is no setup 'bob'"),
        (data(one(expected_retrievals=["Tea"])), "case a: 'Tea' is expected, but is none of its memories"),
        (data(one(query="")), r"cases\.0\.query"),
        (data(one(setup_memories=[{"content": UV, "text": "x"}])), r"cases\.0\.setup_memories\.0\.text"),
        ([], "valid dictionary"),
    ],
)
def test_a_malformed_file_is_refused_by_name(wrong: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse(wrong)


def test_the_bundled_cases_are_enough() -> None:
    cases = read(BUNDLED)
    assert len(cases) >= 120
    assert sum(not each.expected for each in cases) >= 20


def test_the_measures_by_hand() -> None:
    got = scores(outcome(["x", "b", "a"], "a", "b", "c"))
    # Discounts 1/log2(3) and 1/log2(4) of what 1, 1/log2(3) and 1/log2(4) would be.
    expected = {"recall@1": 0, "recall@5": 2 / 3, "recall@10": 2 / 3, "hit@5": 1, "MRR": 0.5, "nDCG@10": 0.5307213}
    assert {name: got[name] for name in expected} == pytest.approx(expected)
    assert "precision@5" not in got


def test_precision_needs_five_expected_memories() -> None:
    assert scores(outcome(["a", "x", "b"], *"abcde"))["precision@5"] == pytest.approx(0.4)


@pytest.mark.parametrize(("found", "abstention"), [([], 1), (["x"], 0)])
def test_nothing_is_expected_of_some(found: list[str], abstention: float) -> None:
    assert scores(outcome(found))["abstention"] == abstention


def test_good_answers_pass_and_are_not_named() -> None:
    verdict = judge([outcome(["a"], "a"), outcome([], name="b")])
    assert (verdict.passed, verdict.failing) == (True, ())
    assert to_text(verdict).endswith("PASS")


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (outcome(["x"], "a", name="bad"), "recall@5"),
        (outcome(["a"], "a", name="bad", safe=False), "safety"),
        (outcome(["a"], "a", name="bad", compliant=False), "token budget"),
    ],
)
def test_a_bad_answer_fails_and_is_named(bad: Outcome, reason: str) -> None:
    verdict = judge([bad, outcome(["a"], "a")])
    assert (verdict.passed, verdict.failing) == (False, ("bad",))
    assert verdict.reasons[0].startswith(reason)
    assert "bad" in to_text(verdict)


def test_the_interval_holds_the_mean_and_narrows_with_more_values() -> None:
    few, many = interval([0.0, 1.0] * 5), interval([0.0, 1.0] * 500)
    assert few[0] < many[0] < 0.5 < many[1] < few[1]


def test_two_runs_are_compared_case_by_case() -> None:
    found = compare({"a": {"MRR": 1.0}, "b": {"MRR": 0.5}}, {"a": {"MRR": 0.5}, "b": {"MRR": 0.5}, "c": {"MRR": 1.0}})
    assert (found["MRR"].mean, found["MRR"].cases) == (0.25, 2)


def test_cases_are_asked_among_their_own_memories_and_by_a_stranger() -> None:
    memories = tuple(Setup(content=each) for each in (UV, TEA, CAT))
    cases = [
        Case("uv", "preference", "Which package manager does the user prefer, uv or pip?", memories, frozenset({UV})),
        Case("cat", "fact", "What is the name of the cat?", memories, frozenset({CAT})),
        Case("lone", "fact", "What is the name of the cat?", memories[:2], frozenset()),
    ]
    with throwaway(now=NOW) as (runtime, user_id):
        outcomes = run(runtime, user_id, cases, now=NOW)
    assert [each.found[:1] for each in outcomes] == [(UV,), (CAT,), ()]
    assert all(each.safe and each.compliant and each.milliseconds > 0 for each in outcomes)


def test_the_command_says_fail_and_ends_with_one(tmp_path: Path) -> None:
    file, report = tmp_path / "golden.json", tmp_path / "report.json"
    impossible = one(query="zebra crossing", setup_memories=[{"content": UV}])
    file.write_text(json.dumps(data(impossible)))
    result = CliRunner().invoke(eval_group, ["golden", str(file), "--json", str(report)])
    assert (result.exit_code, "recall@5 is 0.000, below 0.8" in result.output) == (1, True)
    again = CliRunner().invoke(eval_group, ["golden", str(file), "--against", str(report)])
    assert "difference" in again.output
    assert json.loads(report.read_text())["failing"] == ["a"]


def test_a_malformed_file_ends_the_command(tmp_path: Path) -> None:
    file = tmp_path / "golden.json"
    file.write_text("{}")
    result = CliRunner().invoke(eval_group, ["golden", str(file)])
    assert (result.exit_code, str(file) in result.output) == (1, True)
