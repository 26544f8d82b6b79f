from __future__ import annotations

import doctest

import pytest

from retrieval import answers
from retrieval.answers import fits, wants_a_kind


def test_the_doctests_hold() -> None:
    assert doctest.testmod(answers).failed == 0


@pytest.mark.parametrize(
    ("question", "wants"),
    [
        ("How many hens are there?", True),
        ("and how old is she", True),
        ("By how much?", True),
        ("When's the exam?", True),
        ("Since when is the gate shut?", True),
        ("On which day do we meet?", True),
        ("How do I get in?", False),
        ("When I travel, what do I take along?", False),
        ("What do I say when he calls?", False),
        ("Who came?", False),
        ("", False),
    ],
)
def test_amounts_and_times_are_what_a_question_wants(question: str, wants: bool) -> None:
    assert wants_a_kind(question) == wants


@pytest.mark.parametrize(
    ("question", "text", "can"),
    [
        ("How many hens?", "We keep nine hens", True),
        ("How many hens?", "We keep hens", False),
        ("How often do you swim?", "I swim every morning", True),
        ("How often do you swim?", "I like to swim", False),
        ("How long is the boat?", "The boat measures 57 feet", True),
        ("When is the exam?", "The exam is in June", True),
        ("When is the exam?", "The exam is hard", False),
        ("What time is lunch?", "Lunch: 12:30", True),
        ("Who came?", "Nobody", True),
    ],
)
def test_only_what_says_one_can_answer(question: str, text: str, can: bool) -> None:
    assert fits(question, text) == can


def test_what_wants_nothing_of_a_kind_is_answered_by_anything() -> None:
    assert all(fits(each, "") for each in ("Who came?", "Why?", ""))
