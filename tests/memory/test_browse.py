"""Reading memories in order, a page at a time."""

from __future__ import annotations

import base64
import json
from datetime import timedelta

import pytest
from sqlalchemy import event, text

from memory.clock import utc_now
from memory.errors import InvalidError
from memory.reading.browse import (
    MOST_LISTED,
    Filters,
    get_entry,
    list_counted,
    list_entries,
    list_ids,
    possible_updates,
)
from memory.writing.edit import update

SOURCE = "019b76da-a800-7000-8000-00000000000a"
# A whole day, so that every process that runs these tests collects the same ones.
THEN = utc_now().replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=10)


@pytest.fixture
def page(book):
    def _page(limit=50, cursor=None, now=None, **filters):
        with book.session() as session:
            found = list_entries(
                session, book.user_id, Filters(**filters), limit=limit, cursor=cursor, now=now or utc_now()
            )
            session.expunge_all()
            return found

    return _page


@pytest.fixture
def texts(page):
    return lambda **filters: [entry.memory.text for entry in page(**filters).entries]


@pytest.fixture
def shelf(book, second_space):
    """Four memories, each different in everything that can be asked for."""
    book.write("one", type="fact", tags=("a", "b"), source_ids=("s1", SOURCE.upper()), theme="home", created_at=THEN)
    book.write("two", type="note", tags=("b",), manually_saved=True, created_at=THEN + timedelta(days=1))
    pinned = book.write("three", created_at=THEN + timedelta(days=2)).id
    book.do(update, pinned, {"pinned": True})
    book.write("four", space=second_space, created_at=THEN + timedelta(days=3))


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, ["four", "three", "two", "one"]),
        ({"space": "second"}, ["four"]),
        ({"space": "nowhere"}, []),
        ({"theme": "home"}, ["one"]),
        ({"theme": "nothing"}, []),
        ({"type": "fact"}, ["one"]),
        ({"tag": "b"}, ["two", "one"]),
        ({"source_id": "s1"}, ["one"]),
        ({"source_id": SOURCE}, ["one"]),
        ({"source_id": SOURCE.upper()}, ["one"]),
        ({"pinned": True}, ["three"]),
        ({"pinned": False, "space": "default"}, ["two", "one"]),
        ({"manually_saved": True}, ["three", "two"]),
        ({"created_after": THEN + timedelta(days=2)}, ["four", "three"]),
        ({"created_before": THEN + timedelta(days=1)}, ["one"]),
        ({"embedding": "pending", "tag": "a"}, ["one"]),
        ({"embedding": "ready"}, []),
        ({"embedding": "error"}, []),
        ({"tag": "b", "type": "note"}, ["two"]),
    ],
)
def test_filters_narrow_the_list(shelf, texts, filters, expected):
    assert texts(**filters) == expected


KEYS = [f"CI pushes with ghp_{'16C7e42F292c6912E771' * 2}", "The shop is at postgres://robin:hunter2@db/shop"]


def test_what_seems_to_hold_a_credential_is_listed_and_counted(book, bobs_book, texts, change):
    # Marks alone are none: of a token, and of an address.
    plain = ["Write tests for ghp_ and AKIA", "See https://example.org/a", "The Wi-Fi password is tulip-42"]
    first, *_ = [book.write(each).id for each in (*KEYS, *plain)]
    bobs_book.write("Mine is AKIAIOSFODNN7EXAMPLE")
    assert (texts(credentials=True), texts(credentials=False)) == (KEYS[::-1], plain[::-1])
    with book.session() as session:
        asked = {"limit": 1, "cursor": None, "now": utc_now()}
        assert list_counted(session, book.user_id, Filters(credentials=True), **asked)[1:] == (2, False)
        assert (
            list_ids(session, book.user_id, Filters(credentials=True, type="note"), most=9, now=utc_now())[-1] == first
        )
    change(first, text="CI pushes with a token")
    assert texts(credentials=True) == KEYS[1:]


def test_counting_agrees_with_listing(shelf, book):
    with book.session() as session:
        asked = {"limit": 1, "cursor": None, "now": utc_now()}
        assert list_counted(session, book.user_id, Filters(tag="b"), **asked)[1:] == (2, False)


MANY = """
INSERT INTO memories (user_id, id, space_id, type, role, text, text_digest, simhash, importance, created_at, updated_at)
SELECT user_id, uuidv7(), id, 'note', 'user', '', n::text::bytea, 0, 0, now(), now()
FROM spaces, generate_series(1, :many) n WHERE slug = 'default'
"""


def test_no_more_are_counted_than_anybody_counts_after(book):
    def counted(**given):
        return list_counted(session, book.user_id, Filters(), limit=5, now=utc_now(), **{"cursor": None, **given})

    with book.session() as session:
        session.execute(text(MANY), {"many": MOST_LISTED})
        page, *told = counted()
        assert told == [MOST_LISTED, False]
        assert counted(cursor=page.next_cursor)[1:] == (MOST_LISTED, False)
        session.execute(text("UPDATE memories SET text_digest = 'x' WHERE text_digest = '1'"))
        session.execute(text(MANY), {"many": 1})
        assert counted()[1:] == (MOST_LISTED, True)
        session.rollback()


TAGGED = """
INSERT INTO memories (user_id, id, space_id, type, role, text, text_digest, simhash, importance, tags, source_ids,
    pinned, created_at, updated_at)
SELECT user_id, uuidv7(), id, CASE WHEN n % 3 = 0 THEN 'note' ELSE 'fact' END, 'user', n::text, n::text::bytea, 0, 0,
    array_remove(ARRAY['all', CASE WHEN n % 9 = 0 THEN 'some' END, CASE WHEN n % 4000 = 0 THEN 'Fäden, 2' END], NULL),
    CASE WHEN n % 3000 = 0 THEN ARRAY['s', 'mail:' || n] ELSE '{}' END, n % 5000 = 0,
    now() - n * interval '1 minute', now()
FROM spaces, generate_series(1, :many) n WHERE slug = 'default'
"""


WITH_WORDS = [
    ({"tag": "all"}, 12_000),
    ({"tag": "some"}, 1333),
    ({"tag": "some", "type": "note"}, 1333),
    ({"tag": "some", "type": "fact"}, 0),
    ({"tag": "Fäden, 2"}, 3),
    ({"tag": "fäden, 2"}, 3),
    ({"tag": " FÄDEN,  2 "}, 3),
    ({"tag": "fäden"}, 0),
    ({"tag": "all", "pinned": True}, 2),
    ({"source_id": "mail:6000"}, 1),
    ({"source_id": "s", "tag": "Fäden, 2"}, 1),
    ({"source_id": "some"}, 0),
    ({"tag": ""}, 0),
]


@pytest.fixture
def swept(owner):
    """Leave nothing of the many rows behind, which others would have to step over."""
    yield
    with owner.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM memories, postings"))


def test_a_word_finds_the_same_however_many_have_it(swept, book, bobs_book):
    bobs_book.write("Bob's own", tags=("all", "some", "Fäden, 2"), source_ids=("s", "mail:6000"))
    listed = {"limit": 20, "now": utc_now()}
    with book.session() as session:
        session.execute(text(TAGGED), {"many": 12_000})
        for asked, total in WITH_WORDS:
            filters = Filters(**asked)
            page, *told = list_counted(session, book.user_id, filters, cursor=None, **listed)
            assert told == [min(total, MOST_LISTED), total > MOST_LISTED]
            assert len(list_ids(session, book.user_id, filters, most=total + 1, now=utc_now())) == total
            numbers = [int(entry.memory.text) for entry in page.entries]
            assert (len(numbers), numbers) == (min(total, 20), sorted(numbers))
            further = list_entries(session, book.user_id, filters, cursor=page.next_cursor, **listed).entries
            assert page.next_cursor is None or min(int(entry.memory.text) for entry in further) > numbers[-1]
        session.rollback()


def test_what_is_on_one_page_is_not_counted_once_more(shelf, book):
    statements = []
    note = lambda *args: statements.append(args[2])  # noqa: E731 - to be taken away again
    with book.session() as session:
        event.listen(session.get_bind(), "before_cursor_execute", note)
        page, *told = list_counted(session, book.user_id, Filters(), limit=5, cursor=None, now=utc_now())
        event.remove(session.get_bind(), "before_cursor_execute", note)
    assert (len(page.entries), told, len(statements)) == (4, [4, False], 1)


def test_only_active_memories_are_listed_unless_others_are_asked_for(shelf, book, texts):
    memory_id = book.one("SELECT id FROM memories WHERE text = 'one'")
    book.do(update, memory_id, {"status": "archived"})
    assert ("one" in texts(), texts(status="archived"), len(texts(status=None))) == (False, ["one"], 4)


def test_expired_memories_are_not_listed(book, page):
    book.write("soon gone", expires_at=utc_now() + timedelta(minutes=1))
    assert len(page().entries) == 1
    assert page(now=utc_now() + timedelta(minutes=2)).entries == []


def test_pages_cover_everything_once(book, page):
    for number in range(7):
        book.write(f"Item {number}", created_at=THEN)
    seen, cursor = [], None
    while True:
        found = page(limit=3, cursor=cursor)
        seen += [entry.memory.text for entry in found.entries]
        cursor = found.next_cursor
        if cursor is None:
            break
    assert sorted(seen) == [f"Item {number}" for number in range(7)]


def test_pages_stay_put_while_memories_are_added(book, page):
    for number in range(4):
        book.write(f"Item {number}", created_at=THEN + timedelta(days=number))
    first = page(limit=2)
    book.write("Newest of all")
    second = page(limit=2, cursor=first.next_cursor)
    assert [entry.memory.text for entry in (*first.entries, *second.entries)] == [
        "Item 3",
        "Item 2",
        "Item 1",
        "Item 0",
    ]


def test_the_last_page_has_no_cursor(shelf, page):
    assert page(limit=4).next_cursor is None


def coded(value):
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode()


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "!",
        "ü",
        "abc",
        coded([]),
        coded(7),
        coded(["yesterday", "x"]),
        coded([THEN.isoformat(), "x"]),
        coded([THEN.isoformat(), 7]),
        coded({"a": 1, "b": 2}),
        base64.urlsafe_b64encode(b"[" * 100_000).decode(),
    ],
)
def test_a_bad_cursor_is_named(page, cursor):
    with pytest.raises(InvalidError) as caught:
        page(cursor=cursor)
    assert caught.value.field == "cursor"


@pytest.fixture
def in_order(book, shelf):
    """The texts of all pages, of one memory each."""
    with book.session() as session:
        ids = dict(session.execute(text("SELECT text, id FROM memories")).all())
    for name, importance in (("three", 0.6), ("four", 0.4), ("one", 1.0), ("two", 0.0)):
        book.do(update, ids[name], {"importance": importance})

    def _in_order(order):
        found, asked = [], {"limit": 1, "now": utc_now(), "order": order}
        with book.session() as session:
            page = list_entries(session, book.user_id, Filters(), cursor=None, **asked)
            while True:
                found += [entry.memory.text for entry in page.entries]
                if page.next_cursor is None:
                    return found
                page = list_entries(session, book.user_id, Filters(), cursor=page.next_cursor, **asked)

    return _in_order


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("newest", ["four", "three", "two", "one"]),
        ("oldest", ["one", "two", "three", "four"]),
        ("changed", ["two", "one", "four", "three"]),
        ("important", ["one", "three", "four", "two"]),
    ],
)
def test_pages_are_in_the_order_that_is_asked_for(in_order, order, expected):
    assert in_order(order) == expected


def test_equals_are_listed_once_each(book, shelf):
    asked = {"limit": 1, "now": utc_now(), "order": "important"}
    with book.session() as session:
        session.execute(text("UPDATE memories SET importance = 0.5"))
        page = list_entries(session, book.user_id, Filters(), cursor=None, **asked)
        found = [*page.entries]
        while page.next_cursor is not None:
            page = list_entries(session, book.user_id, Filters(), cursor=page.next_cursor, **asked)
            found += page.entries
        assert sorted(entry.memory.text for entry in found) == ["four", "one", "three", "two"]


def test_of_those_that_fit_the_first_in_the_order_are_taken(book, shelf):
    with book.session() as session:
        oldest = list_ids(session, book.user_id, Filters(), most=1, now=utc_now(), order="oldest")
        assert [get_entry(session, book.user_id, each, now=utc_now()).memory.text for each in oldest] == ["one"]


@pytest.mark.parametrize(
    ("ended", "asked"), [("newest", "important"), ("important", "newest"), ("newest", "oldest"), ("oldest", "changed")]
)
def test_where_a_list_ended_says_nothing_of_one_in_another_order(book, shelf, ended, asked):
    def listed(order, cursor):
        with book.session() as session:
            return list_entries(
                session, book.user_id, Filters(), limit=1, cursor=cursor, now=utc_now(), order=order
            ).next_cursor

    with pytest.raises(InvalidError, match="cursor"):
        listed(asked, listed(ended, None))


@pytest.mark.parametrize("limit", [0, 201, -1])
def test_a_page_has_a_reasonable_size(page, limit):
    with pytest.raises(InvalidError, match="limit"):
        page(limit=limit)


def test_a_strangers_cursor_shows_nothing_of_theirs(bobs_book, book, page):
    for number in range(3):
        bobs_book.write(f"of Bob {number}")
    with bobs_book.session() as session:
        cursor = list_entries(session, bobs_book.user_id, Filters(), limit=1, cursor=None, now=utc_now()).next_cursor
    book.write("of Ada", created_at=THEN)
    assert [entry.memory.text for entry in page(cursor=cursor).entries] == ["of Ada"]


def test_a_strangers_memory_is_not_shown(bobs_book, book):
    memory_id = bobs_book.write("of Bob").id
    with book.session() as session:
        assert get_entry(session, book.user_id, memory_id, now=utc_now()) is None


def test_an_entry_shows_its_space_and_theme(shelf, page):
    entry = page(tag="a").entries[0]
    assert (entry.space, entry.theme, entry.embedding) == ("default", "home", "pending")


def test_an_entry_in_error_says_why(book, page):
    memory_id = book.write("one").id
    with book.session() as session:
        for statement in (
            "INSERT INTO embedding_models (user_id, id, provider_type, model, state, created_at)"
            " SELECT user_id, uuidv7(), 'local', 'm', 'active', now() FROM memories",
            "INSERT INTO embeddings (user_id, memory_id, model_id, space_id, state, error, version, due_at, created_at,"
            " updated_at) SELECT m.user_id, m.id, e.id, m.space_id, 'error', 'too long', 1, now(), now(), now()"
            " FROM memories m, embedding_models e",
        ):
            session.execute(text(statement))
    (entry,) = page(embedding="error").entries
    assert page(embedding="pending").entries == [], "it is given up on, and waits for nothing"
    assert (entry.memory.id, entry.embedding, entry.embedding_error) == (memory_id, "error", "too long")


def test_the_failures_of_a_model_that_does_not_serve_are_not_shown(book, page):
    book.write("one")
    with book.session() as session:
        for statement in (
            "INSERT INTO embedding_models (user_id, id, provider_type, model, state, created_at)"
            " SELECT user_id, uuidv7(), 'local', 'm', 'building', now() FROM memories",
            "INSERT INTO embeddings (user_id, memory_id, model_id, space_id, state, error, version, due_at, created_at,"
            " updated_at) SELECT m.user_id, m.id, e.id, m.space_id, 'error', 'too long', 1, now(), now(), now()"
            " FROM memories m, embedding_models e",
        ):
            session.execute(text(statement))
    assert page(embedding="error").entries == []


def test_possible_updates_are_seen_from_both_ends(book):
    older, newer = book.write("The dentist is at 3pm").id, book.write("The dentist is at 4pm").id
    with book.session() as session:
        found = [possible_updates(session, book.user_id, one, utc_now()) for one in (older, newer)]
        ends = [[other.id for _, other in each] for each in found]
    assert ends == [[newer], [older]]
