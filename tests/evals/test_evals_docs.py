"""How many questions docs/evaluation.md says that there are is how many there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from evals import golden
from evals.dataset import DataSet, joined
from evals.datasets import load
from evals.persons import UNSEEN
from evals.together import together

DOCS = (Path(__file__).parents[2] / "docs" / "evaluation.md").read_text()
# A file, or the first and the last of several, with the number of cases, of answered ones and of the others.
ROW = re.compile(r"^\| (golden|`.+`), ([\d,]+)(?: cases)? \|[^|]+\), ([\d,]+) \|.*\), ([\d,]+) \|$", re.MULTILINE)


def files(label: str) -> list[Path]:
    """The files that a row is of: `a` to `b` are all numbers from the one to the other."""
    if label == "golden":
        return [golden.BUNDLED]
    first, *others = re.findall(r"`([^`]+)`", label)
    if " to " in label:
        return [UNSEEN / f"{number}.txt" for number in range(int(Path(first).stem), int(Path(others[0]).stem) + 1)]
    return [golden.BUNDLED.parents[1] / Path(first).parent / Path(each).name for each in (first, *others)]


def counted(data: DataSet) -> tuple[int, int, int]:
    answered = sum(bool(each.expected) for each in data.questions)
    return len(data.questions), answered, len(data.questions) - answered


ROWS = {label: tuple(int(each.replace(",", "")) for each in counts) for label, *counts in ROW.findall(DOCS)}


def test_the_table_of_notes_has_a_row_for_each_file_of_notes() -> None:
    told = {path for label in ROWS for path in files(label)}
    assert told == {golden.BUNDLED, golden.HELD_OUT, golden.NEAR_MISSES, *UNSEEN.glob("*.txt")}


@pytest.mark.parametrize("label", ROWS)
def test_a_row_has_as_many_questions_as_its_files(label: str) -> None:
    assert counted(joined([load(each) for each in files(label)])) == ROWS[label]


def test_the_talks_and_what_is_put_together_have_as_many_questions_as_the_docs_say() -> None:
    _, answered, silent = counted(load(UNSEEN / "talks.jsonl"))
    assert f"talks.jsonl --all-policies`, {answered} questions that turns answer, {silent} that none does" in DOCS
    for name in ("agents.jsonl", "agents_2.jsonl"):
        _, answered, silent = counted(load(UNSEEN.parent / name))
        assert f"{name}`, {answered} questions that notes answer, {silent} that none does" in DOCS
    _, asked, _ = counted(load(UNSEEN.parent / "versions.jsonl"))
    was, now = (int(each) for each in re.findall(r"(\d+)\s+questions for what was and (\d+) for what is", DOCS)[0])
    assert asked == was + now
    one = together(load(golden.BUNDLED))
    assert f"`: {one.size} memories of one person, {len(one.questions)} questions." in DOCS
