"""The notes and questions in many languages that come along."""

from __future__ import annotations

from collections import Counter

from evals.datasets import LANGUAGES, is_held_out, load


def test_there_are_as_many_notes_and_questions_as_the_docs_say() -> None:
    found = load(LANGUAGES)
    assert sum(len(each.items) for each in found.collections) == 66
    assert Counter(each.category for each in found.questions) == {
        "same language": 24,
        "other language": 30,
        "nothing": 12,
    }
    assert all(bool(each.expected) != (each.category == "nothing") for each in found.questions)


def test_nothing_is_tuned_on_them() -> None:
    assert is_held_out(LANGUAGES)
