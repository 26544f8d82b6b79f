from __future__ import annotations

import time

import pytest

from retrieval.words.answers import asks_who, says_an_amount, wants_an_amount, wants_several
from retrieval.words.phrases import quoted, says


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


@pytest.mark.parametrize(
    ("question", "wants"),
    [
        ("What changes to my diet have I made?", True),
        ("Which books about old gardens do I own?", True),
        ("Which customers cancelled this year?", True),
        ("Which results came in July?", True),
        ("Show me my pain scores", True),
        ("I am packing. Can you give me the names of our suppliers?", True),
        ("What happens to the boxes that were left?", False),
        ("Which bus stopped here?", False),
        ("Which side of the street does Ben live on?", False),
        ("Give me the number of Odile's parents", False),
        ("Show me my thesis", False),
        ("Where did I get my keys?", False),
    ],
)
def test_things_of_a_kind_are_what_a_question_wants(question, wants):
    assert wants_several(question) is wants


@pytest.mark.parametrize(
    ("question", "does"),
    [
        ("  Who  is\nAda Berg ?! ", True),
        ("who\u2019s Ada again?", True),
        ("Who is Ada to me?", True),
        ("Who is Ada? Tell Ben", False),
        ("Who is Ada " + "Berg " * 60, False),
        ("Who is ?", False),
        ("Who is again?", False),
    ],
)
def test_who_somebody_is(question, does):
    assert asks_who(question) is does


@pytest.mark.parametrize("middle", [" ", "\n", "a ", "Ada ", " to a"])
def test_a_long_question_for_somebody_takes_no_time(middle):
    start = time.perf_counter()
    assert not asks_who("who is" + middle * (8000 // len(middle)) + "a\nb")
    assert time.perf_counter() - start < 1


@pytest.mark.parametrize(
    ("text", "phrase", "has"),
    [
        ("私は東京に住んでいます", "東京", True),
        ("서울에 살아요", "서울", True),
        ("ฉันอยู่กรุงเทพ", "กรุงเทพ", True),
        ("Cafe\u0301 E\u0301lan", "Café Élan", True),
        ("Café Élan", "Cafe\u0301 E\u0301lan", True),
        ("The lemon trees are ill", "lemon tree", False),
        ("東京 lemon", "lemo", False),
        ("Sold on 5.5. (maybe)", "5.5. (", True),
    ],
)
def test_a_phrase_is_had_as_its_language_writes_words(text, phrase, has):
    assert says(text, quoted(f'"{phrase}"')) is has


@pytest.mark.parametrize("question", ['"lemon tree"', "“lemon tree”", "„lemon tree“", "„lemon tree”", "« lemon tree »"])
def test_a_phrase_is_quoted_as_its_language_quotes(question):
    assert quoted(question) == ("lemon tree",)
