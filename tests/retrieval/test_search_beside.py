"""Where one memory surely answers, what is beside the point is left out."""

from __future__ import annotations

import numpy as np
import pytest
from shelf import DIMENSIONS, NOW, Shelf

from retrieval.reading.reading import shared_reader

TEXTS = (
    "Tea is kept in the blue tin",
    "The gate is locked after dusk",
    "Grey roof tiles",
    "Order HERON-42 is paid",
)
ASKED = "Which container do I get the tea from?"


@pytest.fixture
def shelf(runtime, ada):
    return leaning(runtime, ada, TEXTS)


def leaning(runtime, person, texts, shares=(0.7, 0.2, 0.28, 0.32)):
    """Return memories with such cosines to every question."""
    return Shelf(runtime, person, texts, np.stack([_leaning(place, share) for place, share in enumerate(shares)]))


def _leaning(place, share):
    """Return a vector at such a cosine to the question's, and beside that at a right angle to the others."""
    vector = np.zeros(DIMENSIONS, dtype=np.float32)
    vector[0], vector[place + 1] = share, np.sqrt(1 - share**2)
    return vector


def found(shelf, question, **fields):
    return shelf.found(question, near=0, cosine=1.0, reader=shared_reader, **fields)


def test_what_is_far_below_the_best_is_left_out_beside_what_surely_answers(shelf):
    assert found(shelf, ASKED) == [TEXTS[0], TEXTS[3], TEXTS[2]]
    assert len(found(shelf, ASKED, policy={"alone_reading": 1})) == len(TEXTS), "nothing is as sure as that"


def test_what_is_not_far_below_the_best_stays(runtime, ada):
    shelf = leaning(runtime, ada, TEXTS, (0.4, 0.16, 0.2, 0.25))
    assert found(shelf, ASKED) == [TEXTS[0], TEXTS[3], TEXTS[2]]


def test_what_is_read_and_answers_in_other_words_stays(runtime, ada):
    shelf = leaning(runtime, ada, (TEXTS[0], "Assam is in the old biscuit box", *TEXTS[2:]))
    assert "Assam is in the old biscuit box" in found(shelf, ASKED, policy={"certain_reading": 1})


def test_key_words_are_told_by_what_has_them_all(shelf):
    assert found(shelf, "tea tin") == [TEXTS[0], TEXTS[3], TEXTS[2]]
    assert len(found(shelf, "tea roof")) == len(TEXTS), "nothing has both"


def test_what_has_a_word_of_the_question_stays_however_far_below_it_is(shelf):
    assert TEXTS[1] in found(shelf, "Which container by the gate do I get the tea from?")


def test_where_nothing_surely_answers_all_that_is_clear_is_shown(shelf):
    asked = "What do we drink?"
    assert len(found(shelf, asked, policy={"sure_reading": 0.0, "named_reading": 0.0})) == len(TEXTS)


def test_who_wants_things_of_a_kind_gets_what_is_far_below_as_well(shelf):
    assert len(found(shelf, "Which containers are there for tea?")) == len(TEXTS)


def test_what_is_of_the_time_that_is_asked_for_stays(shelf):
    assert len(found(shelf, f"Was HERON-42 paid in {NOW:%B %Y}?")) == len(TEXTS)


def test_beside_what_has_the_identifier_nothing_stays_for_being_alike(shelf):
    assert found(shelf, "HERON-42") == [TEXTS[3]]
    assert found(shelf, "Is the tea in HERON-42?") == [TEXTS[3], TEXTS[0]], "a word in common is something"
    assert len(found(shelf, "HERON-42", policy={"min_score": 0.0})) == len(TEXTS)


def test_in_a_talk_what_stands_around_the_identifier_stays(runtime, ada):
    talk = ("Ada: It came today", "Bob: Did it?", "Ada: At noon", "Bob: Is that HERON-42?")
    assert len(found(leaning(runtime, ada, talk), "HERON-42")) == len(talk)
