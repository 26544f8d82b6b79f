from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
from click import ClickException, Command, Group
from click.testing import CliRunner
from evals_data import question, sample
from sqlalchemy import text

from evals import bench_record, golden
from evals.cli import bench_group, eval_group, import_locomo
from evals.cli_bench import Kept
from evals.cli_output import Output
from evals.runs import Run, latest
from memory.storage.database import user_session
from tasks.runtime import Runtime

pytestmark = pytest.mark.slow


def test_every_way_to_evaluate_is_mounted() -> None:
    judging = [
        "changes",
        "golden",
        "jsonl",
        "lighter-reader",
        "locomo",
        "marks",
        "outages",
        "peers",
        "peers-install",
        "persons",
        "query-encoder",
        "reader",
        "silence",
        "stops",
        "sweep",
        "tasks",
        "ui",
    ]
    assert sorted(eval_group.commands) == judging


def test_an_evaluation_prints_a_table_and_writes_json(tmp_path: Path, kept: Path) -> None:
    data, measures = tmp_path / "small.json", tmp_path / "measures.json"
    data.write_text(json.dumps([sample()]))
    arguments = ["locomo", str(data), "--only-default", "--no-save", "--json", str(measures)]
    result = CliRunner().invoke(eval_group, arguments)
    assert result.exit_code == 0, result.output
    assert "session recall@10" in result.stdout
    assert list(json.loads(measures.read_text())["variants"]) == ["balanced"]
    assert not (kept / "evals").exists()


@pytest.mark.parametrize("command", ["locomo", "outages"])
def test_a_file_without_a_question_to_judge_by_is_refused(command: str, tmp_path: Path, kept: Path) -> None:
    data = tmp_path / "apart.json"
    data.write_text(json.dumps([sample(qa=[question("Did Bob adopt a snake?", 5, ["D1:1"])])]))
    result = CliRunner().invoke(eval_group, [command, str(data)])
    assert (result.exit_code, "all questions stand apart" in result.stderr) == (1, True)
    assert not (kept / "evals").exists()


def test_questions_that_nothing_answers_are_judged_by_what_they_have(tmp_path: Path) -> None:
    data = tmp_path / "silent.jsonl"
    lines = [
        {"kind": "memory", "id": "m1", "text": "The spare key is under the third flowerpot"},
        {"kind": "question", "text": "What is the name of my cat?", "nothing": True},
    ]
    data.write_text("\n".join(map(json.dumps, lines)))
    result = CliRunner().invoke(eval_group, ["jsonl", str(data), "--no-save"])
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "PASS")
    rows = {" ".join(line.split()[:-4]) for line in result.stdout.splitlines()}
    assert {"abstention", "token budget", "safety"} <= rows


def test_a_malformed_file_ends_with_the_reason(tmp_path: Path) -> None:
    data = tmp_path / "broken.json"
    data.write_text('[{"qa": []}]')
    result = CliRunner().invoke(import_locomo, [str(data), "--email", "a@example.org"])
    assert result.exit_code == 1
    assert "sample 1: conversation is missing" in result.output


def test_own_data_are_imported_once_and_measured_where_they_are(
    newcomer: tuple[Runtime, UUID], tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime, user_id = newcomer
    with user_session(runtime.sessions, user_id) as session:
        email = str(session.scalar(text("SELECT email FROM users WHERE id = :id"), {"id": user_id}))
    monkeypatch.setenv("DATABASE_URL", runtime.databases.owner)
    monkeypatch.setenv("COMMONPLACE_SECRET_KEY", runtime.settings.secret_key.decode())
    data = tmp_path / "small.json"
    data.write_text(json.dumps([sample()]))
    arguments = ["locomo", str(data), "--own-data", "--email", email, "--only-default"]
    results = [CliRunner().invoke(eval_group, arguments) for _ in range(2)]
    assert [each.exit_code for each in results] == [0, 0], results[0].output
    with user_session(runtime.sessions, user_id) as session:
        assert session.scalar(text("SELECT count(*) FROM memories")) == 4
    assert len(list((kept / "evals").iterdir())) == 2
    assert email not in "".join(each.read_text() for each in (kept / "evals").iterdir())


@pytest.mark.usefixtures("bare_databases")
@pytest.mark.parametrize(
    ("group", "arguments"), [(eval_group, ["marks"]), (import_locomo, []), (eval_group, ["locomo", "--own-data"])]
)
def test_own_data_need_tables(group: Command, arguments: list[str], tmp_path: Path, kept: Path) -> None:
    data = tmp_path / "small.json"
    data.write_text(json.dumps([sample()]))
    file = [] if arguments == ["marks"] else [str(data)]
    result = CliRunner().invoke(group, [*arguments, *file, "--email", "ada@example.org"])
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "run `commonplace migrate` first" in result.stderr


def test_own_data_needs_a_name(tmp_path: Path) -> None:
    data = tmp_path / "small.json"
    data.write_text(json.dumps([sample()]))
    result = CliRunner().invoke(eval_group, ["locomo", str(data), "--own-data"])
    assert result.exit_code == 2


def test_a_name_is_for_own_data_alone(tmp_path: Path, kept: Path) -> None:
    data = tmp_path / "small.json"
    data.write_text(json.dumps([sample()]))
    result = CliRunner().invoke(eval_group, ["locomo", str(data), "--email", "a@example.org"])
    assert (result.exit_code, "--email is for --own-data" in result.stderr) == (2, True)
    assert not (kept / "evals").exists()


def test_there_is_a_memory_for_each_repeat() -> None:
    result = CliRunner().invoke(bench_group, ["dedupe", "--memories", "100"])
    assert (result.exit_code, "--writes must be at most --memories" in result.stderr) == (2, True)


def test_one_number_has_one_value() -> None:
    result = CliRunner().invoke(eval_group, ["golden", "--set", "reads=4", "--set", "k1=1", "--set", "reads=5"])
    assert (result.exit_code, "reads is there twice" in result.stderr) == (2, True)


@pytest.mark.parametrize(("times", "said"), [(1, "has no more than 6 questions"), (4, "no more than 20 different")])
def test_a_bench_says_of_what_a_file_has_too_little(tmp_path: Path, times: int, said: str) -> None:
    data = tmp_path / "small.json"
    data.write_text(json.dumps([sample(qa=sample()["qa"] * times)]))
    arguments = ["search", "--memories", "100", "--queries", "20", "--locomo", str(data), "--no-save"]
    result = CliRunner().invoke(bench_group, arguments)
    assert (result.exit_code, said in result.output) == (1, True), result.output


def test_a_bench_prints_how_it_compares(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    arguments = ["search", "--memories", "200", "--queries", "20", "--fast", "--json", str(path)]
    result = CliRunner().invoke(bench_group, arguments)
    assert result.exit_code == 0, result.output
    assert json.loads(path.read_text())["search"]["memories"] == 200


@pytest.mark.parametrize("command", ["golden", "marks", "outages", "sweep", "tasks", "peers"])
def test_a_file_in_no_folder_is_refused_before_anything_is_measured(command: str, tmp_path: Path, kept: Path) -> None:
    given = ["--email", "a@example.org"] if command == "marks" else [str(golden.BUNDLED)]
    result = CliRunner().invoke(eval_group, [command, *given, "--json", str(tmp_path / "missing" / "run.json")])
    assert (result.exit_code, f"there is no folder {tmp_path / 'missing'}" in result.stderr) == (2, True)
    assert not (kept / "evals").exists()


@pytest.mark.parametrize(
    ("group", "arguments"),
    [
        (eval_group, ["sweep", str(golden.BUNDLED), "--svg"]),
        (bench_group, ["growth", "--plot"]),
        (bench_group, ["search", "--json"]),
        (eval_group, ["reader", "--out"]),
    ],
)
def test_a_picture_or_a_measurement_in_no_folder_is_refused_before_anything_is_measured(
    group: Group, arguments: list[str], tmp_path: Path
) -> None:
    result = CliRunner().invoke(group, [*arguments, str(tmp_path / "missing" / "file")])
    assert (result.exit_code, f"there is no folder {tmp_path / 'missing'}" in result.stderr) == (2, True)


def test_what_is_no_number_is_in_no_range(tmp_path: Path) -> None:
    (file := tmp_path / "small.json").write_text(json.dumps([sample()]))
    done = CliRunner().invoke(eval_group, ["outages", str(file), "--timeout", "nan", "--no-save"])
    assert (done.exit_code, "'nan' is no number" in done.output) == (2, True)


def test_a_run_is_kept_although_its_other_file_cannot_be_written(tmp_path: Path, kept: Path) -> None:
    lost, values = tmp_path / "missing" / "run.json", {"data": {"name": "golden"}}
    with pytest.raises(ClickException, match="could not be written"):
        Output(lost, None, save=True, mlflow=False).finish("golden", "", values, started=datetime.now(UTC))
    assert [each.title for each in latest(kept, 5)] == ["golden"]


def test_a_question_that_stands_apart_is_not_compared(tmp_path: Path) -> None:
    path, cases = tmp_path / "run.json", {"a": {"MRR": 1.0}, "x": {"MRR": 1.0}}
    against = Run("old", {"cases": {"a": {"MRR": 0.5}, "x": {"MRR": 0.0}}})
    values = {"cases": cases, "apart": ["x"]}
    Output(path, against, save=False, mlflow=False).finish("locomo", "", values, started=datetime.now(UTC))
    found = json.loads(path.read_text())["against"]["MRR"]
    assert (found["mean"], found["cases"]) == (0.5, 1)


def test_a_measurement_is_kept_though_its_file_cannot_be_written(tmp_path: Path, kept: Path) -> None:
    with pytest.raises(ClickException, match="could not be written"):
        Kept(tmp_path / "missing" / "run.json", save=True, check=False).finish("bench search", {}, "", {"a": 2.0}, {})
    assert bench_record.last_ratios(kept, "bench search", {}) == {"a": 2.0}


def test_what_was_worse_is_still_worse_when_it_is_measured_again(
    kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def measured(second: int, ratio: float, *, check: bool) -> None:
        try:
            Kept(None, save=True, check=check).finish("bench search", {}, "", {"a": ratio}, {})
        finally:
            # As if a second had gone by: files are told apart by it.
            (file,) = (kept / "bench").glob("2*.json")
            file.rename(file.with_name(f"19700101T00000{second}Z-bench-search.json"))

    measured(0, 1.0, check=True)
    for second in (1, 2):
        with pytest.raises(ClickException, match="worse than the last run: a"):
            measured(second, 2.0, check=True)
    measured(3, 2.0, check=False)
    measured(4, 2.0, check=True)
    assert capsys.readouterr().out.count("WORSE") == 2


def test_a_run_and_a_measurement_are_written_though_they_cannot_be_kept(
    tmp_path: Path, kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, measured = tmp_path / "run.json", tmp_path / "measured.json"
    for folder in ("evals", "bench"):
        (kept / folder).touch()
    values = {"data": {"name": "golden"}}
    with pytest.raises(ClickException, match=f"the run could not be kept: .*{kept / 'evals'}"):
        Output(run, None, save=True, mlflow=False).finish("golden", "1.000", values, started=datetime.now(UTC))
    with pytest.raises(ClickException, match=f"the run could not be kept: .*{kept / 'bench'}"):
        Kept(measured, save=True, check=False).finish("bench search", {}, "1.0 ms", {"a": 2.0}, {})
    assert [json.loads(each.read_text())["command"] for each in (run, measured)] == ["golden", "bench search"]
    assert capsys.readouterr().out == "1.000\n1.0 ms\n"


def test_a_run_and_a_measurement_are_kept_though_nobody_reads_the_screen(tmp_path: Path, kept: Path) -> None:
    run, measured = tmp_path / "run.json", tmp_path / "measured.json"
    values = {"data": {"name": "golden"}}
    with nobody_reads(), pytest.raises(BrokenPipeError):
        Output(run, None, save=True, mlflow=False).finish("golden", "1.000", values, started=datetime.now(UTC))
    with nobody_reads(), pytest.raises(BrokenPipeError):
        Kept(measured, save=True, check=False).finish("bench search", {}, "1.0 ms", {"a": 2.0}, {})
    assert [each.title for each in latest(kept, 5)] == ["golden"]
    assert bench_record.last_ratios(kept, "bench search", {}) == {"a": 2.0}
    assert (run.exists(), measured.exists()) == (True, True)


@contextmanager
def nobody_reads() -> Iterator[None]:
    """Let standard output be a pipe whose other end is closed."""
    ours, theirs = os.pipe()
    os.close(ours)
    # Unbuffered: what is left over would be written when it is closed.
    with open(theirs, "wb", buffering=0) as raw, redirect_stdout(io.TextIOWrapper(raw, write_through=True)):
        yield
