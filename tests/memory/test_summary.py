"""A space in words and numbers: of what is in force there, and of nobody else's."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import text

from memory.clock import utc_now
from memory.reading.summary import summarise
from memory.spaces.spaces import get_space


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


def test_the_commonest_tags_come_first_and_equals_in_their_order(book, second_space):
    for number in range(3):
        book.write(f"The gate opens at {number}", tags=("gates", "hours")[: 1 + number % 2])
    book.write("The ferry leaves at noon", tags=("ferries", *(f"pier {number}" for number in range(8, 16))))
    book.write("The bell rings at six", tags=("bells",), space=second_space)
    tags = summary(book)["tags"]
    expected = [
        ("gates", 3),
        *((name, 1) for name in ("ferries", "hours", *(f"pier {n}" for n in range(10, 16)), "pier 8")),
    ]
    assert [(each["tag"], each["count"]) for each in tags] == expected


def test_what_is_pinned_matters_most_then_what_weighs_most_then_what_is_newest(book):
    now = utc_now()
    for number, (pinned, importance) in enumerate([(0, 0.4), (1, 0.1), (0, 0.9), (0, 0.4), (1, 0.2), (0, 0.1)]):
        written = book.write(f"Text number {number} of these", now=now, created_at=now + timedelta(minutes=number))
        with book.session() as session:
            changed = text("UPDATE memories SET pinned = :pinned, importance = :importance WHERE id = :id")
            session.execute(changed, {"pinned": bool(pinned), "importance": importance, "id": written.id})
    told = summary(book)
    assert [each["text"].split()[2] for each in told["highlights"]] == ["4", "1", "2", "3", "0"]
    assert (told["total"], told["pinned"], told["waiting_for_embedding"]) == (6, 2, 6)
