"""Ordinals, ages and marked words."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from markupsafe import Markup

from retrieval.words.passage import stem
from webapp.pages.words import LONG, ago, mark, ordinal, part

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("number", "spoken"), [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (21, "21st"), (112, "112th")]
)
def test_ordinals(number: int, spoken: str) -> None:
    assert ordinal(number) == spoken


@pytest.mark.parametrize(
    ("age", "spoken"),
    [
        (timedelta(seconds=20), "just now"),
        (timedelta(minutes=1), "1 minute ago"),
        (timedelta(hours=5), "5 hours ago"),
        (timedelta(days=6), "6 days ago"),
        (timedelta(days=20), "2 weeks ago"),
        (timedelta(days=400), "1 year ago"),
        (timedelta(seconds=-40), "in a moment"),
        (timedelta(seconds=-1), "just now"),
        (timedelta(days=-3), "in 3 days"),
        (timedelta(days=-89, hours=-23), "in 3 months"),
        (timedelta(days=-20), "in 2 weeks"),
    ],
)
def test_ages(age: timedelta, spoken: str) -> None:
    assert ago(NOW - age, NOW) == spoken


@pytest.mark.parametrize(
    ("one", "other"),
    [("running", "run"), ("cities", "city"), ("prefers", "preferred"), ("Allergies", "allergy"), ("boxes", "box")],
)
def test_forms_of_a_word_share_a_stem(one: str, other: str) -> None:
    assert stem(one) == stem(other)


@pytest.mark.parametrize(("one", "other"), [("thing", "the"), ("bus", "bed"), ("sing", "sin")])
def test_different_words_do_not(one: str, other: str) -> None:
    assert stem(one) != stem(other)


def test_words_of_the_question_are_marked() -> None:
    assert mark("She likes Cats.", "a cat") == "She likes <mark>Cats</mark>."


def test_empty_words_are_not_marked() -> None:
    assert "<mark>" not in mark("what is the matter", "what is the point")


@pytest.mark.parametrize(
    ("text", "question", "marked"),
    [
        ("来週は東京駅で猫と会う", "東京駅の猫は?", ["東京駅", "猫"]),
        ("C# or C, C sharp", "Who writes C#?", ["C#", "C sharp"]),
        ("AT&T, at & t; at the T", "AT&T", ["AT&T", "at & t"]),
        ("C++17 and cpp, not C", "c++", ["C++", "cpp"]),
        (".NET 4.8 in the network", "which .net?", [".NET"]),
        ("A naïve plan at the Café", "naive cafes", ["naïve", "Café"]),
        ("A nai\u0308ve plan for Mu\u0308ller", "naïve Müller", ["nai\u0308ve", "Mu\u0308ller"]),
        ("A naïve plan for Müller", "nai\u0308ve Mu\u0308ller", ["naïve", "Müller"]),
        ("Ọlọ\u0301run, and \u1ecclo\u0323\u0301run", "Olorun", ["Ọlọ\u0301run", "\u1ecclo\u0323\u0301run"]),
        ("x\u0302 in o\u0302", "x", ["x\u0302"]),
        ("This is what she said: O'Brien", "What's OBrien's number?", ["O'Brien"]),
        ("She'd like Anna's tea in the shed", "Where is Anna's shed?", ["Anna", "shed"]),
    ],
)
def test_names_are_marked_with_their_signs_and_words_whatever_their_accents(
    text: str, question: str, marked: list[str]
) -> None:
    assert [Markup(each).unescape() for each in re.findall("<mark>(.*?)</mark>", mark(text, question))] == marked


def test_everything_else_is_escaped() -> None:
    assert mark('<b> & "cats"', "cats <b>") == "&lt;<mark>b</mark>&gt; &amp; &#34;<mark>cats</mark>&#34;"


@pytest.mark.parametrize("question", ["", "   ", "()[*", "\\"])
def test_a_question_without_words_marks_nothing(question: str) -> None:
    assert mark("plain (text)", question) == "plain (text)"


def test_a_short_text_is_shown_whole() -> None:
    assert part("a" * LONG, "b") == "a" * LONG


def test_a_long_text_without_a_word_of_the_question_is_shown_from_its_beginning() -> None:
    shown = part("Boxes of letters. " * 200, "samovar")
    assert shown.startswith("Boxes of letters. ")
    assert shown.endswith("…")
    assert len(shown) < LONG
