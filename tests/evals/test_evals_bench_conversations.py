from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from evals import bench_conversations
from evals.bench_conversations import ConversationBench, Measured, to_dict, to_text
from evals.cli import bench_group
from evals.timing import Latency

FAST = Measured("append a message", Latency(5.0, 29.9, 100), 30.0)
SLOW = Measured("list messages", Latency(5.0, 30.0, 100), 30.0)


def test_a_goal_is_met_by_the_95th_percentile_below_it() -> None:
    assert (FAST.met, SLOW.met) == (True, False)


def test_one_missed_goal_is_told_in_the_table_and_in_json() -> None:
    bench = ConversationBench(100, Latency(2.5, 3.0, 50), (FAST, SLOW))
    assert to_dict(bench)["goals_met"] is False
    assert [each["met"] for each in to_dict(bench)["measured"]] == [True, False]
    assert to_text(bench).splitlines()[-1].split()[-1] == "MISSED"
    assert bench.ratios == {"append a message": 2.0, "list messages": 2.0}


@pytest.mark.slow
def test_a_conversation_is_measured_over_http(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, times in {"OTHERS": 4, "ROUNDS": 3, "WARM_UP": 2}.items():
        monkeypatch.setattr(bench_conversations, name, times)
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_MODEL", "none")
    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody@127.0.0.1:1/nothing")
    path = tmp_path / "bench.json"
    result = CliRunner().invoke(bench_group, ["conversations", "--messages", "20", "--json", str(path)])
    assert result.exit_code == 0, result.output
    found = json.loads(path.read_text())["conversations"]
    assert found["messages"] == 20
    assert {each["name"]: each["goal"] for each in found["measured"]} == {
        "append a message": 30.0,
        "context, hybrid, first": 50.0,
        "context, truncate": 50.0,
        "context, window": 50.0,
        "context, summarise": 50.0,
        "context, hybrid": 50.0,
        "list messages": 30.0,
        "list conversations": 30.0,
    }
    assert all(0 < each["latency"]["p50"] <= each["latency"]["p95"] for each in found["measured"])
