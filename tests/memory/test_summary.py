"""A space in words and numbers: of what is in force there, and of nobody else's."""

from __future__ import annotations

from datetime import timedelta

from memory.embedding.backfill import utc_now
from memory.spaces import get_space
from memory.summary import summarise


def summary(book, space="default", now=None):
    with book.session() as session:
        return summarise(session, get_space(session, book.user_id, space), now=now or utc_now())


def test_an_empty_space_says_so(book):
    assert summary(book)["summary"] == "Nothing is remembered in default yet."


def test_one_memory_is_not_said_to_be_several(book):
    book.write("apples", type="summary")
    assert summary(book)["summary"] == "1 memory in default (1 summary); 0 pinned. What matters most:\n- apples"


def test_kinds_are_counted_in_words(book):
    for number, kind in enumerate(("fact", "other", "preference", "summary")):
        for which in range(2):
            book.write(f"{kind} of apples {number} {which}", type=kind)
    book.write("I always take bridges", type="instruction", manually_saved=True)
    head, first, *_ = summary(book)["summary"].splitlines()
    kinds = "2 facts, 1 instruction, 2 other, 2 preferences, 2 summaries"
    assert head == f"9 memories in default ({kinds}); 1 pinned. What matters most:"
    assert first == "- I always take bridges"


def test_a_memory_of_several_lines_is_one_item(book):
    book.write("The gate opens at nine,\nthe house\n\n- at ten")
    book.write("The ferry leaves at noon")
    *_, first, second = summary(book)["summary"].splitlines()
    assert {first, second} == {"- The gate opens at nine, the house - at ten", "- The ferry leaves at noon"}


def test_a_long_memory_is_cut_as_such(book):
    book.write("stone " * 100)
    line = summary(book)["summary"].splitlines()[-1]
    assert line.endswith("\N{HORIZONTAL ELLIPSIS}")
    assert len(line) <= 202


def test_what_is_out_of_force_elsewhere_or_anothers_is_left_out(book, bobs_book, second_space):
    book.write("The gate opens at nine", expires_at=utc_now() + timedelta(minutes=5))
    book.write("The ferry leaves at noon", space=second_space)
    bobs_book.write("The bell rings at six")
    kept = book.write("The bridge is closed on Mondays")
    told = summary(book, now=utc_now() + timedelta(minutes=6))
    assert (told["total"], [each["id"] for each in told["highlights"]]) == (1, [str(kept.id)])
