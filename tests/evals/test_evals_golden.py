from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from evals import cli_eval
from evals.cli import eval_group
from evals.golden import BUNDLED, HELD_OUT, NEAR_MISSES, parse, read

UV, TEA = "User prefers uv over pip", "The user drinks green tea"


def data(*cases: dict[str, Any], **setups: list[dict[str, Any]]) -> dict[str, Any]:
    return {"version": "1.0.0", "setups": setups, "cases": list(cases)}


def one(**fields: Any) -> dict[str, Any]:
    return {"id": "a", "query": "uv?", "expected_retrievals": [UV], "setup_memories": [{"content": UV}], **fields}


def test_a_case_has_the_shared_memories_and_its_own() -> None:
    found = parse(data(one(setup="ann"), ann=[{"content": TEA, "type": "preference"}]))
    items = {each.id: each for each in found.collections[0].items}
    assert [(each.text, each.type) for each in items.values()] == [(TEA, "preference"), (UV, "note")]
    assert [items[each].text for each in found.questions[0].expected] == [UV]


def test_cases_over_the_same_memories_share_them() -> None:
    found = parse(data(one(), one(id="b"), one(id="c", setup_memories=[{"content": UV}, {"content": TEA}])))
    assert [each.collection for each in found.questions] == ["golden-0", "golden-0", "golden-1"]


def test_cases_of_one_setup_are_about_one_person() -> None:
    more = one(id="b", setup="ann", expected_retrievals=[TEA])
    found = parse(data(one(setup="ann"), {**more, "setup_memories": []}, one(id="c"), ann=[{"content": TEA}]))
    assert [each.about for each in found.questions] == ["ann", "ann", "golden-2"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (data(one(), one()), "two cases have the same id"),
        (data(one(setup="bob")), "case a: there is no setup 'bob'"),
        (data(one(expected_retrievals=["Tea"])), "case a: 'Tea' is expected, but is none of its memories"),
        (data(one(query="")), r"cases\.0\.query"),
        (data(one(query=" \t")), "case a: query: must not be empty"),
        (data(one(query="uv\x00")), "case a: query: must not contain NUL"),
        (data(one(id="")), "case 1: id: must not be empty"),
        (data(one(id="a\ud800")), "case 1: id: is not valid Unicode text"),
        (data(one(category="b\ud800")), "case a: category: is not valid Unicode text"),
        (
            data(one(setup_memories=[{"content": UV, "created_at": "0001-01-01T00:00:00+14:00"}])),
            "case a, memory 1: created_at: must be within the years 1 to 9999 in UTC",
        ),
        (data(one(setup_memories=[{"content": UV, "text": "x"}])), r"cases\.0\.setup_memories\.0\.text"),
        ([], "^not an object with cases"),
        (5, "^not an object with cases"),
        (data(one(setup_memories=[{"content": UV}, {"content": " "}])), "case a, memory 2: content: must not be empty"),
        (data(one(setup_memories=[{"content": f"{UV}\x00"}])), "case a, memory 1: content: must not contain NUL"),
        (data(one(), ann=[{"content": TEA, "type": "poem"}]), "setup ann, memory 1: type: must be one of"),
        (data(one(), ann=[{"content": "tea " * 20_000}]), "setup ann, memory 1: content: must be at most"),
        (
            data(one(), ann=[{"content": TEA, "created_at": "2999-01-01T00:00:00Z"}]),
            "setup ann, memory 1: created_at: must not be more than a day in the future",
        ),
    ],
)
def test_a_malformed_file_is_refused_by_name(wrong: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse(wrong)


def test_fields_that_mean_nothing_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "golden.json"
    wrong = [one(catgory="tools"), one(id="b", catgory="tools", **{"a\nb": 1})]
    file.write_text(json.dumps({**data(*wrong), "author": "Ann"}))
    assert read(file).ignored == ("'author'", "'catgory' (case a)", r"'a\nb' (case b)")
    cli_eval.read(file, "golden")
    told = r"nothing is done with 'author', 'catgory' (case a), 'a\nb' (case b)"
    assert capsys.readouterr().err == f"Warning: {file}: {told}\n"


def test_of_many_that_mean_nothing_the_first_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "golden.json"
    file.write_text(json.dumps(data(one(expected_retrievals=[], setup_memories=[], **{f"f{n}": n for n in range(12)}))))
    cli_eval.read(file, "golden")
    assert capsys.readouterr().err.endswith(", 'f9' (case a) and 2 more\n")


@pytest.mark.parametrize("file", [BUNDLED, HELD_OUT, NEAR_MISSES])
def test_of_our_own_files_all_fields_mean_something(file: Path) -> None:
    assert read(file).ignored == ()


def test_the_bundled_cases_are_enough() -> None:
    cases = read(BUNDLED).questions
    assert len(cases) >= 336
    assert sum(not each.expected for each in cases) >= 92


def test_no_case_is_both_developed_on_and_held_out() -> None:
    mine, others = read(BUNDLED).questions, read(HELD_OUT).questions
    assert not {each.text for each in mine} & {each.text for each in others}


def test_the_command_says_fail_and_ends_with_one(tmp_path: Path) -> None:
    file, report = tmp_path / "golden.json", tmp_path / "report.json"
    file.write_text(json.dumps(data(one(query="zebra crossing"))))
    report.write_text(json.dumps({"data": {"kind": "golden", "name": "golden"}, "cases": {"a": {"MRR": 1.0}}}))
    result = CliRunner().invoke(eval_group, ["golden", str(file), "--json", str(report), "--against", str(report)])
    assert (result.exit_code, "recall@5 is 0.000, below 0.8" in result.output) == (1, True)
    found = json.loads(report.read_text())
    assert (found["failing"], found["against"]["MRR"]["mean"]) == (["a"], -1.0)
    assert "1 of 1 questions are among the 1 of report.json\n" in result.stdout
    assert "Warning" not in result.stderr


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ('{"cases": [{"id": "a"}]}', "is not the JSON of a run"),
        ('{"cases": {"a": 5}}', "is not the JSON of a run"),
        ('{"command": "golden"}', "has no scores of questions"),
        ('{"cases": {"z": {"MRR": 1.0}}}', "run.json has none of the questions of golden"),
        ('{"cases": {"a": {"MRR": 1.0}}, "apart": ["a"]}', "run.json has none of the questions of golden"),
    ],
)
def test_only_a_run_of_the_same_questions_can_be_compared_with(
    tmp_path: Path, kept: Path, other: str, said: str
) -> None:
    file, run = tmp_path / "golden.json", tmp_path / "run.json"
    file.write_text(json.dumps(data(one())))
    run.write_text(other)
    result = CliRunner().invoke(eval_group, ["golden", str(file), "--against", str(run)])
    assert (result.exit_code, said in result.output) == (2, True)
    assert not (kept / "evals").exists()


@pytest.mark.parametrize(("kind", "name"), [("jsonl", "golden"), ("golden", "others")])
def test_a_run_of_other_data_is_compared_with_a_warning(tmp_path: Path, kind: str, name: str) -> None:
    file, run = tmp_path / "golden.json", tmp_path / "run.json"
    file.write_text(json.dumps(data(one(), one(id="b"))))
    run.write_text(json.dumps({"data": {"kind": kind, "name": name}, "cases": {"a": {"MRR": 0.5}, "z": {}}}))
    result = CliRunner().invoke(eval_group, ["golden", str(file), "--against", str(run)])
    assert f"Warning: run.json is of {kind} {name}, not of golden golden" in result.stderr
    assert "1 of 2 questions are among the 2 of run.json\n" in result.stdout


def test_a_malformed_file_ends_the_command(tmp_path: Path) -> None:
    file = tmp_path / "golden.json"
    file.write_text("{}")
    result = CliRunner().invoke(eval_group, ["golden", str(file)])
    assert (result.exit_code, str(file) in result.output) == (1, True)
