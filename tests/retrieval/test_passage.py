"""Of a long text the part is shown that speaks of the question."""

from __future__ import annotations

import random
from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.words.passage import ELLIPSIS, found_in, passage
from retrieval.words.tokens import count

FILLER = "The committee talked at length about the roof and who would pay for it. "
LONG = FILLER * 60 + "The hint of the backup tape is marzipan otter. " + FILLER * 60


@pytest.mark.parametrize("question", ["marzipan otter", "What are the hints of our backup tapes?", "otters"])
def test_the_part_with_the_words_of_the_question_is_shown(question):
    part = passage(LONG, question, 80)
    assert "The hint of the backup tape is marzipan otter." in part
    assert (part[0], part[-1]) == (ELLIPSIS, ELLIPSIS)


def test_the_part_with_a_name_that_is_written_with_signs_is_shown():
    assert "the AT&T contract" in passage(FILLER * 60 + "Then the AT&T contract came up. " + FILLER * 60, "AT&T?", 40)


def test_a_long_run_of_letters_is_read_once() -> None:
    """From each of its letters on it took ten seconds."""
    begun = thread_time()
    assert found_in("a" * 16_000 + " Node.js", "nodejs or " + "a" * 8_000) == [(16_001, 16_008, "nodej")]
    assert thread_time() - begun < 2


def test_a_rare_word_tells_more_than_one_that_is_everywhere():
    assert "marzipan" in passage(LONG, "Who would pay for the marzipan?", 60)


def test_without_a_word_of_the_question_it_begins_at_the_beginning():
    beginning = "The committee talked at length about the roof and who"
    assert [passage(LONG, question, 10) for question in ("giraffe", "")] == [beginning, beginning]


def test_dots_stand_only_where_something_was_left_out():
    assert passage(f"otter {FILLER * 9}", "otter", 20).startswith("otter The committee")
    assert passage(f"{FILLER * 9}otter", "otter", 20).endswith("otter")


@given(st.text(max_size=400), st.text(max_size=40), st.integers(0, 60))
def test_whatever_the_text_no_more_tokens_are_shown_than_may_be(text, question, most):
    assert count(passage(text, question, most)) <= most


@given(st.lists(st.sampled_from(["otter", "roof", "pay", "tape", "the", "\N{PARTY POPPER}", "日本"]), max_size=300))
def test_a_word_that_is_there_is_in_the_part(words):
    text = " ".join(words)
    assert "otter" not in words or "otter" in passage(text, "otter", 20)


@pytest.mark.parametrize("most", [5, 9, 20, 37])
def test_dots_that_join_what_stands_beside_them_cost_no_token_too_many(most: int) -> None:
    # "[" is a token with what follows, and another with dots before it.
    words = ["[a", "photo]", "naïve", "(later)", "...", "https://x.org/a", "they're", "$5"]
    chance = random.Random(1)
    for _ in range(60):
        text, asked = " ".join(chance.choices(words, k=200)), chance.choice(words)
        assert count(passage(text, asked, most)) <= most


def test_the_part_of_a_text_without_blanks_is_shown():
    text = "昨日は雨だった。" * 40 + "金庫の番号は帳簿の裏にある。" + "明日は晴れるらしい。" * 40
    part = passage(text, "金庫の番号は?", 60)
    assert "金庫の番号は帳簿" in part
    assert (part[0], part[-1]) == ("…", "…")
