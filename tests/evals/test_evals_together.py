from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from evals_data import sample

from evals import golden
from evals.cli import eval_group
from evals.dataset import Collection, DataSet, Item, Question
from evals.errors import MeasureError
from evals.locomo import parse
from evals.locomo_set import to_data_set
from evals.together import together

ADA = Collection("ada", (Item("1", "Ada keeps bees"), Item("2", "Ada drives a van")))
BOB = Collection("bob", (Item("1", "Bob keeps hens"),))
QUESTIONS = (
    Question("bees", "animals", "What does Ada keep?", "ada", frozenset({"1"})),
    Question("hens", "animals", "What does Bob keep?", "bob", frozenset({"1"})),
    Question("none", "nothing", "Who has a boat?", "bob", frozenset()),
)
TWO = DataSet("golden", "two", (ADA, BOB), QUESTIONS, persons=True)


def test_what_two_persons_have_becomes_the_memory_of_one() -> None:
    bees, *others = QUESTIONS
    made = together(replace(TWO, questions=(replace(bees, person="ada"), *others)))
    [one] = made.collections
    assert [(each.id, each.text) for each in one.items] == [
        ("ada/1", "Ada keeps bees"),
        ("ada/2", "Ada drives a van"),
        ("bob/1", "Bob keeps hens"),
    ]
    assert {each.id: each.expected for each in made.questions} == {"bees": {"ada/1"}, "hens": {"bob/1"}}
    assert {each.collection for each in made.questions} == {one.name} == {each.about for each in made.questions}
    assert made.name == "two_together"


def test_no_case_of_the_bundled_set_loses_what_answers_it() -> None:
    data = golden.read(golden.BUNDLED)
    made = together(data)
    assert made.size == data.size
    assert len(made.questions) == sum(bool(each.expected) for each in data.questions)
    ids = {each.id for each in made.collections[0].items}
    assert len(ids) == made.size
    assert all(each.expected <= ids for each in made.questions)


@pytest.mark.parametrize("data", [to_data_set(parse([sample()])), DataSet("jsonl", "one", (ADA,), QUESTIONS[:1])])
def test_talks_and_a_single_person_cannot_be_put_together(data: DataSet) -> None:
    with pytest.raises(MeasureError, match="only the loose memories of several persons"):
        together(data)


def test_the_command_measures_one_memory_and_another_number_beside_the_default(tmp_path: Path, kept: Path) -> None:
    cases = [
        {
            "id": f"case-{name}",
            "category": "person",
            "query": f"What does {name} keep?",
            "setup_memories": [{"content": f"{name} keeps {animal} in the garden."}],
            "expected_retrievals": [f"{name} keeps {animal} in the garden."],
        }
        for name, animal in (("Ada", "bees"), ("Bob", "hens"))
    ]
    file, measures = tmp_path / "cases.json", tmp_path / "measures.json"
    file.write_text(json.dumps({"version": "1.0.0", "cases": cases}))
    arguments = ["golden", str(file), "--together", "--set", "semantic_weight=0.1", "--set", "fusion=minmax"]
    result = CliRunner().invoke(eval_group, [*arguments, "--no-save", "--json", str(measures)])
    assert result.exit_code == 0, result.output
    assert "cases_together: 2 memories, 2 questions" in result.stdout
    assert "semantic_weight=0.1 fusion=minmax" in result.stdout
    tried = json.loads(measures.read_text())["settings"]["policies"]["semantic_weight=0.1 fusion=minmax"]
    assert (tried["semantic_weight"], tried["turn_semantic_weight"], tried["fusion"]) == (0.1, 0.1, "minmax")


@pytest.mark.parametrize(("given", "said"), [("depth=none", "depth: must be"), ("colour=1", "colour: is not")])
def test_a_number_that_no_policy_has_is_refused(given: str, said: str) -> None:
    result = CliRunner().invoke(eval_group, ["golden", "--set", given])
    assert result.exit_code == 2
    assert said in result.output
