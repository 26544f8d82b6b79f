"""Finding memories by words that are still being typed."""

from __future__ import annotations

import pytest
from memory_book import Book
from sqlalchemy import text as sql

from memory.clock import utc_now
from memory.forgetting.forget import UNDO_WINDOW, forget
from memory.reading import typed as typed_module
from memory.reading.browse import MOST_COUNTED, Filters, list_counted, list_ids
from memory.writing.bulk import set_status_many
from memory.writing.edit import update

TEXTS = (
    "Ada is allergic to hazelnuts and carries an adrenaline pen",
    "The bakery on Mill-Lane closes at 3.5 on Mondays",
    "Running at the university makes Ada happy",
    "The rubber boots stand in the hall; write to ada@example.org about Zürich",
)
ALLERGY, BAKERY, RUNNING, BOOTS = TEXTS


@pytest.fixture
def filled(book):
    for text in TEXTS:
        book.write(text)
    return book


@pytest.fixture(scope="module")
def shelf(runtime, new_person):
    """The same texts, for tests that only read."""
    book = Book(runtime, new_person("shelf"))
    for text in TEXTS:
        book.write(text)
    return book


def found(book, words, **filters):
    with book.session() as session:
        page, total, _ = list_counted(
            session, book.user_id, Filters(words=words, **filters), limit=50, cursor=None, now=utc_now()
        )
        assert total == len(page.entries)
        return {entry.memory.text for entry in page.entries}


def beginnings(word, first=1):
    return [word[:length] for length in range(first, len(word) + 1)]


@pytest.mark.parametrize("words", beginnings("hazelnuts"))
def test_every_beginning_of_a_word_finds_it(shelf, words):
    assert ALLERGY in found(shelf, words)


@pytest.mark.parametrize(
    ("word", "text"), [("running", RUNNING), ("university", RUNNING), ("closes", BAKERY), ("allergic", ALLERGY)]
)
def test_a_word_is_found_at_each_letter_though_its_stem_is_shorter(shelf, word, text):
    assert [begun for begun in beginnings(word, 3) if text not in found(shelf, begun)] == []


@pytest.mark.parametrize(
    ("words", "texts"),
    [
        ("hazel", {ALLERGY}),
        ("HAZEL allerg", {ALLERGY}),
        ("hazel baker", set()),
        ("runs", {RUNNING}),
        ("zür", {BOOTS}),
        ("3.5", {BAKERY}),
        ("mill-lane", {BAKERY}),
        ("lane", {BAKERY}),
        ("ada@exam", {BOOTS}),
        ("the bakery", {BAKERY}),
        ("bakery on the", {BAKERY}),
        ("(hazel", {ALLERGY}),
        ("azel", set()),
        ("rubbery", set()),
        ("hazelnutty", set()),
        ("%", set(TEXTS)),
        ("...", set(TEXTS)),
    ],
)
def test_words_find_what_has_them(shelf, words, texts):
    assert found(shelf, words) == texts


CODES = (
    "Bug FJ-2219 shows the wrong tide; my mother's phone is +49 170 5552261",
    "Streams: https://docs.nats.example/jetstream/streams, driving there takes a day of studying",
    "The kettle is on its -17th descaling, see www.tea.example/how-to-clean",
)
BUG, LINK, KETTLE = CODES


@pytest.fixture(scope="module")
def codes(runtime, new_person):
    book = Book(runtime, new_person("codes"))
    for text in CODES:
        book.write(text)
    return book


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("fj-2219", BUG),
        ("FJ-2219", BUG),
        ("2219", BUG),
        ("+49", BUG),
        ("mother's", BUG),
        ("https://docs.nats.example/jetstream/streams", LINK),
        ("HTTPS://docs.nats", LINK),
        ("jetstream", LINK),
        ("driving", LINK),
        ("studying", LINK),
        ("how-to-clean", KETTLE),
    ],
)
def test_what_the_index_writes_otherwise_is_found_at_each_letter(codes, word, text):
    scheme = word.find("//") + 2 if "//" in word else 0
    assert [begun for begun in beginnings(word, scheme + 3) if text not in found(codes, begun)] == []


@pytest.mark.parametrize(
    ("words", "texts"),
    [
        ("4.5", set()),
        ("fj-221", {BUG}),
        ("fj-219", set()),
        ("nats.example", {LINK}),
        ("mother's phone", {BUG}),
        ("219", set()),
    ],
)
def test_what_is_written_otherwise_is_found_from_its_beginning(codes, words, texts):
    assert found(codes, words) == texts


INSIDE = (
    "The profile is /etc/openvpn/fjord.ovpn, part 805/112233-K",
    "Groceries: seeds/nuts at AT&T, 1,240.50 a month",
    "Write to ada.berg+bills@mail.example about the \N{HONEYBEE}",
    "src/pages/search.py was read.Then it cost 899 \N{EURO SIGN} on 2026-05-28T09:12:44Z",
)
PATH, GROCERIES, MAIL, CODE = INSIDE


@pytest.fixture
def inside(book):
    for text in INSIDE:
        book.write(text, tags=("errands",))
    return book


@pytest.mark.parametrize(
    ("words", "texts"),
    [
        ("openvpn", {PATH}),
        ("fjord.ov", {PATH}),
        ("profile 112233", {PATH}),
        ("112233-k", {PATH}),
        ("nuts", {GROCERIES}),
        ("at&t", {GROCERIES}),
        ("1,240.50", {GROCERIES}),
        ("50", set()),
        ("ada.berg+bills@mail.example", {MAIL}),
        ("errand bills@mail", {MAIL}),
        ("search.py", {CODE}),
        ("then", {CODE}),
        ("2026-05-28T09:12:44Z", {CODE}),
        ("12233", set()),
        ("search.pi", set()),
        ("\N{HONEYBEE}", {MAIL}),
        ("\N{HONEYBEE}\N{VARIATION SELECTOR-16}", {MAIL}),
        ("\N{ROCKET}", set()),
        ("899 \N{EURO SIGN}", {CODE}),
        ("profile \N{EURO SIGN}", set()),
        ("write \N{HONEYBEE}", {MAIL}),
        ("bills@mail \N{HONEYBEE}", {MAIL}),
        ("bills@mail \N{EURO SIGN}", set()),
    ],
)
@pytest.mark.parametrize("archived", [False, True])
def test_what_stands_inside_a_word_of_the_index_is_found(inside, words, texts, archived):
    if archived:
        with inside.session() as session:
            ids = list_ids(session, inside.user_id, Filters(), most=9, now=utc_now())
        inside.do(set_status_many, ids, "archived")
    assert found(inside, words, status="archived" if archived else "active") == texts
    assert found(inside, words, status=None) == texts


@pytest.mark.parametrize("words", ["'", "\\", "a'b", "hazel:* | x", "!hazel", "[hazel", "a\\m", "hazel & x", "(", "a*"])
def test_odd_characters_are_no_operators(shelf, words):
    assert found(shelf, words) <= set(TEXTS)


def test_tags_are_words_too(book):
    book.write("A memory", tags=("groceries",))
    assert found(book, "grocer") == {"A memory"}


@pytest.mark.parametrize("few", [0, 1000])
def test_many_hits_are_found_as_few_are(shelf, monkeypatch, few):
    monkeypatch.setattr(typed_module, "FEW", few)
    # With a filter beside the words, which leaves all of them, so that they are counted in either way.
    assert found(shelf, "ada", type="note") == {ALLERGY, RUNNING, BOOTS}
    assert found(shelf, "ada hap", type="note") == {RUNNING}


def test_other_filters_hold_as_well(book, second_space):
    book.write("A red kite", type="fact")
    book.write("A red house")
    book.write("A red boat", space=second_space)
    assert found(book, "red", type="fact") == {"A red kite"}
    assert found(book, "red", space=second_space) == {"A red boat"}


def test_ids_for_many_fit_the_words(shelf):
    with shelf.session() as session:
        ids = list_ids(session, shelf.user_id, Filters(words="hazel"), most=500, now=utc_now())
    assert [shelf.load(memory_id).text for memory_id in ids] == [ALLERGY]


@pytest.mark.parametrize("words", ["hazel", "hazelnut", "allergic", "allerg hazel"])
def test_what_is_archived_is_found_where_it_is_asked_for(filled, words):
    with filled.session() as session:
        ids = list_ids(session, filled.user_id, Filters(words="hazel"), most=1, now=utc_now())
    filled.do(set_status_many, ids, "archived")
    assert found(filled, words) == set()
    assert found(filled, words, status="archived") == {ALLERGY}
    assert found(filled, words, status=None) == {ALLERGY}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Моя ёлка стоит в углу", "ёлк"),
        ("\u039f κωδικός είναι γάτα", "κωδικό"),
        ("أختي تسكن هنا", "أخت"),
        ("مُحَمَّد هنا", "محم"),
        ("लड़का यहाँ है", "लड़"),
        ("İzmir'de oturuyorum", "izm"),
    ],
)
@pytest.mark.parametrize("archived", [False, True])
def test_a_word_is_found_as_it_is_typed_in_letters_that_people_write_for_its_own(book, text, words, archived):
    memory_id = book.write(text).id
    book.write("Another one")
    if archived:
        book.do(set_status_many, [memory_id], "archived")
    assert found(book, words, status="archived" if archived else "active") == {text}


def test_a_corrected_text_is_found_by_its_new_words(book):
    memory_id = book.write("Ada keeps bees").id
    book.do(update, memory_id, {"text": "Ada keeps goats"})
    assert (found(book, "bee"), found(book, "goa")) == (set(), {"Ada keeps goats"})


def test_a_forgotten_memory_is_not_found(book):
    memory_id = book.write("Ada keeps bees").id
    book.do(forget, memory_id, undo=UNDO_WINDOW)
    assert found(book, "bee") == set()
    assert found(book, "bee", status=None) == set()


def test_nobody_finds_what_another_has(shelf, bobs_book):
    assert found(bobs_book, "hazel") == set()


def test_no_more_than_a_thousand_are_counted(book):
    book.write("A first memory")
    with book.session() as session:
        session.execute(
            sql(
                "INSERT INTO memories (user_id, id, space_id, type, role, text, text_digest, simhash, importance,"
                " created_at, updated_at) SELECT user_id, uuidv7(), space_id, type, role, 'Kite ' || n,"
                " n::text::bytea, 0, 0.5, now(), now() FROM memories, generate_series(1, :n) n"
            ),
            {"n": MOST_COUNTED + 5},
        )
        counted = [
            list_counted(session, book.user_id, Filters(words=words), limit=5, cursor=None, now=utc_now())[1:]
            for words in ("kite", "kit", "first", None)
        ]
    assert counted == [(MOST_COUNTED, True), (MOST_COUNTED, True), (1, False), (MOST_COUNTED + 6, False)]


TOKYO, KETTLES, SEOUL = "来週は東京駅で田中さんに会う", "猫がiPhoneを落とした", "다음 주에 서울에서 민수를 만난다"


@pytest.fixture(scope="module")
def unspaced(runtime, new_person):
    book = Book(runtime, new_person("yuki"))
    for each in (TOKYO, KETTLES, SEOUL):
        book.write(each, tags=["旅行計画"] if each == SEOUL else [])
    return book


@pytest.mark.parametrize(
    ("words", "texts"),
    [
        *[
            ("東", {TOKYO}),
            ("東京", {TOKYO}),
            ("東京駅", {TOKYO}),
            ("駅で田中", {TOKYO}),
            ("駅", {TOKYO}),
            ("京都", set()),
        ],
        *[("東京 田中", {TOKYO}), ("東京 猫", set()), ("猫", {KETTLES}), ("iphone", {KETTLES}), ("猫がiph", {KETTLES})],
        *[
            ("서울", {SEOUL}),
            ("\u1109\u1165\u110b\u116e\u11af", {SEOUL}),
            ("\uff49phone", {KETTLES}),
            ("민수", {SEOUL}),
            ("서울역", set()),
            ("旅行", {SEOUL}),
            ("計画", {SEOUL}),
        ],
        *[("İphone", {KETTLES}), ("ｉＰｈｏｎｅを", {KETTLES})],
    ],
)
def test_a_word_is_found_where_nothing_parts_it_from_the_next(unspaced, words, texts):
    assert found(unspaced, words) == texts
