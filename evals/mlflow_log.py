"""Runs in MLflow, in a database of its own in the data folder. Needs the extra `eval`.

SQLite, as MLflow 3 refuses to open a folder of plain files unless it is told to, and calls that way unmaintained.
"""

from __future__ import annotations

import fcntl
import os
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import sha256
from itertools import chain, count
from pathlib import Path
from typing import Any

from evals.runs import FOLDER

# MLflow reports its uses to its makers, unless told not to before it is imported.
QUIET = {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_\-./ ]+")
# What is replaced in the name of a category, which is free text: with a slash or two dots, the name of the measure
# would be another path.
_NOT_IN_CATEGORIES = re.compile(r"[^\w\- ]+")
_LONGEST_CATEGORY = 150


def store(home: Path) -> str:
    """Return the address of the database; makes the folder that it is in."""
    (home / FOLDER).mkdir(mode=0o700, parents=True, exist_ok=True)
    return f"sqlite:///{home / FOLDER / 'mlflow.db'}"


def artifacts(home: Path) -> str:
    """Return the address of the folder in which runs are kept whole."""
    return (home / FOLDER / "mlflow").as_uri()


def log(home: Path, record: Mapping[str, Any]) -> None:
    """Log a run under the experiment of its command: settings, means and percentiles, and all of it as `run.json`."""
    os.environ.update(QUIET)
    with warnings.catch_warnings():
        # MLflow uses functions that newer libraries call deprecated.
        warnings.simplefilter("ignore")
        # Imported here: it takes two seconds, which every other command would wait for too.
        import mlflow  # noqa: PLC0415

        mlflow.set_tracking_uri(store(home))
        mlflow.set_experiment(_experiment(home, str(record["command"])))
        with mlflow.start_run(run_name=f"{record['data']['name']} {record['at']}"):
            mlflow.log_params(parameters(record))
            mlflow.log_metrics(metrics(record))
            mlflow.log_dict(dict(record), "run.json")


def _experiment(home: Path, command: str) -> str:
    """Return the name of the experiment for a command's runs, which is made where there is none.

    One that was deleted keeps its name until it is cleared away, and takes no run: then the next is called `golden 2`.
    """
    import mlflow  # noqa: PLC0415

    # Two commands that begin at once would both create the tables, and the experiment.
    with (home / FOLDER / "mlflow.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name in chain([command], (f"{command} {number}" for number in count(2))):
            found = mlflow.get_experiment_by_name(name)
            if found is None:
                mlflow.create_experiment(name, artifact_location=artifacts(home))
            if found is None or found.lifecycle_stage == "active":
                return name
    raise AssertionError("there is always a next name")


def parameters(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was measured under which settings: the policy of the main variant, version and data."""
    settings = record.get("settings", {})
    policy = settings.get("policies", {}).get(record.get("main"), {})
    named = {name: settings.get(name) for name in ("limit", "token_budget", "embedding_model")}
    return {**policy, **named, "version": record.get("version"), "data": record["data"]["name"]}


def metrics(record: Mapping[str, Any]) -> dict[str, float]:
    """Return the means with their intervals, and the percentiles, of every variant; the main one's without a prefix.

    Of the main one the means of each category too.
    """
    found: dict[str, float] = {}
    for variant, values in record.get("variants", {}).items():
        prefix = "" if variant == record.get("main") else f"{variant}/"
        for name, each in values.get("measures", {}).items():
            for part in ("mean", "low", "high") if not prefix else ("mean",):
                found[_metric(f"{prefix}{name}" + ("" if part == "mean" else f".{part}"))] = float(each[part])
        for name, value in values.get("latency_ms", {}).items():
            found[_metric(f"{prefix}latency_ms.{name}")] = float(value)
    main = record.get("variants", {}).get(record.get("main"), {})
    by_category = main.get("by_category", {})
    called = _called(by_category)
    for category, measured in by_category.items():
        for name, each in measured.items():
            found[f"category/{called[category]}/{_metric(name)}"] = float(each["mean"])
    return found


def _called(categories: Iterable[str]) -> dict[str, str]:
    """Return what MLflow takes for each category; one that would be called as another is gets a digest.

    >>> _called(["a-b", "a/b", "c/d"])
    {'a-b': 'a-b', 'a/b': 'a-b c14cddc0', 'c/d': 'c-d'}
    """
    named = {each: _NOT_IN_CATEGORIES.sub("-", each)[:_LONGEST_CATEGORY] for each in categories}
    times = Counter(named.values())
    return {
        each: name if each == name or times[name] == 1 else f"{name} {sha256(each.encode()).hexdigest()[:8]}"
        for each, name in named.items()
    }


def _metric(name: str) -> str:
    """Return a name that MLflow takes.

    >>> _metric("recall@5")
    'recall_at_5'
    """
    return _NOT_IN_NAMES.sub("-", name.replace("@", "_at_"))


def serve_command(home: Path, port: int) -> list[str]:
    """Return the command that shows the runs on this host."""
    return [
        sys.executable,
        "-m",
        "mlflow",
        "server",
        "--backend-store-uri",
        store(home),
        "--default-artifact-root",
        artifacts(home),
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--workers",
        "1",
    ]
