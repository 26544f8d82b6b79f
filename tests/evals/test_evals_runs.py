from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from evals.runs import FOLDER, Run, differences, latest, load, names, read, save

NOW = datetime(2031, 5, 8, 12, 30, tzinfo=UTC)


def values(**more: Any) -> dict[str, Any]:
    return {"command": "jsonl", "data": {"name": "My Notes/2"}, **more}


def test_a_run_is_kept_under_its_time_and_data(tmp_path: Path) -> None:
    assert save(tmp_path, values(), now=NOW).name == "20310508T123000Z-jsonl-my-notes-2.json"


@pytest.mark.parametrize(
    ("command", "data", "title"),
    [("golden", "golden_held_out", "golden_held_out"), ("outages", "golden", "outages golden")],
)
def test_a_run_is_called_by_what_was_run_on_what(command: str, data: str, title: str) -> None:
    assert Run("x", {"command": command, "data": {"name": data}}).title == title


def test_two_runs_of_one_second_are_both_kept(tmp_path: Path) -> None:
    first, second = (save(tmp_path, values(at=str(n)), now=NOW) for n in range(2))
    assert first != second
    assert {each.values["at"] for each in latest(tmp_path, 5)} == {"0", "1"}


def test_the_newest_come_first_and_no_more_than_asked(tmp_path: Path) -> None:
    for hours in (1, 3, 2):
        save(tmp_path, values(at=str(hours)), now=NOW + timedelta(hours=hours))
    # What else lies there, as what `--json` wrote and a run that was cut off, takes no other's place.
    for other in ("mine", "sweep", f"{NOW + timedelta(hours=9):%Y%m%dT%H%M%SZ}-cut-off"):
        (tmp_path / FOLDER / f"{other}.json").write_text("{")
    assert [each.values["at"] for each in latest(tmp_path, 2)] == ["3", "2"]


def test_a_list_of_runs_holds_no_questions_and_follows_their_files(tmp_path: Path) -> None:
    path = save(tmp_path, values(version="1", cases={"a": {"MRR": 1.0}}, apart=["a"]), now=NOW)
    for version in ("1", "2"):
        path.write_text(json.dumps(values(version=version, cases={"a": {"MRR": 1.0}}, apart=["a"])))
        os.utime(path, ns=(0, int(version)))
        (found,) = latest(tmp_path, 5)
        assert (found.version, found.cases, found.apart) == (version, {}, frozenset())
    spare = load(tmp_path, path.name)
    assert spare is not None
    assert spare.cases == {"a": {"MRR": 1.0}}


def test_without_a_folder_there_are_no_runs(tmp_path: Path) -> None:
    assert latest(tmp_path, 5) == []


@pytest.mark.parametrize("name", ["../outside.json", "20310508T123000Z-a.json/../b", "20310508T123000Z-a"])
def test_only_files_of_runs_are_read(tmp_path: Path, name: str) -> None:
    (tmp_path / FOLDER).mkdir()
    (tmp_path / "outside.json").write_text('{"command": "golden"}')
    assert load(tmp_path, name) is None


@pytest.mark.parametrize(
    "spoilt",
    [
        '{"cases": {"a": 5}}',
        '{"cases": [1]}',
        '{"cases": {"a": {"MRR": "1"}}}',
        '{"cases": {"a": {"MRR": NaN}}}',
        '{"cases": {}, "apart": 5}',
        '{"data": {"questions": Infinity}}',
    ],
)
def test_a_run_whose_figures_are_none_is_not_read(tmp_path: Path, spoilt: str) -> None:
    path = save(tmp_path, values(), now=NOW)
    path.write_text(spoilt)
    assert load(tmp_path, path.name) is None
    with pytest.raises(ValueError, match="is not the JSON of a run"):
        read(path)


def test_settings_are_told_where_they_differ() -> None:
    def run(**policy: Any) -> Run:
        return Run("x", {"main": "balanced", "settings": {"policies": {"balanced": policy}}})

    assert run(k1=1.5, b=0.75).settings_beside(run(k1=1.2, b=0.75)) == ["k1: 1.5"]


def test_questions_that_stand_apart_are_in_no_difference(tmp_path: Path) -> None:
    def run(score: float, **more: Any) -> Run:
        path = save(tmp_path, values(cases={"q": {"MRR": score}, "x": {"MRR": 1.0}}, **more), now=NOW)
        loaded = load(tmp_path, path.name)
        assert loaded is not None
        return loaded

    old, new = run(0.5), run(0.75, apart=["x"])
    assert len(old.cases) == len(new.cases) == 2
    assert [(found["MRR"].mean, found["MRR"].cases) for found in differences([old, new])] == [(0.25, 1)]
    assert [(found["MRR"].mean, found["MRR"].cases) for found in differences([new, old])] == [(-0.25, 1)]


def test_differences_are_to_the_first() -> None:
    def run(score: float) -> Run:
        measure = {"mean": score, "low": score, "high": score, "cases": 1}
        variants = {"balanced": {"measures": {"MRR": measure}}}
        return Run("x", {"main": "balanced", "variants": variants, "cases": {"q": {"MRR": score}}})

    runs = [run(0.5), run(0.75), run(0.25)]
    assert names(runs) == ["MRR"]
    assert [each["MRR"].mean for each in differences(runs)] == [0.25, -0.25]


def measured(cases: dict[str, float], in_mean: int, **more: Any) -> Run:
    """A run whose mean is of so many of its questions."""
    measure = {"mean": 0.5, "low": 0.4, "high": 0.6, "cases": in_mean}
    scores = {each: {"MRR": score} for each, score in cases.items()}
    return Run("x", {"main": "a", "variants": {"a": {"measures": {"MRR": measure}}}, "cases": scores, **more})


def test_old_runs_that_do_not_tell_what_stands_apart_are_not_compared() -> None:
    old, older = measured({"q": 0.5, "x": 1.0}, 1), measured({"q": 0.25, "x": 0.0}, 1)
    assert differences([older, old]) == [{}]
    # One that tells it tells it of the other, too.
    new = measured({"q": 0.75, "x": 1.0}, 1, apart=["x"])
    assert [found["MRR"].cases for found in differences([new, older, old])] == [1, 1]


@pytest.mark.parametrize(
    ("data", "pairs"),
    [
        ({"kind": "jsonl", "name": "notes"}, 1),
        ({"name": "notes"}, 1),
        ({}, 1),
        ({"kind": "jsonl", "name": "notes", "lines": "c0ffee"}, 1),
        ({"kind": "jsonl", "name": "notes", "lines": "decade"}, 0),
        ({"kind": "jsonl", "name": "letters"}, 0),
        ({"kind": "golden", "name": "notes"}, 0),
    ],
)
def test_runs_of_other_data_are_not_compared_though_ids_are_equal(data: dict[str, str], pairs: int) -> None:
    first = measured({"1": 0.5}, 1, data={"kind": "jsonl", "name": "notes", "lines": "c0ffee"})
    assert [len(found) for found in differences([first, measured({"1": 1.0}, 1, data=data)])] == [pairs]
