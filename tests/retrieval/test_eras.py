"""What a question for what was is asked as."""

from __future__ import annotations

import time

import pytest

from retrieval.days.eras import as_asked_then


@pytest.mark.parametrize(
    ("asked", "then"),
    [
        ("What was my rate before ?", "What is my rate?"),
        ("What was my rate before ? !", "What is my rate?!"),
        ("Where did we live originally", "Where do we live"),
        ("", ""),
        (" ? ", "?"),
    ],
)
def test_no_blank_is_left_where_a_word_was(asked, then):
    assert as_asked_then(asked) == then


def test_a_question_that_ends_in_signs_is_gone_through_once():
    began = time.process_time()
    assert as_asked_then("What was my old rate" + " -" * 30_000) == "What is my rate" + "-" * 30_000
    assert time.process_time() - began < 2
