"""What two lists have in common, found as the standard library finds it, in less time where they repeat themselves."""

from __future__ import annotations

import sys
from difflib import SequenceMatcher

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.messages import alignment
from memory.messages.alignment import stretches

LISTS = st.lists(st.sampled_from("abc"), max_size=24)


def pairs(found):
    return [(ours + step, theirs + step) for ours, theirs, size in found for step in range(size)]


def test_nothing_is_the_same_in_nothing():
    assert stretches([], []) == stretches("a", "") == stretches("", "a") == stretches("a", "b") == []


def test_the_longest_is_taken_before_what_comes_first():
    assert stretches("abxabc", "abc") == [(3, 0, 3)]


def test_of_several_that_are_as_long_the_first_is_taken():
    assert stretches("ab-ab", "ab+ab") == [(0, 0, 2), (3, 3, 2)]


@given(LISTS, LISTS)
def test_stretches_are_those_that_the_standard_library_finds(ours, theirs):
    matcher = SequenceMatcher(None, ours, theirs, autojunk=False)
    assert pairs(stretches(ours, theirs)) == pairs(matcher.get_matching_blocks())


def lines_run(action):
    """How many lines of the module an action runs; what the collector of garbage runs meanwhile does not count."""
    count = 0

    def trace(frame, event, _value):
        nonlocal count
        if frame.f_code.co_filename != alignment.__file__:
            return None
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(
    "said",
    [
        lambda n: "ok",
        lambda n: ("ok", "go on")[n % 2],
        lambda n: ("ok", "go on")[bin(n).count("1") % 2],
        lambda n: "ok" if n % 3 else n,
        lambda n: n,
    ],
    ids=["one", "by turns", "never thrice", "often", "never"],
)
@pytest.mark.parametrize("other", [lambda n, word: word, lambda n, word: word if n % 2 else f"other {n}"])
def test_twice_as_much_takes_hardly_more_than_twice_as_long(said, other):
    def compare(size):
        ours = [said(n) for n in range(size)]
        theirs = [other(n, word) for n, word in enumerate(ours[size // 2 :])]
        return lines_run(lambda: stretches(ours, theirs))

    assert compare(600) < 2.7 * compare(300)
