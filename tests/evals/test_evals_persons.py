"""Persons with notes as a data set, and that no reader has learned from those it is measured on."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner

from evals import golden, persons
from evals.blocks import read_blocks
from evals.cli import eval_group
from evals.datasets import is_held_out, load

ADA = """# Ada, who keeps bees
n1: Ada keeps bees on the roof of the library.
n2: The honey was 12 kg in June.
n3: Ada is afraid of dogs.
? Where are the hives? => n1
? Everything about the bees => n1 n2
- What does a jar cost? => One jar is sold for 9 euro.
- Does Ada own a horse?
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "some.txt"
    path.write_text(ADA)
    return path


def test_what_nothing_answers_is_asked_with_what_would_answer_it_too(file):
    data = load(file)
    assert (data.kind, data.name) == ("persons", "some")
    alone, told = data.collections
    assert [each.id for each in alone.items] == ["n1", "n2", "n3"]
    assert [each.text for each in told.items[3:]] == ["One jar is sold for 9 euro."]
    asked = [(each.category, each.collection, {*each.expected}) for each in data.questions]
    assert asked == [
        ("one", alone.name, {"n1"}),
        ("several", alone.name, {"n1", "n2"}),
        ("nothing", alone.name, set()),
        ("told", told.name, {told.items[3].id}),
        ("nothing", alone.name, set()),
    ]
    assert len({each.id for each in data.questions}) == len(asked)
    assert {each.about for each in data.questions} == {alone.name}


@pytest.mark.parametrize("mark", ["\u2028", "\u0085", "\x0b", "\x0c"])
def test_a_line_ends_where_an_editor_shows_its_end(file, mark):
    file.write_text(ADA.replace("bees on the roof", f"bees{mark}on the roof").replace("\n", "\r\n"), newline="")
    assert load(file).collections[0].items[0].text == f"Ada keeps bees{mark}on the roof of the library."
    file.write_text(f"{ADA.replace('bees on', f'bees{mark}on')}nonsense\n")
    with pytest.raises(ValueError, match="line 9: this is neither a note nor a question"):
        load(file)


def test_persons_are_asked_about(file, tmp_path):
    out = tmp_path / "out.json"
    done = CliRunner().invoke(eval_group, ["persons", str(file), "--json", str(out)])
    assert done.exit_code == 0, done.output
    found = json.loads(out.read_text())
    assert found["data"]["questions"] == 5
    assert {"one", "several", "nothing", "told"} == found["variants"]["balanced"]["by_category"].keys()


def test_what_is_held_out_is_not_asked_about_unless_it_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(persons, "UNSEEN", tmp_path)
    for name in ("1_held_out.txt", "2.txt"):
        (tmp_path / name).write_text("nonsense\n")
    said = [
        CliRunner().invoke(eval_group, ["persons", *named]).output for named in ([], [f"{tmp_path}/1_held_out.txt"])
    ]
    assert [each.partition(", line")[0] for each in said] == ["Error: 2.txt", "Error: 1_held_out.txt"]


def test_two_files_of_one_name_are_refused(tmp_path):
    files = [tmp_path / "one" / "some.txt", tmp_path / "other" / "some.txt"]
    for each in files:
        each.parent.mkdir()
        each.write_text(ADA)
    done = CliRunner().invoke(eval_group, ["persons", *map(str, files)])
    assert (done.exit_code, done.output) == (1, "Error: two files are called some\n")


def test_a_file_of_another_kind_says_which_command_takes_it(tmp_path):
    done = CliRunner().invoke(eval_group, ["persons", str(golden.NEAR_MISSES)])
    assert done.exit_code == 1
    assert "`eval golden`" in done.output


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("# Ada\nTea", "line 2: this is neither"),
        ("\nn1: Ada keeps bees.\n# Ada", "line 2: a note or a question before any `# name`"),
        ("# Ada\nn1: Ada keeps bees.\nn1: Ada has a cat.", "line 3: there is another note n1"),
        ("# Ada\nn1: a\x00b", "line 2: text: must not contain NUL"),
        ("# Ada\nn1: a\n? wh\x00o => n1", "line 3: question: must not contain NUL"),
        ("# Ada\nn1: a\n?  => n1", "line 3: question: must not be empty"),
        ("# Ada\nn1: a\n- wh\x00o", "line 3: question: must not contain NUL"),
        ("# Ada\n- What is told? => " + "tea " * 20_000, "line 2: text: must be at most"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, lines, said):
    (tmp_path / "some.txt").write_text(lines)
    with pytest.raises(ValueError, match=re.escape(f"some.txt, {said}")):
        load(tmp_path / "some.txt")


def test_a_file_that_is_not_utf_8_is_named(tmp_path):
    (tmp_path / "some.txt").write_bytes("# Ada\nn1: café\n".encode("latin-1"))
    with pytest.raises(ValueError, match=re.escape("some.txt, line 2: not UTF-8")):
        load(tmp_path / "some.txt")


def test_nobody_is_learned_from_who_is_measured_on():
    learned = {note.lower() for block in read_blocks() for note in (*block.notes.values(), *block.wanted.values())}
    files = sorted(persons.UNSEEN.glob("*.txt"))
    assert [is_held_out(each) for each in files] == ["held_out" in each.name for each in files]
    assert any(map(is_held_out, files))
    for file in files:
        for each in load(file).collections:
            assert learned.isdisjoint(item.text.lower() for item in each.items), each.name
