"""Long texts in passages that are embedded one by one."""

from __future__ import annotations

import random
import time

import pytest

from memory.embedding.passages import LONGEST, OVERLAP, SHORT, passages

SEPARATORS = (" ", "  ", ". ", "! ", "\n", "。", "\n\n")


def size(text):
    return len(text.encode())


def made_up(chance):
    """A text of numbered signs, none of which comes twice, in words and sentences of any length."""
    number, parts = 0, []
    for _ in range(chance.randint(1, 120)):
        length = chance.choice((1, 1, 1, 30, 200))
        parts += [chance.choice("aü猫😀") + str(number + each) for each in range(length)]
        parts.append(chance.choice(SEPARATORS))
        number += length
    return "".join(parts)


@pytest.mark.parametrize("seed", range(40))
def test_passages_hold_all_of_a_text_in_order_and_share_little(seed):
    text = made_up(random.Random(seed))
    found, reached = passages(text), 0
    assert bool(found) == (size(text) > SHORT)
    for each in found:
        assert size(each) <= LONGEST
        start = text.index(each)
        assert not text[reached:start].strip(), "nothing is left out"
        assert size(text[start:reached]) <= OVERLAP
        reached = start + len(each)
    assert not found or not text[reached:].strip()


def test_a_passage_begins_and_ends_with_whole_sentences():
    text = " ".join(f"Sentence number {number} tells of something else." for number in range(60))
    assert {each.startswith("Sentence") and each.endswith("else.") for each in passages(text)} == {True}


def test_nothing_but_white_space_has_no_passage():
    assert passages(" \n" * SHORT) == []


def test_half_a_character_is_cut_like_any_other():
    found = passages("\ud800" * 1000)
    assert [len(each) <= LONGEST for each in found] == [True] * 3


def test_a_run_of_full_stops_takes_no_time():
    start = time.perf_counter()
    assert len(passages("Zebra table " + "." * 60_000 + "x end")) > 100
    assert time.perf_counter() - start < 2
