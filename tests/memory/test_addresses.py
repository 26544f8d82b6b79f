"""The form in which addresses are compared."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.texts.addresses import addresses, fold_case, pages, spelled
from memory.texts.fingerprints import folded

DIARY = "ada.example.org/diary"
NOTHING = frozenset().__contains__


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
        "https://ada.example.org:443/diary",
        "http://ada.example.org:80/diary",
        "HTTPS://ada.example.org:/diary",
        "www.ada.example.org:443/diary",
        "https://ada.example.org/%64i%61ry",
        "https://%61da.example.org/diary",
        "https://ada.example.org/./x/../diary",
        "https://ada.example.org/%2E/diary%2e",
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
        ("https://example.org/?q=1", "example.org?q=1"),
        ("https://example.org/~ada?q=%7Eb", "example.org/~ada?q=~b"),
        ("https://example.org/a%2fb%2541", "example.org/a%2Fb%2541"),
        ("https://example.org/stra\u00dfe", "example.org/stra%C3%9Fe"),
        ("https://example.org/stra%c3%9fe", "example.org/stra%C3%9Fe"),
        ("http://example.org:443/a", "example.org:443/a"),
        ("https://example.org:80/a", "example.org:80/a"),
        ("https://example.org:8443/a", "example.org:8443/a"),
        ("https://Ada@Example.org/a", "Ada@example.org/a"),
        ("https://example.org//a/..//../b", "example.org//b"),
    ],
)
def test_what_may_lead_elsewhere_stays_as_it_is(typed, form):
    assert addresses(typed) == {form}


@pytest.mark.parametrize("between", [",", ";", "|", "/", "\u3001"])
def test_one_address_ends_where_the_next_begins(between):
    assert addresses(f"https://example.org/a{between}https://example.org/b") == {"example.org/a", "example.org/b"}


def test_a_place_on_a_page_is_an_address_and_no_page():
    typed = "https://example.org/a?utm_source=x#Top"
    assert (addresses(typed), pages(typed)) == ({"example.org/a#Top"}, {"example.org/a"})


def test_what_only_begins_like_an_address_is_none():
    assert addresses("www. and https:// and www....") == frozenset()


@pytest.mark.parametrize(
    "typed",
    [
        "ada.example.org/diary",
        "Ada.Example.org/diary.",
        "(ada.example.org/diary)",
        "**ada.example.org/diary**",
        "ada.example.org:443/diary",
        "ada.example.org/diary#top",
        "ada\uff0eexample\uff0eorg/diary",
    ],
)
def test_an_address_without_scheme_is_spelled_with_it(typed):
    assert pages(spelled(f"It is at {typed}", NOTHING)) == {DIARY}


@pytest.mark.parametrize(
    "text",
    [
        "e.g./i.e. and/or a.m./p.m.",
        "setup.py/setup.cfg, src/main.rs/x and docs/README.md/top",
        "Node.js/Express and ASP.NET/C# 3.10/3.11",
        "Safari.app/Contents, self.id/2, end.Then/now",
        "path/to/example.org/file, ./example.org/x and C:\\example.org/x",
        "ada@example.org/x and ftp://example.org/x",
        "example.org, example.com and notes.org",
        "https://web.example.org/of/example.org/a?b=example.com/c",
    ],
)
def test_what_may_be_no_address_is_not_spelled_as_one(text):
    assert spelled(text, NOTHING) == text


def test_what_is_known_is_an_address_of_any_kind():
    said = "Notes.org, setup.py/x and main.rs"
    assert (
        spelled(said, {"notes.org", "setup.py/x"}.__contains__) == "https://Notes.org, https://setup.py/x and main.rs"
    )


def test_only_paths_keep_their_case():
    typed = "See `HTTPS://Example.org/Ab`, STRASSE and WWW.Example.org/C Straße"
    assert fold_case(typed) == "see `https://example.org/Ab`, strasse and www.example.org/C strasse"


@given(st.text() | st.text(alphabet="htps:/w.AB#?&=`*_ \u3002\u00df", max_size=40))
def test_folding_twice_changes_nothing(text):
    assert folded(folded(text)) == folded(text)


def test_hostile_texts_take_no_time():
    started = time.thread_time()
    for hostile in ("*" * 50_000, "www.(" * 10_000, "`https://" * 10_000, "https://a/" + "?" * 50_000):
        addresses(hostile)
    for hostile in ("a." * 30_000, "a-" * 30_000, "a.de/(" * 10_000, "a" * 60_000, "a.bc " * 10_000):
        spelled(hostile, NOTHING)
    assert time.thread_time() - started < 5
