from __future__ import annotations

import doctest

import pytest

from retrieval import answers
from retrieval.answers import says_an_amount, wants_an_amount


def test_the_doctests_hold() -> None:
    assert doctest.testmod(answers).failed == 0


@pytest.mark.parametrize(
    ("question", "wants"),
    [
        ("How many hens are there?", True),
        ("and how old is she", True),
        ("How much is parking?", True),
        ("How often do I swim?", True),
        ("By how much?", True),
        ("How do I get in?", False),
        ("How much do I like coriander?", False),
        ("What time zone is Anna in?", False),
        ("When did I first mention the boiler?", False),
        ("Who came?", False),
        ("", False),
    ],
)
def test_an_amount_is_what_a_question_wants(question: str, wants: bool) -> None:
    assert wants_an_amount(question) == wants


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("We keep nine hens", True),
        ("We keep hens", False),
        ("I swim on Mondays and Thursdays", True),
        ("I never swim", True),
        ("She is an only child", True),
        ("Parking is free of charge", True),
        ("It takes a quarter of an hour", True),
        ("I am in the second chapter", True),
        ("The boat measures 57 feet", True),
        ("Husband Aurelio kept the archive", False),
        ("", False),
    ],
)
def test_whatever_may_stand_for_an_amount_says_one(text: str, says: bool) -> None:
    assert says_an_amount(text) == says
