from __future__ import annotations

from dataclasses import replace

import pytest

from evals import golden
from evals.dataset import Collection, DataSet, Item, Question
from evals.errors import MeasureError
from evals.pairs import in_pairs

ADA = Collection("ada", (Item("1", "Ada keeps bees"), Item("2", "Ada drives a van")))
BOB = Collection("bob", (Item("1", "Bob keeps hens"),))


def question(number: int, text: str, *expected: str, of: str = "ada") -> Question:
    return Question(str(number), "any", text, of, frozenset(expected))


QUESTIONS = (
    question(1, "What does Ada keep?", "1"),
    question(2, "Who has a boat?"),
    question(3, "What does Ada drive?", "2"),
    question(4, "Is there a dog?"),
    question(5, "What does Bob keep?", "1", of="bob"),
    question(6, "bees", "1"),
    question(7, "Ada came by. What does she keep?", "1"),
)
DATA = DataSet("golden", "two", (ADA, BOB), QUESTIONS, persons=True)


def test_two_questions_of_one_person_are_asked_in_one_and_what_answers_either_counts() -> None:
    made = in_pairs(DATA)
    assert [(each.id, each.category, each.text, each.expected) for each in made.questions] == [
        ("1+3", "two", "What does Ada keep? What does Ada drive?", {"1", "2"}),
        ("2+4", "nothing", "Who has a boat and is there a dog?", frozenset()),
        ("1+2", "one of two", "What does Ada keep? Who has a boat?", {"1"}),
        ("3+4", "one of two", "What does Ada drive and is there a dog?", {"2"}),
    ]
    assert (made.name, made.collections) == ("two_pairs", DATA.collections)


def test_two_questions_make_one_pair() -> None:
    [pair] = in_pairs(replace(DATA, questions=QUESTIONS[:2])).questions
    assert (pair.category, pair.expected) == ("one of two", {"1"})


def test_the_bundled_cases_make_pairs_of_each_kind_and_of_each_person_alone() -> None:
    data = golden.read(golden.BUNDLED)
    made = in_pairs(data)
    asked = {each.id: each for each in data.questions}
    assert {each.category for each in made.questions} == {"two", "one of two", "nothing"}
    for pair in made.questions:
        halves = [asked[each] for each in pair.id.split("+")]
        assert pair.expected == halves[0].expected | halves[1].expected
        assert {each.collection for each in halves} == {pair.collection}
    assert len({each.id for each in made.questions}) == len(made.questions)


def test_where_nobody_has_two_questions_there_is_no_pair() -> None:
    with pytest.raises(MeasureError, match="no two questions of one person"):
        in_pairs(replace(DATA, questions=QUESTIONS[4:]))
