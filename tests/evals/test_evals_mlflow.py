from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from evals import golden
from evals.cli import eval_group
from evals.cli_output import Output
from evals.mlflow_log import metrics, parameters, serve_command

MEASURE = {"mean": 0.5, "low": 0.25, "high": 0.75, "cases": 4}
MISSING = find_spec("mlflow") is None


def record() -> dict[str, Any]:
    categories = {"день/..": {"MRR": MEASURE}}
    variant = {"measures": {"recall@5": MEASURE}, "by_category": categories, "latency_ms": {"p50": 9.0}}
    return {
        "command": "golden",
        "at": "2031-05-08",
        "version": "9.9",
        "data": {"name": "golden"},
        "main": "balanced",
        "variants": {"balanced": variant, "fusion rrf": variant},
        "settings": {"limit": 10, "policies": {"balanced": {"k1": 1.2}}},
    }


def test_means_intervals_and_percentiles_are_metrics() -> None:
    assert metrics(record()) == {
        "recall_at_5": 0.5,
        "recall_at_5.low": 0.25,
        "recall_at_5.high": 0.75,
        "latency_ms.p50": 9.0,
        "fusion rrf/recall_at_5": 0.5,
        "fusion rrf/latency_ms.p50": 9.0,
        "category/день-/MRR": 0.5,
    }


def test_categories_that_mlflow_would_call_alike_are_told_apart() -> None:
    run = record()
    run["variants"]["balanced"]["by_category"] = {each: {"MRR": MEASURE} for each in ("a-b", "a/b", "a.b", "ab" * 99)}
    found = [name for name in metrics(run) if name.startswith("category/")]
    assert (len(found), "category/a-b/MRR" in found) == (4, True)


def test_what_mlflow_refuses_takes_nothing_along(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (kept / "evals" / "mlflow.db").mkdir(parents=True)
    run_file = Output(None, None, save=True, mlflow=True).finish("golden", "1.000", record(), started=datetime.now(UTC))
    assert run_file is not None
    assert "Warning: the run was not logged to MLflow: " in capsys.readouterr().err


def test_the_policy_that_was_measured_is_parameters() -> None:
    found = parameters(record())
    assert (found["k1"], found["limit"], found["version"], found["data"]) == (1.2, 10, "9.9", "golden")


def test_the_store_lies_in_the_data_folder(tmp_path: Path) -> None:
    command = serve_command(tmp_path, 5001)
    assert f"sqlite:///{tmp_path}/evals/mlflow.db" in command
    assert (tmp_path / "evals").is_dir()


@pytest.mark.skipif(not MISSING, reason="mlflow is installed")
@pytest.mark.parametrize("arguments", [["golden", str(golden.BUNDLED), "--mlflow"], ["ui"]])
def test_without_the_extra_it_is_said_how_to_get_it(arguments: list[str]) -> None:
    result = CliRunner().invoke(eval_group, arguments)
    assert (result.exit_code, ".[eval]" in result.output) == (1, True)


@pytest.mark.skipif(MISSING, reason="mlflow is in the extra eval alone: it is large, and takes another gunicorn")
def test_a_run_is_logged_and_can_be_read_again(tmp_path: Path) -> None:
    # In a process of its own: mlflow changes warnings, loggers and the environment of the one that it is in.
    code = """
import json, sys
from pathlib import Path
from evals.mlflow_log import log, store
log(Path(sys.argv[1]), json.loads(sys.argv[2]))
log(Path(sys.argv[1]), json.loads(sys.argv[2]))
import mlflow
first = mlflow.get_experiment_by_name("golden")
mlflow.delete_experiment(first.experiment_id)
log(Path(sys.argv[1]), json.loads(sys.argv[2]))
afterwards = mlflow.search_runs(experiment_names=["golden 2"], output_format="list")
mlflow.tracking.MlflowClient().restore_experiment(first.experiment_id)
runs = mlflow.search_runs(experiment_names=["golden"], output_format="list")
whole = mlflow.artifacts.load_dict(runs[0].info.artifact_uri + "/run.json")
print(len(afterwards), len(runs), runs[0].data.metrics["recall_at_5"], whole["at"])
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path), json.dumps(record())], capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["1", "2", "0.5", "2031-05-08"], done.stderr
