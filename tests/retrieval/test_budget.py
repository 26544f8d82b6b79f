from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from retrieval_builders import ranked

from retrieval.shown.budget import LONG_TEXT_TOKENS, fit
from retrieval.words.tokens import count

LONG = "word " * (LONG_TEXT_TOKENS + 50)


def texts(fitted):
    return [text for _, text in fitted.items]


def test_everything_fits_into_a_large_budget():
    assert texts(fit([ranked(1, "hello world"), ranked(2, "good morning")], 100)) == [
        "hello world",
        "good morning",
    ]


def test_nothing_is_truncated_in_an_exact_budget():
    assert not fit([ranked(1, "hello world")], 2).truncated


def test_the_last_item_is_cut_to_what_remains():
    assert texts(fit([ranked(1, "hello world"), ranked(2, "hello world")], 3)) == ["hello world", "hello"]


def test_accumulation_stops_at_the_first_item_that_does_not_fit():
    hits = [ranked(1, "hello world again"), ranked(2, "a")]
    assert texts(fit(hits, 2)) == ["hello world"]


def test_a_cut_item_counts_as_truncation():
    assert fit([ranked(1, "hello world again")], 2).truncated


def test_a_budget_of_zero_holds_nothing_and_says_so():
    fitted = fit([ranked(1, "hello")], 0)
    assert (fitted.items, fitted.token_count, fitted.truncated) == ((), 0, True)


def test_nothing_ranked_is_not_truncated():
    assert not fit([], 0).truncated


def test_a_character_that_does_not_fit_leaves_no_empty_item():
    assert fit([ranked(1, "\N{PARTY POPPER}")], 1).items == ()


def test_of_a_long_text_that_does_not_fit_a_passage_is_shown_and_others_have_room():
    found = f"{LONG * 3}The hint is marzipan. {LONG * 3}"
    fitted = fit([ranked(1, found), ranked(2, "hello world")], 600, "marzipan")
    part, other = texts(fitted)
    assert ("The hint is marzipan." in part, count(part) <= 300, other) == (True, True, "hello world")
    assert (fitted.truncated, fitted.token_count) == (True, count(part) + 2)


def test_a_long_text_that_fits_is_shown_whole():
    assert texts(fit([ranked(1, LONG)], 1000, "word")) == [LONG]


def test_a_summary_stands_in_for_a_long_text():
    assert texts(fit([ranked(1, LONG, summary="in short")], 1000)) == ["in short"]


def test_what_a_summary_says_is_shown_twice_only_where_all_fits():
    hits = [ranked(1, LONG, summary="in short"), ranked(2, "in short"), ranked(3, "hello world")]
    assert texts(fit(hits, 6)) == ["in short", "in short", "hello world"]
    fitted = fit(hits, 5)
    assert (texts(fitted), fitted.token_count, fitted.truncated) == (["in short", "hello world"], 4, True)
    assert [hit.rank for hit, _ in fitted.items] == [1, 2]


def test_a_short_text_is_preferred_to_its_summary():
    assert texts(fit([ranked(1, "hello world", summary="hi")], 1000)) == ["hello world"]


def test_a_long_text_without_a_summary_is_shown():
    assert texts(fit([ranked(1, LONG)], 1000)) == [LONG]


hits = st.lists(st.text(max_size=30), max_size=6).map(
    lambda found: [ranked(number, text) for number, text in enumerate(found, start=1)]
)


@given(hits, st.integers(-1, 60))
def test_the_budget_is_never_exceeded(found, budget):
    assert fit(found, budget).token_count <= max(0, budget)


@given(hits, st.integers(0, 60))
def test_the_token_count_is_that_of_the_texts(found, budget):
    fitted = fit(found, budget)
    assert fitted.token_count == sum(count(text) for text in texts(fitted))


@given(hits, st.integers(0, 60))
def test_whatever_is_shown_keeps_the_order_of_the_ranking(found, budget):
    shown = [hit for hit, _ in fit(found, budget).items]
    assert shown == found[: len(shown)]
