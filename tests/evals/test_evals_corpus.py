from __future__ import annotations

from collections import Counter

import pytest
from evals_data import sample

from evals.corpus import Notes, WordModel, recombined
from evals.errors import MeasureError
from evals.locomo import parse


def test_the_same_seed_says_the_same() -> None:
    assert WordModel(1).texts(50) == WordModel(1).texts(50)


def test_texts_and_questions_are_all_different() -> None:
    words = WordModel()
    assert len(set(words.texts(500))) == 500
    assert len(set(words.questions(100))) == 100


def test_a_few_words_are_said_most_of_the_time() -> None:
    counts = Counter(" ".join(WordModel().texts(500)).lower().split())
    assert sum(count for _, count in counts.most_common(50)) > sum(counts.values()) / 3


def test_turns_are_put_together_anew_until_there_are_enough() -> None:
    texts = recombined(parse([sample()]), 20)
    assert len(set(texts)) == 20
    assert texts[0].startswith("Ann: I adopted a puppy")


def test_turns_make_no_more_than_their_halves_do() -> None:
    with pytest.raises(MeasureError, match="no more than 0"):
        recombined([], 100)
    with pytest.raises(MeasureError, match="no more than 20 different"):
        recombined(parse([sample()]), 100)


def test_notes_are_of_many_persons_and_so_are_the_questions_about_them() -> None:
    notes = Notes()
    texts, questions = notes.texts(2_000), notes.questions(300)
    assert (len({each.casefold() for each in texts}), len(set(questions))) == (2_000, 300)
    assert questions == Notes().questions(300) != Notes(1).questions(300)
    with pytest.raises(MeasureError, match="no more than"):
        notes.texts(1_000_000)
