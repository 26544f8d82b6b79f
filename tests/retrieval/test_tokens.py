from __future__ import annotations

import gc
import sys
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.words.tokens import _Text, count, cut

# Whitespace runs, joined characters and special names are where prefixes and tokens disagree.
pieces = st.sampled_from(
    [
        "hello",
        " world",
        "  ",
        "\n",
        "\t",
        "123",
        "é",
        "e\u0301",
        "你",
        "\N{PARTY POPPER}",
        "don't",
        "<|endoftext|>",
    ]
)
texts = st.lists(pieces | st.text(max_size=4), max_size=10).map("".join)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("hello world", 2), ("tiktoken is great!", 6), ("2 + 2 = 4", 7), ("お誕生日おめでとう", 9)],
)
def test_counts_agree_with_published_cl100k_base_examples(text, tokens):
    assert count(text) == tokens


def test_the_name_of_a_special_token_is_ordinary_text():
    assert count("<|endoftext|>") > 1


def test_a_lone_surrogate_is_counted_and_not_refused():
    assert count("a\ud800b") > 0


def test_text_that_fits_is_not_cut():
    assert cut("hello world", 2) == "hello world"


def test_text_is_cut_to_its_first_tokens():
    assert cut("hello world again", 2) == "hello world"


@pytest.mark.parametrize("tokens", [0, -1])
def test_no_tokens_leave_no_text(tokens):
    assert cut("hello", tokens) == ""


def test_a_character_of_several_tokens_is_not_split():
    assert cut("\N{PARTY POPPER}", count("\N{PARTY POPPER}") - 1) == ""


def test_a_cut_text_with_a_lone_surrogate_is_valid():
    assert cut("\ud800", 5) == "?"


@given(texts, st.integers(0, 12))
def test_the_cut_is_the_largest_prefix_that_fits(text, tokens):
    fitting = [end for end in range(len(text) + 1) if count(text[:end]) <= tokens]
    assert cut(text, tokens) == text[: max(fitting)]


def test_a_hostile_run_of_one_character_still_fits():
    assert 800 < count(cut("=" * 65_000, 900)) <= 900


def test_a_text_that_was_counted_is_not_kept():
    secret = f"a text that nobody else has counted, {uuid4()}"
    assert count(secret) == count(secret)
    assert not [each for each in gc.get_objects() if type(each) is _Text and each.text is not None]


def test_texts_that_differ_are_counted_apart():
    assert [count(each) for each in ("one", "one two", "one two three", "one")] == [1, 2, 3, 1]


def test_nothing_of_the_package_is_loaded_but_its_binding():
    assert count("hello world") == 2
    assert "bpe_openai" not in sys.modules
