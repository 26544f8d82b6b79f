"""What the index makes of a text: one word however its letters were put together, and in time whatever it has."""

from __future__ import annotations

import re
import time
import unicodedata
from itertools import chain, groupby, pairwise

import pytest
from sqlalchemy import text

from memory.texts.caseless import bare, caseless, without_case
from memory.texts.fingerprints import folded, normalise
from memory.texts.patterns import pattern
from memory.texts.scripts import MOST_MARKS, as_indexed, normal, places_indexed

SAID = {
    "cafe\u0301 Mu\u0308ller": "café Müller",
    "ｶﾞﾚｰｼﾞ と ﾊﾟﾝ": "ガレージ と パン",
    "\uff21\uff22\uff0d\uff11\uff12\u3000「\uff01」": "AB-12 「!」",
    unicodedata.normalize("NFD", "한국어 Nguyễn й"): "한국어 Nguyễn й",
    "Basel\u00b9, x\u00b2, \u00bd": "Basel\u00b9, x\u00b2, \u00bd",
    "\ufb01ne, H\u2082O, \u2163, \u210d\U0001d556\U0001d55d\U0001d55d\U0001d560": "fine, H2O, IV, Hello",
    "Stra\u00ad\u00dfe, tur\u200bquoise, \u202ebackwards\u202c": "Stra\u00dfe, turquoise, backwards",
    "٤٥٢١ ۹۰۳۴ १२३४ ৫৬৭৮ ๔๕๖๗ ១២ \u0661\u0662\u066b\u0665": "4521 9034 1234 5678 4567 12 12.5",
    "مُحَمَّد أحمد العـــربية مصطفى": "محمد احمد العربيه مصطفي",
    "\ufee3\ufee4\ufeaa \u06a9\u0644\u06cc\u062f \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645": (
        "\u0645\u0645\u062f \u0643\u0644\u064a\u062f \u0645\u064a\u062e\u0648\u0627\u0647\u0645"
    ),
    "שָׁלוֹם \ufb4f": "שלום אל",
    "Ёлка \u0415\u0308ж, Οδυσσέας ΐ, İstanbul, i\u0307zmir, ज़रूरी": "Елка Еж, Οδυσσεασ \u03b9, Istanbul, izmir, जरूरी",
    "\u09c7\u09be \u1025\u102e": "\u09cb \u1026",
    "\u0301 stands alone": "\u0301 stands alone",
    "plain": "plain",
}
# What joins pictures stays, and what joins letters goes.
JOINED = {"\U0001f408\u200d\u2b1b black, \u0915\u094d\u200d\u0937": "\U0001f408\u200d\u2b1b black, \u0915\u094d\u0937"}


@pytest.mark.parametrize(("said", "form"), [*SAID.items(), *JOINED.items()])
def test_the_index_and_the_server_write_words_in_the_same_form(owner, said, form):
    with owner.connect() as connection:
        assert connection.scalar(text("SELECT one_form(:said)"), {"said": said}) == as_indexed(said) == form


def test_every_character_has_the_same_form_in_both(owner):
    all_of_them = "".join(
        chr(code) for code in range(1, 0x30000) if not 0xD800 <= code < 0xE000 and chr(code).isprintable()
    )
    lines = [all_of_them[place : place + 64] for place in range(0, len(all_of_them), 64)]
    for said in (lines, ["\n".join(lines)]):
        with owner.connect() as connection:
            forms = connection.scalars(
                text("SELECT one_form(each) FROM unnest(CAST(:said AS text[])) each"), {"said": said}
            )
            assert forms.all() == [as_indexed(each) for each in said]


@pytest.mark.parametrize(("said", "form"), SAID.items())
def test_places_lead_back_to_what_was_written(said, form):
    plain, places = places_indexed(said)
    assert plain == form
    assert (places[0], places[-1], len(places)) == (0, len(said), len(form) + 1)
    assert [as_indexed(said[begin:end]) for begin, end in pairwise(dict.fromkeys(places))] == [
        "".join(sign for sign, _ in letter)
        for _, letter in groupby(zip(form, places, strict=False), lambda each: each[1])
    ]


# A megabyte of marks of two kinds would take each of these a quarter of an hour. The last is none, and made of two.
PILED = "a" + 30_000 * "\u0301" + 30_000 * "\u0316" + "a" + 10_000 * "\u0f73"
INDEXED = "\u00e1" + (MOST_MARKS - 1) * "\u0301" + "a" + MOST_MARKS * "\u0f71"
READ = "\u00e1" + MOST_MARKS * "\u0316" + "a" + MOST_MARKS * "\u0f71"


@pytest.mark.parametrize("made", [as_indexed, normalise, folded, caseless, bare])
def test_marks_without_number_are_ordered_in_no_time(made):
    began = time.process_time()
    assert made(PILED).rstrip("\u0f72") == (INDEXED if made is as_indexed else READ)
    assert time.process_time() - began < 2


# As a program or a model may write again what somebody gave it.
@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
@pytest.mark.parametrize("made", [normalise, folded, caseless, bare])
def test_marks_without_number_are_the_same_in_each_normal_form(made, form):
    said = "e" + 20 * "\u0301\u0316\u0344\u20e3\uff9e" + "\u00e1" + MOST_MARKS * "\u0301" + "\u1ea5" + 20 * "\u0f73"
    assert made(unicodedata.normalize(form, said)) == made(said)


def test_the_database_orders_no_marks_without_number_either(owner):
    with owner.connect() as connection:
        began = time.monotonic()
        assert connection.scalar(text("SELECT one_form(:said)"), {"said": PILED}) == as_indexed(PILED)
        assert time.monotonic() - began < 5


@pytest.mark.parametrize(("form", "many"), {"a": 15, "i": 20, "5": 10, "\u03c3": 10, "\u0647": 15}.items())
def test_a_pattern_of_the_database_has_every_sign_that_is_written_for_a_letter(form, many):
    points = chain(range(0x80, 0x700), range(0x1F00, 0x2200), range(0xF900, 0xFFF0), range(0x1D400, 0x1D800))
    signs = [sign for sign in map(chr, points) if without_case(sign) == form]
    assert len(signs) >= many
    fitting = re.compile(pattern([form]) or "")
    assert all(map(fitting.fullmatch, signs))


def test_one_accent_costs_a_text_little_more_than_to_look_at_it(owner):
    said = 2000 * "Ada drinks her tea by the sea. " + "caf\u00e9"
    steps = [
        f"EXPLAIN (ANALYZE, FORMAT JSON) SELECT {step} FROM many" for step in ("normalize(said)", "one_form(said)")
    ]
    with owner.connect() as connection:
        connection.execute(
            text("CREATE TEMPORARY TABLE many AS SELECT unnest(CAST(:said AS text[])) said"), {"said": 3 * [said]}
        )
        taken = [[connection.scalar(text(step))[0]["Execution Time"] for step in steps] for _ in range(3)]
    looked, formed = map(min, zip(*taken, strict=True))
    assert formed < 10 * looked


def test_a_letter_keeps_all_marks_that_anybody_reads():
    said = "a" + MOST_MARKS // 2 * "\u0301\u0316"
    assert normal("NFC", said) == unicodedata.normalize("NFC", said)


def test_marks_are_not_looked_for_at_each_letter_of_a_text_that_has_none():
    said = "Пчёлы живут в улье, и мёд собирают летом. " * 50_000
    began = time.process_time()
    assert normal("NFC", said) == said
    assert time.process_time() - began < 0.4, "where each letter is looked at it takes a second"


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
