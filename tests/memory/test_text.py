import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.texts.fingerprints import (
    bands,
    folded_digest,
    from_signed,
    growing_digests,
    hamming,
    normalise,
    simhash64,
    to_signed,
    without_references,
)

HASHES = st.integers(min_value=0, max_value=2**64 - 1)
BRACKETED = st.text(alphabet="[]()【】1, 2^†aB.:/-\n", max_size=60)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  Robin\tlikes \n TEA ", "robin likes tea"),
        ("Robin likes tea [1].", "robin likes tea ."),
        ("tea [12, 13] and [^3] and 【4†source】 end", "tea and and end"),
        ("as shown (Smith et al., 2020) here", "as shown here"),
        ("as shown (Smith & Jones, 2020a) here", "as shown here"),
        ("read https://example.org/a(b)?c=d now", "read now"),
        ("read `https://example.org/a` and **https://example.org/b** now", "read and now"),
        ("\u65e5\u8a18\u306f https://example.org/a\u3002\u79d8\u5bc6", "\u65e5\u8a18\u306f \u3002\u79d8\u5bc6"),
        ("read [the page](https://example.org/a) now", "read [the page]( ) now"),
        ("\uff34\uff25\uff21 \ufb01g", "tea fig"),  # full-width letters and a ligature
        ("", ""),
    ],
)
def test_normal_form(text: str, expected: str) -> None:
    assert normalise(text) == expected


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=9), max_size=9))
def test_digests_that_grow_are_those_of_the_joined_parts(parts: list[str]) -> None:
    expected = [folded_digest(" ".join(parts[: number + 1])) for number in range(len(parts))]
    assert list(growing_digests(parts)) == expected


@pytest.mark.parametrize("text", ["moved (march, 2020) house", "moved (in spring 2020)", "items[0]", "a [b] c"])
def test_what_only_looks_like_a_citation_stays(text: str) -> None:
    assert normalise(text) == text


@given(st.text() | BRACKETED)
def test_normalising_twice_changes_nothing(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


def test_hostile_nesting_stays_idempotent_and_fast() -> None:
    nested = "[1," * 9000 + "2" + " 1]" * 9000
    started = time.thread_time()
    once = normalise(nested)
    assert time.thread_time() - started < 1
    assert normalise(once) == once


def test_references_go_but_case_and_spacing_stay() -> None:
    assert without_references("Ana  says [1] Hi") == "Ana  says   Hi"


def test_empty_text_hashes_to_zero() -> None:
    assert simhash64("") == 0


def test_hash_is_pinned() -> None:
    # Stored hashes must stay comparable: a change here means re-hashing every memory.
    assert simhash64("robin likes green tea") == 0x6E6D26E211EC425C


def test_punctuation_does_not_move_the_hash() -> None:
    assert simhash64("robin likes tea.") == simhash64("robin likes tea")


def test_texts_without_words_have_their_own_hashes() -> None:
    assert simhash64("🎉") != simhash64("🌵")


def test_one_changed_word_in_a_long_text_is_closer_than_another_text() -> None:
    words = [f"word{number}" for number in range(60)]
    changed = [*words[:-1], "other"]
    apart = hamming(simhash64(" ".join(words)), simhash64(" ".join(changed)))
    assert apart < 12 < hamming(simhash64(" ".join(words)), simhash64("a quite different note"))


@given(HASHES, st.sets(st.integers(0, 63), max_size=3))
def test_three_flipped_bits_leave_a_common_band(h: int, flipped: set[int]) -> None:
    other = h
    for bit in flipped:
        other ^= 1 << bit
    assert hamming(h, other) == len(flipped)
    assert any(left == right for left, right in zip(bands(h), bands(other), strict=True))


@given(HASHES)
def test_bands_are_the_hash_in_four_parts(h: int) -> None:
    first, second, third, fourth = bands(h)
    assert first << 48 | second << 32 | third << 16 | fourth == h


@given(HASHES)
def test_signed_round_trip(h: int) -> None:
    assert -(2**63) <= to_signed(h) < 2**63
    assert from_signed(to_signed(h)) == h


@given(HASHES, HASHES)
def test_distance_ignores_signedness(a: int, b: int) -> None:
    assert hamming(to_signed(a), to_signed(b)) == hamming(a, b)


def test_a_thousand_short_texts_take_less_than_150_ms() -> None:
    texts = [" ".join(f"w{(index * 7 + place * 13) % 4999}" for place in range(20)) for index in range(1000)]
    took = []
    for _ in range(3):
        started = time.thread_time()
        for text in texts:
            simhash64(text)
        took.append(time.thread_time() - started)
    # What else the machine does only adds to it.
    assert min(took) < 0.15
