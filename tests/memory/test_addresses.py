"""The form in which addresses are compared."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.addresses import addresses, fold_case, pages
from memory.text import folded

DIARY = "ada.example.org/diary"


@pytest.mark.parametrize(
    "typed",
    [
        "https://ada.example.org/diary",
        "http://ada.example.org/diary",
        "HTTPS://WWW.Ada.Example.org/diary/",
        "www.ada.example.org/diary",
        "`https://ada.example.org/diary`",
        "**https://ada.example.org/diary**",
        "\u201chttps://ada.example.org/diary\u201d",
        "'https://ada.example.org/diary'.",
        "<https://ada.example.org/diary>",
        "[diary](https://ada.example.org/diary)",
        "https://ada.example.org/diary\u3002",
        "https://ada.example.org/diary\u3002\u79d8\u5bc6",
        "https://ada.example.org/diary\u2026",
        "https://ada.example.org/diary?!",
        "https\uff1a//ada.example.org/diary",
        "https://ada.example.org/diary\u200b",
        "https://ada.example.org/diary?utm_source=chat&UTM_medium=x",
    ],
)
def test_an_address_is_the_same_however_it_is_typed(typed):
    assert (addresses(typed), pages(typed)) == ({DIARY}, {DIARY})


@pytest.mark.parametrize(
    ("typed", "form"),
    [
        ("https://Youtu.be/AbC", "youtu.be/AbC"),
        ("https://example.org/a_(b).", "example.org/a_(b)"),
        ("https://example.org/a?Q=1&utm_source=x&r=/", "example.org/a?Q=1&r="),
        ("https://example.org?q=1", "example.org?q=1"),
        ("https://example.org/", "example.org"),
    ],
)
def test_path_and_query_stay_as_they_are(typed, form):
    assert addresses(typed) == {form}


@pytest.mark.parametrize("between", [",", ";", "|", "/", "\u3001"])
def test_one_address_ends_where_the_next_begins(between):
    assert addresses(f"https://example.org/a{between}https://example.org/b") == {"example.org/a", "example.org/b"}


def test_a_place_on_a_page_is_an_address_and_no_page():
    typed = "https://example.org/a?utm_source=x#Top"
    assert (addresses(typed), pages(typed)) == ({"example.org/a#Top"}, {"example.org/a"})


def test_what_only_begins_like_an_address_is_none():
    assert addresses("www. and https:// and www....") == frozenset()


def test_only_paths_keep_their_case():
    typed = "See `HTTPS://Example.org/Ab`, STRASSE and WWW.Example.org/C Straße"
    assert fold_case(typed) == "see `https://example.org/Ab`, strasse and www.example.org/C strasse"


@given(st.text() | st.text(alphabet="htps:/w.AB#?&=`*_ \u3002\u00df", max_size=40))
def test_folding_twice_changes_nothing(text):
    assert folded(folded(text)) == folded(text)


def test_hostile_texts_take_no_time():
    started = time.process_time()
    for hostile in ("*" * 50_000, "www.(" * 10_000, "`https://" * 10_000, "https://a/" + "?" * 50_000):
        addresses(hostile)
    assert time.process_time() - started < 5
