"""Which rows near a text are held against it, and in which order."""

from __future__ import annotations

import pytest

from memory.ids import new_id
from memory.models import Memory
from memory.texts.alike import Alike
from memory.texts.fingerprints import to_signed

HERE = 0x8000_0000_0000_0F0F
RECEIPT = "Receipt {} of the Green Grocer, paid on {} May"


@pytest.fixture
def alike():
    """Rows by their texts, each so many bits away from HERE."""
    kept = Alike()

    def add(text: str, distance: int = 0):
        kept.add(Memory(id=new_id(), text=text, simhash=to_signed(HERE ^ ((1 << distance) - 1))))

    for number in range(20):
        add(RECEIPT.format(number, 3))
    add("Another text", 2)
    add(RECEIPT.format(7, 3).upper(), 1)
    add(RECEIPT.format(7, 3), 4)
    return kept


def texts(rows):
    return [memory.text for memory in rows]


def test_of_many_of_one_pattern_those_alone_are_yielded_that_tell_the_same_numbers(alike):
    said = RECEIPT.format(7, 3)
    assert texts(alike.of_one_frame(said, HERE)) == [said, said.upper(), "Another text"]


def test_what_is_added_after_one_was_asked_for_is_yielded(alike):
    said = RECEIPT.format(21, 3)
    assert texts(alike.of_one_frame(said, HERE)) == ["Another text"]
    alike.add(Memory(id=new_id(), text=said, simhash=to_signed(HERE)))
    assert texts(alike.of_one_frame(said, HERE)) == [said, "Another text"]


def test_the_newest_of_all_that_are_near_come_first(alike):
    near = [RECEIPT.format(7, 3).upper(), "Another text", RECEIPT.format(19, 3)]
    assert texts(alike.newest(HERE, 3)) == near


def test_nothing_is_near_a_text_of_links_alone(alike):
    alike.add(Memory(id=new_id(), text="https://example.org/one", simhash=0))
    assert alike.newest(0, 3) == texts(alike.of_one_frame("https://example.org/two", 0)) == []
