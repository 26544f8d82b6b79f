"""Measurements that were kept, and whether a new one is worse than the last, by ratios: machines differ in speed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from evals import runs
from evals.tables import table
from memory.clock import utc_now

FOLDER = "bench"
# On a busy machine with two cores, ratios of medians differ by so much from run to run.
TOLERANCE = 1.25
# The key under which a record names those of its ratios that were worse than in the record that it was compared with.
WORSE = "worse"


def keep(
    home: Path, command: str, parameters: Mapping[str, Any], ratios: Mapping[str, float], values: Mapping[str, Any]
) -> Path:
    """Write a measurement into the data folder.

    `ratios` are costs over the least possible cost, as the same run has measured it; less is better.
    """
    now = utc_now()
    record = {
        "command": command,
        "at": now.isoformat(timespec="seconds"),
        "version": version("commonplace"),
        "parameters": dict(parameters),
        "ratios": dict(ratios),
        **values,
    }
    return runs.save(home, record, now=now, kind=FOLDER)


def last_ratios(home: Path, command: str, parameters: Mapping[str, Any]) -> dict[str, float] | None:
    """Return the ratios of the newest record of the same command with the same parameters; None without one.

    A record that was worse than the one before it is passed over.
    """
    wanted = json.loads(json.dumps(dict(parameters)))
    for path in sorted((home / FOLDER).glob("*.json"), reverse=True):
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            if values["command"] == command and values["parameters"] == wanted and not values.get(WORSE):
                return {name: float(ratio) for name, ratio in values["ratios"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            # Somebody has edited this record and it cannot be read; an older one will do.
            continue
    return None


def worse(ratios: Mapping[str, float], before: Mapping[str, float]) -> list[str]:
    """Return the names of the ratios that have grown by more than `TOLERANCE` allows."""
    return [name for name, ratio in ratios.items() if name in before and ratio > before[name] * TOLERANCE]


def to_text(ratios: Mapping[str, float], before: Mapping[str, float]) -> str:
    """Return both runs' ratios as a table."""
    slower = set(worse(ratios, before))
    rows = [
        (name, before.get(name), ratio, f"{'WORSE' if name in slower else 'held'} (at most x {TOLERANCE:g})")
        for name, ratio in ratios.items()
    ]
    return table(("cost over its limit", "last run", "this run", ""), rows, digits=2)
