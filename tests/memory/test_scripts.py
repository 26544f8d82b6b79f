"""What the index makes of a text: one word however its letters were put together, and in time whatever it has."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from sqlalchemy import text

from memory.texts.scripts import in_one_form, one_form

SAID = {
    "cafe\u0301 Mu\u0308ller": "café Müller",
    "ｶﾞﾚｰｼﾞ と ﾊﾟﾝ": "ガレージ と パン",
    "\uff21\uff22\uff0d\uff11\uff12\u3000「\uff01」": "AB-12 「!」",
    unicodedata.normalize("NFD", "한국어 Nguyễn й"): "한국어 Nguyễn й",
    "Basel\u00b9, x\u00b2, \u00bd, \ufb01ne": "Basel\u00b9, x\u00b2, \u00bd, \ufb01ne",
    "\u09c7\u09be \u1025\u102e": "\u09cb \u1026",
    "\u0301 stands alone": "\u0301 stands alone",
    "plain": "plain",
}


@pytest.mark.parametrize(("said", "form"), SAID.items())
def test_the_index_and_the_server_write_words_in_the_same_form(owner, said, form):
    with owner.connect() as connection:
        assert connection.scalar(text("SELECT one_form(:said)"), {"said": said}) == one_form(said) == form


def test_every_character_has_the_same_form_in_both(owner):
    all_of_them = "".join(
        chr(code) for code in range(1, 0x30000) if not 0xD800 <= code < 0xE000 and chr(code).isprintable()
    )
    lines = "\n".join(all_of_them[place : place + 64] for place in range(0, len(all_of_them), 64))
    with owner.connect() as connection:
        assert connection.scalar(text("SELECT one_form(:said)"), {"said": lines}) == one_form(lines)


@pytest.mark.parametrize(("said", "form"), SAID.items())
def test_places_lead_back_to_what_was_written(said, form):
    plain, places = in_one_form(said)
    assert plain == form
    assert (places[0], places[-1], len(places)) == (0, len(said), len(form) + 1)
    assert [one_form(said[begin:end]) for begin, end in pairwise(places)] == list(form)


# Each alone takes the database's own parser from ten seconds to a minute.
REREAD = {"a_": 24_000, "~/": 24_000, "/.": 24_000, "<!-- a ": 64_000}


@pytest.mark.parametrize(("sign", "length"), REREAD.items())
def test_no_text_is_read_again_and_again(owner, sign, length):
    said = f"goat --> {sign * (length // len(sign))} sheep"
    with owner.connect() as connection:
        connection.execute(text("SET LOCAL statement_timeout = '5s'"))
        found = connection.scalar(text("SELECT to_tsvector('english', in_words(:said))::text"), {"said": said})
    assert "'goat'" in found
    assert "'sheep'" in found


@pytest.mark.parametrize(
    "said",
    [
        "",
        "see src/snake_case.py, ~/notes/to_do.txt and me_too@example.org",
        "<!-- a comment --> before <!-- another -->" + " and after" * 100,
        f"https://example.org/{'path/' * 40}snake_case",
        "plain words " * 1000,
    ],
)
def test_what_is_read_once_is_read_as_it_is(owner, said):
    with owner.connect() as connection:
        assert connection.scalar(text("SELECT parsable(:said)"), {"said": said}) == said
        assert connection.scalar(text("SELECT in_words(:said)"), {"said": said}) == said
