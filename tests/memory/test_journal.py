"""Taking what a forgotten memory said out of the record of tool calls."""

from __future__ import annotations

import json
import random
import re
import unicodedata
from html import escape
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from memory_taken import within
from sqlalchemy import text as text_of

from memory.clock import utc_now
from memory.forgetting.purge import redact_all
from memory.ids import new_id
from memory.models import ToolCall
from memory.record.journal import record_tool_call, redact
from memory.texts.caseless import caseless
from memory.texts.needles import MOST_ASKED, SHORTEST_WITHIN, Needles

SECRET = 'Ada said "never\n\tagain" in C:\\Zürich'
BLANK = {"redacted": True}
# With so many others beside it, every call is read instead of asking the database for each text.
CROWD = [f"The user prefers the seat with number{n:03} of the row" for n in range(MOST_ASKED + 5)]
crowds = pytest.mark.parametrize("crowd", [[], CROWD], ids=["few", "many"])


def say(book, **fields):
    """Add a call and return its id."""
    call = {"correlation_id": "c", "tool": "notes", "created_at": utc_now(), "duration_ms": 1.0, "success": True}
    with book.session() as session:
        return record_tool_call(session, book.user_id, **{**call, "arguments": {}, **fields})


def load(book, call_id):
    with book.session() as session:
        call = session.get_one(ToolCall, (book.user_id, call_id))
        session.expunge(call)
        return call


def blanked(book, texts, ids=()):
    with book.session() as session:
        return redact(session, list(ids), Needles(texts))


SAID = {
    "an argument": {"arguments": {"content": SECRET}},
    "a nested argument": {"arguments": {"a": [{"b": [SECRET]}]}},
    "a name of an argument": {"arguments": {SECRET: 1}},
    "within other words": {"arguments": {"content": f"# {SECRET}!"}},
    "in another case": {"arguments": {"content": SECRET.upper()}},
    "with other white space": {"arguments": {"content": f"- {' '.join(SECRET.split())}"}},
    "with spaces that do not break": {"arguments": {"content": SECRET.replace(" ", "\u00a0")}},
    "with two spaces for one": {"result": {"content": [SECRET.replace(" ", "  ")]}},
    "in decomposed signs": {"arguments": {"content": unicodedata.normalize("NFD", SECRET)}},
    "in other quotation marks": {"arguments": {"content": SECRET.replace('"', "\u201c")}},
    "without any": {"arguments": {"content": SECRET.replace('"', "")}},
    "as a quotation in Markdown": {"result": {"content": "> **Ada** said, never\n> again;\n> _in C: Zürich_"}},
    "in HTML": {"arguments": {"content": f"<p>{escape(SECRET)}</p>"}},
    "in an address": {"arguments": {"url": f"notes?q={SECRET.replace(' ', '%20').replace(chr(34), '%22')}"}},
    "in an address with its letters": {"result": {"url": f"notes?q={quote(SECRET)}"}},
    "a name that is an address": {"arguments": {quote_plus(SECRET).lower(): 1}},
    "in an address within an address": {"arguments": {"url": f"login?next={quote(quote(SECRET))}"}},
    "a path as an address": {"affected_paths": [f"file:///Notes/{quote(SECRET)}.md"]},
    "a path in the place of words": {"affected_paths": ["Notes/ada-said_never-again-in-c-zürich.md"]},
    "in wide letters": {"arguments": {"content": SECRET.replace("again", "\uff41\uff47\uff41\uff49\uff4e")}},
    "a name in decomposed signs": {"arguments": {unicodedata.normalize("NFD", SECRET): 1}},
    "a path in decomposed signs": {"affected_paths": [unicodedata.normalize("NFD", f"Notes/{SECRET}.md")]},
    "in JSON as text": {"arguments": {"body": json.dumps({"content": SECRET})}},
    "in JSON as text of JSON": {"result": [json.dumps([json.dumps({SECRET: 1}), None])]},
    "a result": {"result": {"content": SECRET}},
    "a bare result": {"result": SECRET},
    "an error": {"error": f"cannot write {SECRET}", "success": False},
    "a path": {"affected_paths": [f"Notes/{SECRET}.md"]},
    "a result beside what looks blank": {"arguments": BLANK, "result": {"content": SECRET}},
    "an error beside what looks blank": {"arguments": BLANK, "result": BLANK, "error": SECRET},
    "a path beside what looks blank": {"arguments": BLANK, "result": BLANK, "affected_paths": [SECRET]},
}


@crowds
@pytest.mark.parametrize("fields", SAID.values(), ids=SAID)
def test_what_says_it_is_blanked(book, crowd, fields):
    call_id = say(book, **fields)
    assert blanked(book, [SECRET, *crowd]) == 1
    call = load(book, call_id)
    assert (call.arguments, call.result, call.error, call.affected_paths) == (BLANK, BLANK, None, [])


@crowds
@pytest.mark.parametrize("text", ["İlker is in İSTANBUL", "κωδικός του ΝΙΚΟΣ", "Die Straße am See"])
@pytest.mark.parametrize("form", [str, str.lower, str.upper])
def test_a_text_is_found_in_the_case_of_any_alphabet(book, crowd, text, form):
    say(book, arguments={"content": f"({form(text)})"})
    assert blanked(book, [text, *crowd]) == 1


@crowds
def test_a_text_with_an_address_is_found_behind_another(book, crowd):
    text = "See https://example.org/Map for the Cellar"
    say(book, arguments={"content": f"https://example.org/{text}"})
    assert blanked(book, [text, *crowd]) == 1


@crowds
def test_paths_that_do_not_say_it_stay(book, crowd):
    call_id = say(book, affected_paths=["b.md", f"{SECRET}/a.md", "a.md", "b.md"])
    blanked(book, [SECRET, *crowd])
    assert load(book, call_id).affected_paths == ["b.md", "a.md", "b.md"]


@crowds
def test_what_names_the_memory_is_blanked(book, crowd):
    memory_id = new_id()
    call_id = say(book, arguments={"query": "x"}, affected_ids=[new_id(), memory_id], affected_paths=["a.md"])
    assert blanked(book, [SECRET, *crowd], [memory_id, *(new_id() for _ in crowd)]) == 1
    call = load(book, call_id)
    assert (call.arguments, call.affected_ids[1], call.affected_paths) == (BLANK, memory_id, ["a.md"])


@crowds
def test_the_hash_of_a_question_goes_where_the_question_said_it(book, crowd):
    memory_id = new_id()
    asked = say(book, arguments={"query": SECRET}, query_hash="0123456789abcdef")
    found = say(book, arguments={"query": "x"}, query_hash="0123456789abcdef", affected_ids=[memory_id])
    blanked(book, [SECRET, *crowd], [memory_id])
    assert (load(book, asked).query_hash, load(book, found).query_hash) == (None, "0123456789abcdef")


@crowds
@pytest.mark.parametrize(
    ("fields", "count"),
    [
        ({"arguments": {"content": "Kiwi"}}, 1),
        ({"arguments": {"content": "KIWI"}}, 1),
        ({"result": ["kiwi"]}, 1),
        ({"result": ["\n\u00a0\uff2biwi "]}, 1),
        ({"error": "kiwi"}, 1),
        ({"arguments": {"content": "Kiwis are birds"}}, 0),
        ({"arguments": {"kiwi": "bird"}}, 0),
        ({"affected_paths": ["kiwi/a.md"]}, 0),
    ],
)
def test_a_short_text_counts_only_as_the_whole_of_what_was_said(book, crowd, fields, count):
    say(book, **fields)
    assert blanked(book, ["Kiwi", *crowd]) == count


@crowds
@pytest.mark.parametrize("text", ["我的密码是小猫", "暗証は猫", "비밀번호는 코코"])
def test_a_text_of_few_signs_that_are_words_is_found_within_others(book, crowd, text):
    say(book, arguments={"content": f"({text})"})
    say(book, result=[f"a{text}b"])
    other = say(book, arguments={"content": text[1:]})
    assert blanked(book, [text, *crowd]) == 2
    assert load(book, other).arguments == {"content": text[1:]}


@crowds
def test_a_word_of_such_signs_counts_only_as_the_whole(book, crowd):
    say(book, arguments={"content": "小猫在沙发上"})
    assert blanked(book, ["小猫", *crowd]) == 0


@crowds
@pytest.mark.parametrize("text", ["<3 <3 <3 <3", "\U0001f600" * 8, "a -> b -> c!"])
def test_of_a_text_of_signs_the_signs_count(book, crowd, text):
    other = say(book, arguments={"content": "(3 3 3 3 a b c)"})
    told = say(book, arguments={"content": f"She wrote: {text}."})
    assert blanked(book, [text, *crowd]) == 1
    assert (load(book, told).arguments, load(book, other).arguments == BLANK) == (BLANK, False)


@crowds
def test_a_text_of_other_words_is_left_alone(book, crowd):
    for said in ("Ada said never again, not in C:\\Zürich", 'Ada sai"d never again in C:\\Zürich'):
        say(book, arguments={"content": said})
    assert blanked(book, [SECRET, *crowd]) == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("4711.", "4711"),
        ("4711", "4711!"),
        ("Ice tea.", "ice tea"),
        ("Z\u00fcrich", "z%C3%BCrich"),
        ("\u00fc 1", "%c3%bc%201"),
    ],
)
def test_a_short_text_is_found_whatever_its_end(text, said):
    needles = Needles([text])
    for value in (text, said, json.dumps({"content": said})):
        assert needles.in_value({"arguments": value})
        assert needles.may_be_in_json(json.dumps({"arguments": value}, ensure_ascii=False))
    assert not needles.in_value({"arguments": f"{said} please"})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("رقمي السري ٤٥٢١ هنا", "قال: رَقمي السري 4521 هنا!"),
        ("می\u200cخو\u0627\u0647م رمزم این باشد", "(مي خواهم) میخواهم رمزم اين باشد"),
        ("The hint is tur\u00adquoise", "so the hint is turquoise?"),
        ("\u039f ΚΩΔΙΚΟΣ είναι γάτα", "\u03bd\u03b1\u03b9, \u03bf κωδικός είναι γάτα"),
        ("İzmir'de gizli evim var", "dedi ki: izmir'de gizli evim var"),
        ("मेरा पासवर्ड बिल्ली है", "(मेरा पासवर्ड बिल्ली है)"),
    ],
)
@crowds
def test_a_text_is_found_in_letters_that_people_write_for_its_own(book, crowd, text, said):
    told = say(book, arguments={"content": said})
    assert blanked(book, [text, *crowd]) == 1
    assert load(book, told).arguments == BLANK


def test_another_vowel_is_another_text(book):
    other = say(book, arguments={"content": "मुझे दान पसंद है भाई"})
    assert blanked(book, ["मुझे दिन पसंद है भाई"]) == 0
    assert load(book, other).arguments != BLANK


@crowds
def test_a_text_of_many_is_found_whichever_it_is(book, crowd):
    texts = crowd or CROWD[:1]
    ids = [say(book, arguments={"content": f"({text})"}) for text in texts]
    untouched = say(book, arguments={"content": "The user prefers the seat with number x"})
    assert blanked(book, texts) == len(ids)
    assert load(book, untouched).arguments != BLANK


@crowds
def test_other_calls_are_left_alone(book, crowd):
    call_id = say(book, arguments={"content": "Something else"}, affected_ids=[new_id()])
    assert blanked(book, [SECRET, *crowd], [new_id()]) == 0
    assert load(book, call_id).arguments == {"content": "Something else"}


@crowds
def test_calls_of_others_are_left_alone(book, bobs_book, crowd):
    memory_id = new_id()
    call_id = say(bobs_book, arguments={"content": SECRET}, affected_ids=[memory_id])
    assert blanked(book, [SECRET, *crowd], [memory_id]) == 0
    assert load(bobs_book, call_id).arguments == {"content": SECRET}


@crowds
def test_what_is_blank_is_not_blanked_again(book, crowd):
    memory_id = new_id()
    say(book, arguments={"content": SECRET}, affected_ids=[memory_id])
    assert [blanked(book, [SECRET, *crowd], [memory_id]) for _ in range(2)] == [1, 0]


def test_nothing_to_forget_blanks_nothing(book):
    say(book, arguments={"content": SECRET})
    assert blanked(book, []) == 0


letters = st.text("abcä ", max_size=30)
# By parts that are no blanks, which are folded: to throw away what is too short then may be too much for Hypothesis.
parts = st.text("abcä", min_size=SHORTEST_WITHIN // 2, max_size=12)
long_enough = st.builds("{}{}{}".format, parts, st.text("abcä ", max_size=12), parts)


@given(st.lists(long_enough, max_size=40), letters)
def test_many_texts_are_found_as_one_by_one(texts, text):
    assert Needles(texts).in_text(text) == any(caseless(needle) in caseless(text) for needle in texts)


@given(st.text(), st.text(), st.text(min_size=1), st.sampled_from([str, str.upper, str.swapcase]))
@example("\n", "\u0301", "Kiwi", str)
@example("%", "C3", "%BC 4711 f\u00fcr", str)
@example("", "", "%C3%BC 4711", quote)
@example('"', "\\", 'a \\"nest\\" of\n\twords', str.upper)
def test_no_text_in_a_value_is_missed_where_that_is_written_as_json(before, behind, text, form):
    value = {"a": [form(before) + form(text) + form(behind)], form(text): 1}
    for needles in (Needles([text]), Needles([text, *CROWD])):
        assert needles.may_be_in_json(json.dumps(value, ensure_ascii=False)) >= needles.in_value(value)


# As JSON that is a text of JSON itself, or as programs write it.
QUOTED = (
    lambda text: json.dumps({"a": text}),
    lambda text: re.sub(r"\\u[0-9a-f]{4}", lambda found: "\\u" + found[0][2:].upper(), json.dumps({"a": text})),
    lambda text: json.dumps([json.dumps({text: 1}), 1]),
    lambda text: repr({"a": f"{text}'\""}),
    quote,
    lambda text: quote(quote(text)).lower(),
    lambda text: json.dumps({"a": quote_plus(text)}),
    # Nested deeper than can be taken apart.
    lambda text: "[" * 900 + json.dumps(text) + "]" * 900,
)
WRITTEN = (
    str.upper,
    str.title,
    str.casefold,
    *(lambda text, form=form: unicodedata.normalize(form, text) for form in ("NFC", "NFD", "NFKC", "NFKD")),
    lambda text: "".join(chr(ord(sign) + 0xFEE0) if "!" <= sign <= "~" else sign for sign in text),
    lambda text: text.replace("k", "\u212a").replace("s", "\u017f").replace("fi", "\ufb01"),
)
SAID = (
    "first kiss of a Skipper",
    "Stra\u00dfe, GR\u00d6SSE",
    "\u0130stanbul \u0131\u015f\u0131k",
    "\u0393\u03b9\u03ce\u03c1\u03b3\u03bf\u03c2",
    "\u0439\u043e\u0433\u0430 \u0451\u043b\u043a\u0430",
    "\ud55c\uad6d\uc5b4",
    "\uffa1\uffc2",
    "\u30ab\u3099\u30e9\u30b9 \uff76\uff9e",
    "\u4e16\u754c \u2f00",
    "\u0915\u093c\u0932\u092e",
    "\u212b \u2460 \u00bd x\u00b2",
    "\U0001d4d0\U0001d4ed\U0001d4ea",
    "\u01f0anu\u0161 \u0149",
    "\U0001f600",
    'tab\t"quote" back\\slash',
)


@pytest.mark.parametrize("form", QUOTED)
def test_a_text_is_found_in_json_that_is_a_text(form):
    for text in SAID:
        value = {"arguments": form(text)}
        for needles in (Needles([text]), Needles([text, *CROWD])):
            if len(caseless(text)) >= SHORTEST_WITHIN:
                assert needles.in_value(value), text
                assert needles.may_be_in_json(json.dumps(value, ensure_ascii=False)), text


def test_the_database_is_asked_for_whatever_may_say_a_text(book):
    said = [(text, json.dumps([form(text)], ensure_ascii=False)) for text in SAID for form in (*WRITTEN, *QUOTED)]
    rows = [(text, written, Needles([text])) for text, written in said]
    asked = [(text, needles.pattern(), written) for text, written, needles in rows if needles.may_be_in_json(written)]
    assert {text for text, _, _ in asked} == set(SAID)
    without = [text for text, pattern, _ in asked if pattern is None]
    assert set(without) == {"\U0001f600"}
    assert len(without) >= len(WRITTEN)
    fits = text_of("SELECT w, w ~ p FROM unnest(CAST(:p AS text[]), CAST(:w AS text[])) AS t(p, w)")
    patterns, values = zip(*[(pattern, written) for _, pattern, written in asked if pattern], strict=True)
    with book.session() as session:
        found = session.execute(fits, {"p": list(patterns), "w": list(values)}).all()
    assert [written for written, fit in found if not fit] == []


@pytest.mark.parametrize("versions", [(SECRET,), [SECRET, *(f"{SECRET}, {n} in all" for n in range(2 * MOST_ASKED))]])
def test_only_calls_that_may_say_a_text_are_brought_over_and_read(book, monkeypatch, versions):
    read, look = [], Needles.may_be_in_json
    monkeypatch.setattr(Needles, "may_be_in_json", lambda *given: read.append(given[1]) or look(*given))
    for other in CROWD:
        say(book, arguments={"note": other})
    telling = say(book, arguments={"note": SECRET.upper()})
    assert blanked(book, versions) == 1
    assert load(book, telling).arguments == BLANK
    assert len(read) == 1


alike = st.sets(st.text("ab", min_size=SHORTEST_WITHIN, max_size=10), min_size=MOST_ASKED + 1, max_size=40)


@given(alike, st.text("ab", max_size=40))
def test_texts_that_are_alike_are_found_as_one_by_one(texts, text):
    assert Needles(texts).in_text(text) == any(needle in text for needle in texts)


@settings(max_examples=20)
@given(st.sets(st.text("ab", min_size=24, max_size=60), min_size=MOST_ASKED + 1, max_size=40), st.data())
def test_long_texts_that_are_alike_are_found_as_one_by_one(texts, data):
    needles, text = Needles(texts), data.draw(st.text("ab", max_size=40))
    assert needles.in_text(text) == any(needle in text for needle in texts)
    assert needles.in_text(text + data.draw(st.sampled_from(sorted(texts))) + text)


def test_of_many_texts_a_few_parts_are_counted():
    """Each has common words alone, as many notes of one space have; all parts of all took seconds, and the memory."""
    chance = random.Random(7)
    words = ["".join(chance.choices("abcdefghij", k=6)) for _ in range(400)]
    texts = [" ".join(chance.choices(words, k=20)) for _ in range(1000)]
    with within(40 * sum(map(len, texts))):
        needles = Needles(texts)
    assert all(map(needles.in_text, texts))


@given(alike, st.data())
def test_each_of_many_texts_is_found_between_other_words(texts, data):
    needle = data.draw(st.sampled_from(sorted(texts)))
    assert Needles(texts).in_text(data.draw(letters) + needle + data.draw(letters))


def test_what_many_texts_have_in_common_is_compared_once_for_all_records(book, monkeypatch):
    made, make = [], Needles.__init__
    monkeypatch.setattr(Needles, "__init__", lambda needles, texts: made.append(needles) or make(needles, texts))
    with book.session() as session:
        redact_all(session, book.user_id, [], [SECRET, *CROWD])
    assert len(made) == 1
