"""What is proposed as an update, against what replaces something."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from evals import jsonl
from evals.changes import Owner, Proposal, to_text
from evals.cli import eval_group

NOTES = [
    ("a", "The dentist is Dr. Silva on Avenida Central", None),
    ("b", "New dentist: Dr. Costa, two streets further", "a"),
    ("c", "The dentist is now Dr. Reis, by the river", "b"),
    ("d", "Training is on Tuesdays and Fridays at seven", None),
    ("e", "Training on Fridays is now full, says the coach", None),
    ("f", "The rent is 850 a month", None),
    ("g", "We pay the landlord 910 from October", "f"),
]


def lines(notes, user="ada"):
    for day, (name, text, replaces) in enumerate(notes, 1):
        note = {"id": name, "text": text, "date": f"2026-03-{day:02}", "user": user, "replaces": replaces}
        yield json.dumps({"kind": "memory", **note})


@pytest.fixture
def evaluated(tmp_path):
    def _evaluated(notes):
        path = tmp_path / "notes.jsonl"
        path.write_text("\n".join(lines(notes)))
        return CliRunner().invoke(eval_group, ["changes", str(path)])

    return _evaluated


@pytest.mark.slow  # A database of its own.
def test_what_is_proposed_is_counted_and_what_is_wrong_is_named(evaluated):
    done = evaluated(NOTES)
    assert done.exit_code == 0, done.output
    assert [row.split() for row in done.stdout.splitlines() if row.startswith(("ada", "all"))] == [
        ["ada", "3", "3", "2", "0.667", "0.667"],
        ["all", "3", "3", "2", "0.667", "0.667"],
    ]
    wrong = done.stdout.partition("wrong:")[2].splitlines()
    assert [each for each in wrong if each] == [f"  ada: {NOTES[3][1]!r} was no longer so by {NOTES[4][1]!r}?"]


def test_without_anything_replaced_there_is_nothing_to_measure(evaluated):
    done = evaluated(NOTES[:1])
    assert done.exit_code == 1
    assert "no memory says what it replaces" in done.output


def test_what_replaces_a_later_or_unknown_memory_is_refused():
    turned = [("a", "One", "b"), ("b", "Two", None)]
    with pytest.raises(ValueError, match="line 1: replaces: user 'ada' has no memory 'b' before it"):
        jsonl.parse(lines(turned), asked=False)


def test_there_need_be_no_question_where_none_is_asked():
    assert len(jsonl.parse(lines(NOTES), asked=False).collections[0].items) == len(NOTES)
    with pytest.raises(ValueError, match="there is no question"):
        jsonl.parse(lines(NOTES))


def test_a_note_of_which_two_are_said_counts_once():
    data = jsonl.parse(lines(NOTES), asked=False)
    said = (Proposal("c", "b", True), Proposal("c", "a", True))
    row = to_text([Owner("ada", 3, said)], data).splitlines()[2].split()
    assert row == ["ada", "3", "2", "2", "1.000", "0.333"]
