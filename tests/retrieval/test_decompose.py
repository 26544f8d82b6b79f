"""Which questions ask for several things, and which only have several words that ask."""

from __future__ import annotations

from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.words.decompose import parts_of


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("Who is Inês and where does my mother live?", ("Who is Inês?", "where does my mother live?")),
        ("who is ines, and when is the dentist", ("who is ines?", "when is the dentist?")),
        ("Is Rex ill?  What is the password?", ("Is Rex ill?", "What is the password?")),
        ("I am packing. Where is Rex's lead? Is the vet open?", ("Where is Rex's lead?", "Is the vet open?")),
        ("Where is the lead? Is the vet open? Thanks!", ("Where is the lead?", "Is the vet open?")),
        ("What\u2019s Ann\u2019s number and who\u2019s Bo?", ("What\u2019s Ann\u2019s number?", "who\u2019s Bo?")),
        ("What does Ann eat and is Bo ill?", ("What does Ann eat?", "is Bo ill?")),
        ("Where do I bank, and do I have a dentist?", ("Where do I bank?", "do I have a dentist?")),
        ("Who sits between Ann and Bo and where is the key?", ("Who sits between Ann and Bo?", "where is the key?")),
        (
            "Who is Bo? What is my PIN and where is the key?",
            ("Who is Bo?", "What is my PIN?", "where is the key?"),
        ),
    ],
)
def test_each_of_several_questions_is_told_from_the_others(question: str, parts: tuple[str, ...]) -> None:
    assert parts_of(question, 3) == parts


@pytest.mark.parametrize(
    "question",
    [
        "",
        "?",
        "? ?",
        "bees and hens",
        "Who is Inês?",
        "I am packing. Where is Rex's lead?",
        "What is the difference between what I have and what I need?",
        # Two words that ask for one thing.
        "When and where is the choir?",
        "Which car did I choose, and why?",
        "How long and how hot should the loaf bake?",
        "What time is stand-up and where?",
        # The second says only what the first names.
        "Who is Inês and where does she live?",
        "What's RW-2518-K and what does it cost?",
        "What is Ann's car? Is that the red one?",
        # No question begins there.
        "When did Caroline meet people and have a bad experience?",
        "Who pays late and is never sorry?",
        "Everything about Bo and what is planned",
        "Is Rex ill? Is Rex ill?",
        # Within quotes nothing is asked.
        'Who wrote "Where is Ann and what is love"?',
    ],
)
def test_what_asks_for_one_thing_is_one_question(question: str) -> None:
    assert parts_of(question, 3) == ()


@pytest.mark.parametrize(("most", "number"), [(0, 0), (1, 0), (2, 2)])
def test_more_than_wanted_are_asked_as_one(most: int, number: int) -> None:
    assert len(parts_of("Who is Bo? Where is the key?", most)) == number
    assert parts_of("Who is Bo? Where is the key? What is my PIN?", 2) == ()


@given(st.lists(st.sampled_from([*"?.!,\n", "and", "Who is", "where", "Bo", "is the", "it", "key", '"']), max_size=12))
def test_parts_are_words_of_the_question(words: list[str]) -> None:
    question = " ".join(words)
    for part in parts_of(question, 5):
        assert part.removesuffix("?") in question


@pytest.mark.parametrize("unit", ["and who is ", "? ", " ", "is the ", "and", ", and what "])
def test_a_long_question_costs_little(unit: str) -> None:
    start = thread_time()
    parts_of((unit * 8192)[:8192], 3)
    assert thread_time() - start < 0.5
