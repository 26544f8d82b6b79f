"""What a space holds, in words and numbers."""

from __future__ import annotations

import pytest

from memory.embedding.backfill import utc_now
from memory.spaces import get_space
from memory.summary import summarise


@pytest.fixture
def told(book):
    def _told():
        with book.session() as session:
            return summarise(session, get_space(session, book.user_id, "default"), now=utc_now())["summary"]

    return _told


def test_an_empty_space_says_so(told):
    assert told() == "Nothing is remembered in default yet."


def test_one_memory_is_not_said_to_be_several(book, told):
    book.write("apples", type="summary")
    assert told() == "1 memory in default (1 summary); 0 pinned. What matters most:\n- apples"


def test_kinds_are_counted_in_words(book, told):
    for number, kind in enumerate(("fact", "other", "preference", "summary")):
        for which in range(2):
            book.write(f"{kind} of apples {number} {which}", type=kind)
    book.write("I always take bridges", type="instruction", manually_saved=True)
    head, first, *_ = told().splitlines()
    kinds = "2 facts, 1 instruction, 2 other, 2 preferences, 2 summaries"
    assert head == f"9 memories in default ({kinds}); 1 pinned. What matters most:"
    assert first == "- I always take bridges"
