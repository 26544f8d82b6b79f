from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from evals import bench_dedupe, bench_growth, bench_record, bench_search
from evals.bench_search import SearchBench
from evals.cli import bench_group
from evals.corpus import WordModel
from evals.stock import around, stock
from evals.throwaway import throwaway
from evals.timing import Latency

NOW = datetime(2024, 1, 1, tzinfo=UTC)
CENTRES = np.eye(384, dtype=np.float32)[:8]


def test_the_newest_run_with_the_same_parameters_is_the_one_to_compare_with(tmp_path: Path) -> None:
    bench_record.keep(tmp_path, "bench x", {"memories": 10}, {"a": 1.0}, {})
    bench_record.keep(tmp_path, "bench x", {"memories": 20}, {"a": 9.0}, {})
    bench_record.keep(tmp_path, "bench y", {"memories": 10}, {"a": 9.0}, {})
    (tmp_path / "bench" / "99990101T000000Z-bench-x.json").write_text("{")
    assert bench_record.last_ratios(tmp_path, "bench x", {"memories": 10}) == {"a": 1.0}
    assert bench_record.last_ratios(tmp_path, "bench x", {"memories": 30}) is None


@pytest.mark.parametrize(("now", "worse"), [(1.25, []), (1.26, ["a"]), (0.5, [])])
def test_a_quarter_more_is_worse(now: float, worse: list[str]) -> None:
    assert bench_record.worse({"a": now, "new": 99.0}, {"a": 1.0}) == worse
    assert ("WORSE" in bench_record.to_text({"a": now}, {"a": 1.0})) is bool(worse)


@pytest.mark.slow
def test_a_command_fails_where_a_ratio_has_grown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path))
    asked = ["dedupe", "--memories", "100", "--writes", "20", "--check"]
    first = CliRunner().invoke(bench_group, asked)
    assert first.exit_code == 0, first.output
    assert "no earlier run" in first.output
    (kept,) = (tmp_path / "bench").glob("*.json")
    values = json.loads(kept.read_text())
    assert values["dedupe"]["right"]["new"] == values["dedupe"]["right"]["repeat"] == 1.0
    # As if the last run had been on a far better version.
    kept.write_text(json.dumps({**values, "ratios": {"a new memory / bare insert": 0.01}}))
    second = CliRunner().invoke(bench_group, asked)
    assert second.exit_code == 1
    assert "worse than the last run: a new memory / bare insert" in second.output


def test_repeats_are_told_from_what_is_new() -> None:
    texts = bench_dedupe.numbered(WordModel().texts(60))
    with throwaway(now=NOW) as (runtime, user_id):
        stock(runtime, user_id, texts[:40], now=NOW, vectors=around(CENTRES, 40), room=100)
        found = bench_dedupe.bench_dedupe(runtime, user_id, texts[:40], texts[40:], now=NOW)
    right = {each.name: each.right for each in found.kinds}
    assert [right[name] for name in ("new", "repeat", "other marks", "other number")] == [1.0] * 4
    assert found.ratio > 1


@pytest.mark.slow
def test_growth_and_a_crowd_are_measured_in_one_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_growth, "FEW_USERS", 1)
    monkeypatch.setattr(bench_search, "WARM_UP", 1)
    questions = WordModel().questions(5)
    with throwaway(now=NOW) as (runtime, _):
        grown = bench_growth.growth(runtime, [200, 100], CENTRES, questions=questions, now=NOW)
        among = bench_growth.crowd(runtime, 2, 100, CENTRES, questions=questions, now=NOW)
    assert [(each.users, each.memories) for each in grown] == [(1, 100), (1, 200)]
    assert [(each.users, each.memories) for each in among] == [(1, 100), (2, 100)]
    # Exact up to five thousand.
    assert all(each.search.dense_recall == 1.0 for each in grown + among)
    assert set(bench_growth.ratios(grown)) == {"1 x 100", "1 x 200"}


def test_a_size_that_is_there_twice_is_refused() -> None:
    done = CliRunner().invoke(bench_group, ["growth", "--memories", "200", "--memories", "100", "--memories", "200"])
    assert (done.exit_code, "200 is there twice" in done.output) == (2, True)


def point(users: int, p50: float) -> bench_growth.Point:
    one = Latency(p50, p50, 9)
    return bench_growth.Point(users, 1000, SearchBench(1000, one, one, one, one, one, one, {}, 1.0))


def test_the_picture_shows_every_size(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the picture needs the extra eval")
    points = [point(10, 4.0), point(1000, 5.0)]
    bench_growth.draw(points, tmp_path / "growth.svg")
    assert bench_growth.grown(points) == 1.25
    drawn = (tmp_path / "growth.svg").read_text()
    assert "<svg" in drawn
    assert drawn.count('id="line2d') > 3
