"""What the query encoder learns from: notes and talks, with questions."""

from __future__ import annotations

import json

import pytest

from evals import jsonl
from evals.asked import Searched, of_persons, of_talks
from evals.blocks import Block
from evals.persons import UNSEEN


def test_what_nothing_answers_is_asked_of_the_note_that_would():
    block = Block("Ada", {"n1": "Tea", "n2": "Bees"}, [("Drink?", ("n1",)), ("Pets?", ()), ("Age?", ())])
    block.wanted["Age?"] = "Ada is nine"
    (searched,) = of_persons([block])
    assert searched == Searched(("Tea", "Bees"), (("Drink?", ("Tea",)), ("Age?", ("Ada is nine",))))


def test_a_talk_is_asked_for_its_turns(tmp_path):
    said = {"kind": "memory", "session": "1", "date": "2024-05-01T10:00"}
    lines = [
        {**said, "id": "1", "speaker": "Ann", "text": "Where is it?", "user": "Ann and Bo"},
        {**said, "id": "2", "speaker": "Bo", "text": "Under the pot.", "user": "Ann and Bo"},
        {"kind": "question", "text": "Where does Bo keep the key?", "relevant": ["2", "1"], "user": "Ann and Bo"},
        {"kind": "question", "text": "What is Bo's dog called?", "nothing": True, "user": "Ann and Bo"},
        {**said, "id": "1", "speaker": "Cy", "text": "Hello.", "user": "Cy"},
    ]
    (tmp_path / "1.jsonl").write_text("\n".join(map(json.dumps, lines)))
    first, second = of_talks(tmp_path)
    turns = ("Ann: Where is it?", "Bo: Under the pot.")
    assert first == Searched(turns, (("Where does Bo keep the key?", turns),))
    assert second == Searched(("Cy: Hello.",), ())


def test_what_is_wrong_in_a_talk_is_named(tmp_path):
    (tmp_path / "1.jsonl").write_text('{"kind": "memory", "id": "1"}\n')
    with pytest.raises(ValueError, match=r"1\.jsonl: line 1: text"):
        of_talks(tmp_path)


def test_nothing_is_learned_from_the_talks_that_are_asked_about(tmp_path):
    learned = of_talks()
    assert len(learned) > 200
    unseen = of_talks(UNSEEN)
    assert len(unseen) == 36
    for of_one in (lambda each: set(each.texts), lambda each: {text for text, _ in each.asked}):
        known = set().union(*map(of_one, learned))
        assert all(known.isdisjoint(of_one(each)) for each in unseen)


@pytest.mark.parametrize("name", ["talks", "talks_held_out"])
def test_the_talks_that_are_asked_about_are_whole(name):
    data = jsonl.read(UNSEEN / f"{name}.jsonl")
    assert all(each.talk is not None for each in data.collections)
    nothing = [each for each in data.questions if not each.expected]
    assert (len(data.collections), len(nothing), data.unscored) == (18, 216, 0)
    assert all(each.category.startswith("nothing: ") for each in nothing)
