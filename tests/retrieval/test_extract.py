"""Extracts: which sentences say most."""

from __future__ import annotations

import time

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval.history.extract import LONGEST, Sentence, compose, rank, sentences
from retrieval.words import tokens


def texts(content: str) -> list[str]:
    return [each.text for each in sentences(1, "user", content)]


def said(*contents: str) -> list[Sentence]:
    return [each for n, content in enumerate(contents, 1) for each in sentences(n, "user", content)]


def test_a_message_is_cut_into_its_sentences() -> None:
    content = 'We met in Basel in May. "Was it really 3.5 degrees?" she asked me.\nYes, it was that cold!'
    assert texts(content) == [
        "We met in Basel in May.",
        '"Was it really 3.5 degrees?" she asked me.',
        "Yes, it was that cold!",
    ]


def test_a_sentence_ends_with_the_sign_of_its_script() -> None:
    pieces = [
        "هل تحب القهوة مع الحليب؟",
        "میں صبح چائے پیتا ہوں\u06d4",
        "मुझे हर सुबह चाय पसंद है।",
        "我们下周三在火车站见面。",
        "ខ្ញុំចូលចិត្តកាហ្វេនៅពេលព្រឹក។",
    ]
    assert texts(" ".join(pieces)) == pieces


def test_short_sentences_stand_back_behind_longer_ones() -> None:
    assert texts("Oh. Really? The bees have left the hive again. Wow.") == ["The bees have left the hive again."]


def test_a_short_message_is_a_sentence_all_the_same() -> None:
    assert texts("Red ones.") == ["Red ones."]


def test_what_has_no_word_has_no_sentence() -> None:
    assert texts(" \n?! -- \U0001f600 ") == []


def test_code_is_no_prose() -> None:
    content = "This is how it is done:\n```python\nprint('a very long line of code indeed')\n```\nIt prints one line."
    assert texts(content) == ["This is how it is done:", "It prints one line."]


def test_a_long_sentence_is_cut_after_a_whole_word() -> None:
    (only,) = texts("measure " * 200)
    assert len(only) <= LONGEST
    assert only.endswith("measure")


@settings(deadline=None)
@given(st.text(max_size=400))
def test_places_lead_back_to_the_words(content: str) -> None:
    for each in sentences(1, "user", content):
        assert 0 <= each.start < each.end <= len(content)
        assert " ".join(content[each.start : each.end].split()) == each.text


def test_what_names_and_numbers_things_comes_before_chatter() -> None:
    candidates = said(
        "That is so great to hear from you, thanks!",
        "The flight to Lisbon leaves on 4 November at 7:40 from Basel.",
        "Wow, that sounds really nice, doesn't it?",
    )
    assert rank(candidates, 1)[0].sequence == 2


def test_the_second_sentence_says_something_else() -> None:
    candidates = said(
        "The hive in Basel needs a new queen bee before May.",
        "A new queen bee is needed for the hive in Basel before May.",
        "Tom wants to learn the cello with a teacher from Bern.",
    )
    assert {each.sequence for each in rank(candidates, 2)} & {3}


def test_a_vector_near_to_what_was_taken_stands_back() -> None:
    candidates = said("Alpha beta gamma delta one.", "Epsilon zeta eta theta two.", "Iota kappa lambda omega three.")
    first = rank(candidates, 1)[0].sequence
    others = [n for n in (1, 2, 3) if n != first]
    near = np.array([1, 0], np.float32)
    vectors = {first: near, others[0]: near, others[1]: np.array([0, 1], np.float32)}
    assert [each.sequence for each in rank(candidates, 3, vectors)] == [first, others[1], others[0]]


def naive(candidates: list[Sentence], most: int) -> list[Sentence]:
    """The same greedy choice without the heap."""
    ranked: list[Sentence] = []
    for step in range(min(most, len(candidates))):
        ranked = rank(candidates, step + 1)
    return ranked


@settings(deadline=None)
@given(st.lists(st.text(alphabet="abcdefgh ", min_size=1, max_size=40), max_size=12))
def test_a_longer_ranking_begins_with_the_shorter_one(contents: list[str]) -> None:
    candidates = said(*contents)
    assert naive(candidates, 20) == rank(candidates, 20)
    assert sorted(rank(candidates, 99), key=candidates.index) == candidates


@settings(deadline=None)
@given(st.lists(st.text(max_size=80), max_size=10), st.integers(0, 120))
def test_an_extract_fits_and_is_in_the_order_of_saying(contents: list[str], room: int) -> None:
    ranked = rank(said(*contents), 50)
    text = compose(ranked, room, tokens.count)
    assert tokens.count(text) <= room
    lines = [f"user: {each.text}" for each in sorted(ranked, key=lambda each: (each.sequence, each.start))]
    chosen = iter(lines)
    assert all(line in chosen for line in text.splitlines() if text)


def test_a_thousand_sentences_are_ranked_at_once() -> None:
    candidates = said(
        *(f"Sentence {n} of topic {n % 40} tells of place {n % 97} and day {n % 31}." for n in range(1000))
    )
    began = time.process_time()
    assert len(rank(candidates, 64)) == 64
    assert time.process_time() - began < 0.5


def test_a_message_of_blanks_is_gone_through_once() -> None:
    began = time.process_time()
    [found] = texts("The kiln is very hot" + "\t " * 50_000 + "today")
    assert found.startswith("The kiln is very hot")
    assert time.process_time() - began < 2


def test_a_message_without_blanks_is_cut_into_its_sentences() -> None:
    assert texts("来週は京都に出張します。はい。宿は清水寺の近くに取りました。") == [
        "来週は京都に出張します。",
        "宿は清水寺の近くに取りました。",
    ]


def test_the_second_sentence_says_something_else_without_blanks_too() -> None:
    candidates = said("金庫の番号は4711で帳簿の裏。", "金庫の番号は4711で帳簿の裏だよ。", "駅前の歯医者は水曜が休み。")
    assert {each.sequence for each in rank(candidates, 2)} > {3}
