from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner
from evals_data import sample

from evals.cli import bench_group, eval_group, import_group


def test_an_evaluation_prints_a_table_and_writes_json(tmp_path: Path) -> None:
    data, measures = tmp_path / "small.json", tmp_path / "measures.json"
    data.write_text(json.dumps([sample()]))
    result = CliRunner().invoke(eval_group, ["locomo", str(data), "--only-default", "--json", str(measures)])
    assert result.exit_code == 0, result.output
    assert "categories 1-4" in result.stdout
    assert list(json.loads(measures.read_text())["variants"]) == ["balanced"]


def test_a_malformed_file_ends_with_the_reason(tmp_path: Path) -> None:
    data = tmp_path / "broken.json"
    data.write_text('[{"qa": []}]')
    result = CliRunner().invoke(import_group, ["locomo", str(data), "--email", "a@example.org"])
    assert result.exit_code == 1
    assert "sample 1: conversation is missing" in result.output


def test_own_data_needs_a_name(tmp_path: Path) -> None:
    data = tmp_path / "small.json"
    data.write_text(json.dumps([sample()]))
    result = CliRunner().invoke(eval_group, ["locomo", str(data), "--own-data"])
    assert result.exit_code == 2


def test_a_bench_prints_how_it_compares(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    arguments = ["search", "--memories", "200", "--queries", "20", "--fast", "--json", str(path)]
    result = CliRunner().invoke(bench_group, arguments)
    assert result.exit_code == 0, result.output
    assert json.loads(path.read_text())["search"]["memories"] == 200
