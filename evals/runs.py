"""Runs that were kept: one JSON file each in the data folder, with names, ids and numbers, never a text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import Any

from evals.means import Measure, compare, counted, place

FOLDER = "evals"
_NAME = re.compile(r"\d{8}T\d{6}Z-[a-z0-9-]{1,80}\.json")


@dataclass(frozen=True, slots=True)
class Run:
    """One kept run: the name of its file, and what that holds."""

    name: str
    values: Mapping[str, Any]

    @property
    def title(self) -> str:
        """Return what was run on what."""
        command, data = str(self.values.get("command", "?")), self.data[1]
        return data if data.startswith(command) else f"{command} {data}".strip()

    @property
    def data(self) -> tuple[str, str]:
        """Return the kind and the name of the data, each empty where the run does not tell it."""
        found = self.values.get("data", {})
        return str(found.get("kind", "")), str(found.get("name", ""))

    @property
    def lines(self) -> str:
        """Return the digest of a file whose questions are called by their lines; empty where the run does not tell."""
        return str(self.values.get("data", {}).get("lines", ""))

    @property
    def when(self) -> str:
        """Return the minute in which the run began, in UTC."""
        return str(self.values.get("at", ""))[:16].replace("T", " ")

    @property
    def questions(self) -> int:
        """Return how many questions were asked."""
        return int(self.values.get("data", {}).get("questions", 0))

    @property
    def version(self) -> str:
        """Return the version that was measured."""
        return str(self.values.get("version", ""))

    @property
    def model(self) -> str:
        """Return the embedding model."""
        return str(self.values.get("settings", {}).get("embedding_model", ""))

    @property
    def processors(self) -> str:
        """Return what computed it, in words."""
        machine = self.values.get("machine", {})
        return f"{machine.get('cpus', '?')} cores, PostgreSQL {str(machine.get('postgresql', '?')).split(',')[0]}"

    def settings_beside(self, other: Run) -> list[str]:
        """Return the numbers of the main policy that differ from those of another run, as `name: its value`."""
        mine, theirs = self._policy(), other._policy()
        return [
            f"{name}: {mine.get(name)}" for name in sorted(mine.keys() | theirs) if mine.get(name) != theirs.get(name)
        ]

    def _policy(self) -> dict[str, Any]:
        found = self.values.get("settings", {}).get("policies", {}).get(self.values.get("main"), {})
        return dict(found)

    @property
    def measures(self) -> dict[str, Measure]:
        """Return the means of the run's main variant."""
        variant = self.values.get("variants", {}).get(self.values.get("main"), {})
        return {name: _measure(each) for name, each in variant.get("measures", {}).items()}

    @property
    def latency(self) -> Mapping[str, float]:
        """Return p50, p95 and count of the main variant, in milliseconds; empty where it was not measured."""
        found = self.values.get("variants", {}).get(self.values.get("main"), {}).get("latency_ms", {})
        return {name: float(value) for name, value in found.items()}

    @property
    def cases(self) -> Mapping[str, Mapping[str, float]]:
        """Return the scores of each question; none where the run has none."""
        return _scores(self.values.get("cases", {}))

    @property
    def apart(self) -> frozenset[str]:
        """Return the ids of the questions that are not in the means; runs of old do not tell them."""
        return frozenset(self.values.get("apart", ()))

    @property
    def counted(self) -> Mapping[str, Mapping[str, float]]:
        """Return the scores of the questions that are in the means; runs of old do not tell which are not."""
        return counted(self.cases, self.apart)

    def is_of_data_of(self, other: Run) -> bool:
        """Tell whether two runs are of the same data, as far as they say: equal ids are of the same question then."""
        pairs = zip((*self.data, self.lines), (*other.data, other.lines), strict=True)
        return all(not mine or not theirs or mine == theirs for mine, theirs in pairs)

    def has_all_in_means(self, name: str, left_out: frozenset[str]) -> bool:
        """Tell whether a measure of all questions but those left out is one of those alone that are in its mean."""
        scored = sum(name in found for found in counted(self.cases, left_out).values())
        mean = self.measures.get(name)
        return mean is None or scored <= mean.cases


def _scores(cases: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, float]]:
    """Return the scores as they are; raises `ValueError` where one is no finite number."""
    for case, found in cases.items():
        for name, value in found.items():
            if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
                raise ValueError(f"{case}: {name} is no number")
    return dict(cases)


def _measure(values: Mapping[str, Any]) -> Measure:
    return Measure(float(values["mean"]), float(values["low"]), float(values["high"]), int(values["cases"]))


def save(home: Path, values: Mapping[str, Any], *, now: datetime, kind: str = FOLDER) -> Path:
    """Write a run into a folder of the data folder and return its file; one of the same second gets another name."""
    folder = home / kind
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    words = f"{values.get('command', 'run')} {values.get('data', {}).get('name', '')}"
    slug = re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")[:60].strip("-") or "run"
    text = json.dumps(values, indent=1) + "\n"
    number = 1
    while True:
        path = folder / f"{now:%Y%m%dT%H%M%SZ}-{slug}{f'-{number}' if number > 1 else ''}.json"
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            number += 1
        else:
            return path


def latest(home: Path, most: int) -> list[Run]:
    """Return the newest runs first, at most so many, without their questions; what cannot be read is left out."""
    folder = home / FOLDER
    kept = (each for each in folder.glob("*.json") if _NAME.fullmatch(each.name)) if folder.is_dir() else ()
    found = (_outlined(each) for each in sorted(kept, reverse=True))
    return list(islice((each for each in found if each is not None), most))


def _outlined(path: Path) -> Run | None:
    try:
        return _outline(path, path.stat().st_mtime_ns)
    except (OSError, ValueError):
        return None


# Reading a run of thousands of questions takes a tenth of a second and twenty megabytes, and a list shows sixty runs.
@lru_cache(maxsize=256)
def _outline(path: Path, _changed_ns: int) -> Run:
    """Return the run in a file without its questions, remembered until the file changes; raises as `read` does."""
    run = read(path)
    return replace(run, values={**run.values, "cases": {}, "apart": []})


def load(home: Path, name: str) -> Run | None:
    """Return a run by the name of its file; None when there is none, or nothing that can be read."""
    if not _NAME.fullmatch(name):
        return None
    try:
        return read(home / FOLDER / name)
    except (OSError, ValueError):
        return None


def read(path: Path) -> Run:
    """Return the run in a file; raises `ValueError` where it holds none, or one of which something cannot be told."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        run = Run(path.name, values if isinstance(values, dict) else {})
        # Each attribute is read once here, so that a file that somebody has edited fails now, and callers need not
        # expect it to.
        _ = run.title, run.questions, run.processors, run.model, run.measures, run.latency, run.counted, run._policy()
    except (ValueError, TypeError, AttributeError, KeyError, OverflowError, RecursionError) as error:
        raise ValueError(f"{path} is not the JSON of a run ({type(error).__name__})") from None
    if not run.values:
        raise ValueError(f"{path} is not the JSON of a run")
    return run


def differences(runs: Sequence[Run]) -> list[dict[str, Measure]]:
    """Return for each run but the first its paired differences to the first, over the questions that both count.

    There are none between runs of different data, and none of a measure where neither run tells which questions are
    not in its mean, though some are not.
    """
    return [_paired(each, runs[0]) if each.is_of_data_of(runs[0]) else {} for each in runs[1:]]


def _paired(run: Run, first: Run) -> dict[str, Measure]:
    left_out = run.apart | first.apart
    found = compare(counted(run.cases, left_out), counted(first.cases, left_out))
    both = (run, first)
    return {name: each for name, each in found.items() if all(one.has_all_in_means(name, left_out) for one in both)}


def names(runs: Sequence[Run]) -> list[str]:
    """Return every measure that any of the runs has, in the order of the tables."""
    return sorted({name for each in runs for name in each.measures}, key=place)
