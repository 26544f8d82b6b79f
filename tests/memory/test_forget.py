"""Forgetting, undoing it, and what is left behind."""

from __future__ import annotations

import json
import signal
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import inspect, text

from memory.bulk import forget_many, move_many, restore_many
from memory.drafts import Draft
from memory.edit import update
from memory.embedding.backfill import utc_now
from memory.errors import ConflictError, InvalidError, NotFoundError, RefusedError
from memory.export import export
from memory.forget import UNDO_WINDOW, forget, list_restorable, purge, redact_all, restore, set_aside_expired
from memory.ids import new_id
from memory.journal import record_tool_call
from memory.letting_go import let_go
from memory.models import Memory
from memory.notebooks import cells, notebooks
from memory.notebooks.marks import mark_right
from memory.preferences import set_time_zone
from memory.remember import remember_many
from memory.revisions import texts_of

SECRET = "Ada hides the spare key under the third flowerpot"
LONG = "The quarterly planning meeting with the whole design team takes place in the large room at {} o'clock " + (
    "and everybody brings the notes from the last quarter so that we can compare them in peace and quiet " * 6
)


@pytest.fixture
def drop(book):
    def _drop(memory_id, undo=None, **named):
        return book.do(forget, memory_id, keys=book.runtime.keys, undo=undo, **named)

    return _drop


@pytest.fixture
def change(book):
    def _change(memory_id, **changes):
        return book.do(update, memory_id, changes, keys=book.runtime.keys)

    return _change


def call(book, arguments, affected=()):
    with book.session() as session:
        record_tool_call(
            session,
            book.user_id,
            correlation_id="c",
            tool="memory_add",
            arguments=arguments,
            result={"content": arguments.get("content")},
            affected_ids=list(affected),
            duration_ms=1.0,
            success=True,
            created_at=utc_now(),
        )


def everything(owner) -> str:
    """Return every table in the database as one text."""
    with owner.connect() as connection:
        tables = [name for name in inspect(connection).get_table_names() if not name.startswith("huey_")]
        rows = [connection.scalars(text(f"SELECT to_json(t)::text FROM {table} t")).all() for table in tables]
    return "\n".join(row for table in rows for row in table)


DERIVED = ("memories", "postings", "embeddings", "last_scores", "possible_updates")


def test_forgetting_empties_every_table_of_the_memory(book, drop):
    memory_id = book.write(SECRET).id
    book.write("Ada hides the spare key under the fourth flowerpot")
    with book.session() as session:
        session.execute(text("INSERT INTO last_scores SELECT user_id, id, 0, 1, 1, 2, now() FROM memories"))
    drop(memory_id, UNDO_WINDOW)
    left = {
        table: book.one(
            f"SELECT count(*) FROM {table} WHERE {'id' if table == 'memories' else 'memory_id'} = :id", id=memory_id
        )
        for table in DERIVED
    }
    assert left == dict.fromkeys(DERIVED, 0)
    assert book.one("SELECT count(*) FROM possible_updates") == 0


def test_what_is_forgotten_at_once_is_in_no_table(book, drop, owner):
    secret = SECRET.replace("flowerpot", "letterbox")
    memory_id = book.write(secret).id
    call(book, {"content": secret}, [memory_id])
    call(book, {"entries": [{"text": secret.upper()}]})
    drop(memory_id)
    assert "letterbox" not in everything(owner).lower()


def test_what_is_forgotten_with_undo_is_gone_when_the_window_closes(book, drop, owner):
    secret = SECRET.replace("flowerpot", "doormat")
    memory_id = book.write(secret).id
    call(book, {"content": secret})
    drop(memory_id, UNDO_WINDOW)
    with book.session() as session:
        purge(session, book.user_id, keys=book.runtime.keys, now=utc_now() + UNDO_WINDOW)
    assert "doormat" not in everything(owner).lower()


@pytest.fixture
def noted(book):
    """Write a text wherever a notebook can hold one."""

    def _noted(words, memory_id):
        notebook = book.do(notebooks.create_notebook, f"About: {words}")
        page = book.do(notebooks.create_notebook, "A page").id
        for kind, name in (("note", "text"), ("recall", "q"), ("context", "q"), ("remember", "text")):
            with book.session() as session:
                given = {name: f"I wonder whether {words.upper()}, still"}
                cells.add_cell(session, book.user_id, page, kind, given, now=utc_now())
        with book.session() as session:
            removed = cells.add_cell(session, book.user_id, notebook.id, "note", {"text": words}, now=utc_now())
            cells.remove_cell(session, book.user_id, notebook.id, removed.id, now=utc_now())
            mark_right(session, book.user_id, f"Is it true that {words}?", memory_id, now=utc_now())
        return page

    return _noted


def test_what_is_forgotten_at_once_is_in_no_notebook(book, drop, owner, noted):
    secret = SECRET.replace("flowerpot", "birdhouse")
    memory_id = book.write(secret).id
    noted(secret, book.write("Another memory").id)
    drop(memory_id)
    assert "birdhouse" not in everything(owner).lower()


def test_what_is_forgotten_with_undo_leaves_the_notebooks_when_the_window_closes(book, drop, owner, noted):
    secret = SECRET.replace("flowerpot", "gutter")
    memory_id = book.write(secret).id
    noted(secret, book.write("Another memory").id)
    drop(memory_id, UNDO_WINDOW)
    with book.session() as session:
        purge(session, book.user_id, keys=book.runtime.keys, now=utc_now() + UNDO_WINDOW)
    assert "gutter" not in everything(owner).lower()


def test_cells_that_say_something_else_are_left_alone(book, drop, noted):
    page = noted("The bakery closes on Mondays", book.write("Another memory").id)
    drop(book.write(SECRET).id)
    assert book.one("SELECT count(*) FROM cells WHERE notebook_id = :id AND input::text ILIKE '%bakery%'", id=page) == 4


def test_notebooks_of_others_are_not_blanked(book, bobs_book, drop):
    page = bobs_book.do(notebooks.create_notebook, SECRET)
    drop(book.write(SECRET).id)
    assert bobs_book.one("SELECT title FROM notebooks WHERE id = :id", id=page.id) == SECRET


def test_other_calls_are_left_alone(book, drop):
    memory_id = book.write(SECRET).id
    call(book, {"content": "Something else entirely"})
    drop(memory_id)
    assert book.one("SELECT arguments ->> 'content' FROM tool_calls") == "Something else entirely"


def test_a_text_with_quotes_and_lines_is_found_in_the_calls(book, drop):
    odd = 'She said "never again"\n\tand left\\for Zürich'
    memory_id = book.write(odd).id
    call(book, {"content": odd})
    drop(memory_id)
    assert book.one("SELECT arguments FROM tool_calls") == {"redacted": True}


def test_a_text_is_found_wherever_it_was_said_without_its_full_stop(book, drop, owner, noted):
    secret = SECRET.replace("flowerpot", "cistern")
    memory_id = book.write(f"{secret}.").id
    noted(secret, book.write("Another memory").id)
    call(book, {"content": secret.upper()})
    drop(memory_id)
    assert "cistern" not in everything(owner).lower()


def test_calls_of_others_are_not_redacted(book, bobs_book, drop):
    call(bobs_book, {"content": SECRET})
    drop(book.write(SECRET).id)
    assert bobs_book.one("SELECT arguments ->> 'content' FROM tool_calls") == SECRET


def test_the_same_text_is_refused_for_a_day(book, drop):
    drop(book.write(SECRET).id)
    again = book.write(f"  {SECRET.upper()} ")
    assert (again.outcome, again.refusal) == ("refused", "tombstone")


def test_what_is_refused_brings_no_theme(book, drop):
    drop(book.write(SECRET).id)
    drafts = [Draft(text=SECRET, theme="keys"), Draft(text="The tiles are sage green", theme="house")]
    outcomes = book.do(remember_many, "default", drafts, keys=book.runtime.keys)
    assert [outcome.outcome for outcome in outcomes] == ["refused", "created"]
    assert book.all("SELECT slug FROM themes") == ["house"]


def test_what_a_memory_said_before_is_refused_too(book, drop, change):
    memory_id = book.write(SECRET).id
    change(memory_id, text="The garden gate is green")
    drop(memory_id, undo=UNDO_WINDOW)
    assert [book.write(each).refusal for each in (SECRET, "The garden gate is green")] == ["tombstone"] * 2
    book.do(restore, memory_id)
    assert book.write(SECRET).outcome == "created"


def test_another_copy_of_what_was_forgotten_is_not_made_active_for_a_day(book, drop, change):
    kept = book.write(SECRET).id
    change(kept, status="archived")
    drop(book.write(SECRET.upper()).id)
    with pytest.raises(RefusedError, match="forgotten less than 24 hours ago"):
        change(kept, status="active")
    assert change(kept, tags=["keys"]).status == "archived"
    later = utc_now() + timedelta(hours=25)
    assert book.do(update, kept, {"status": "active"}, keys=book.runtime.keys, now=later).status == "active"


def test_another_copy_of_what_was_forgotten_does_not_come_back_once_nothing_supersedes_it(book, drop, change):
    older, newer = book.write(SECRET).id, book.write("The spare key is with the neighbours").id
    change(newer, supersedes=older)
    drop(book.write(SECRET).id)
    with pytest.raises(RefusedError):
        change(newer, supersedes=None)
    assert book.load(older).status == "superseded"


def test_a_copy_that_says_something_else_from_now_on_is_made_active(book, drop, change):
    kept = book.write(SECRET).id
    change(kept, status="archived")
    drop(book.write(SECRET).id)
    assert change(kept, status="active", text="The spare key is with the neighbours").status == "active"


@pytest.mark.parametrize("first", [SECRET, f"{SECRET}."])
def test_what_another_memory_says_by_now_may_be_said_again(book, drop, change, first):
    memory_id = book.write(first).id
    change(memory_id, text="The garden gate is green")
    kept = book.write(SECRET).id
    drop(memory_id)
    again = [book.write(said) for said in (SECRET, first)]
    assert [(each.id, each.outcome) for each in again] == [(kept, "merged")] * 2


def test_a_refusal_says_until_when_and_how_long_it_can_be_undone(book, drop):
    noon = datetime(2026, 5, 4, 12, tzinfo=UTC)
    drop(book.write(SECRET, now=noon).id, undo=UNDO_WINDOW, now=noon)
    said = "this was forgotten less than 24 hours ago, and is refused until 2026-05-05 12:00 UTC"
    undo = "; until 12:10 UTC the forgetting can be undone instead"
    for minutes, more in ((9, undo), (11, "")):
        assert book.write(SECRET, now=noon + timedelta(minutes=minutes)).trace.reason == said + more


def test_a_refusal_says_so_by_the_clocks_of_the_user(book, drop):
    evening = datetime(2026, 5, 4, 22, 30, tzinfo=UTC)
    book.do(set_time_zone, "Europe/Berlin", source="test")
    drop(book.write(SECRET, now=evening).id, undo=UNDO_WINDOW, now=evening)
    reason = book.write(SECRET, now=evening).trace.reason
    assert "refused until 2026-05-06 00:30 CEST; until 00:40 CEST the forgetting" in reason


@pytest.mark.parametrize(("said", "again"), [("{}", "{}!"), ("{}.", "{}"), ("{}...", "{}?")])
def test_the_same_text_is_refused_however_it_ends(book, drop, said, again):
    drop(book.write(said.format(SECRET)).id)
    assert book.write(again.format(SECRET.upper())).outcome == "refused"


@pytest.mark.parametrize(("said", "again"), [("{} \U0001f622", "{}"), ("{}", "{} \U0001f622"), ("-> {}", "{}")])
def test_the_same_words_are_refused_whatever_signs_are_beside_them(book, drop, said, again):
    drop(book.write(said.format(SECRET)).id)
    assert book.write(again.format(SECRET)).outcome == "refused"


def test_a_near_duplicate_is_refused_too(book, drop):
    drop(book.write(LONG.format(3)).id)
    assert book.write(LONG.format(3) + "!").outcome == "refused"


def test_a_text_that_differs_in_a_number_is_not_refused(book, drop):
    drop(book.write(LONG.format(3)).id)
    assert book.write(LONG.format(4)).outcome == "created"


A, B = "https://a.example/x", "https://b.example/y"
AB = f"{A} {B}"


@pytest.mark.parametrize(
    ("said", "again"),
    [
        ("Forget me please quickly", "forget me, please, quickly"),
        ("Forget me, please: quickly!", "forget me please quickly"),
        ("Ring Grace at 3.30, then leave", "ring grace at 3.30 then leave"),
        ("Paris. Spring; tea", "paris spring , tea"),
    ],
)
def test_a_text_with_other_commas_and_capitals_is_refused(book, drop, said, again):
    drop(book.write(said).id)
    assert book.write(again).refusal == "tombstone"


@pytest.mark.parametrize(
    ("said", "again"),
    [
        ("The safe opens with heron", "The safe opens with he\u200bron"),
        ("The safe opens with he\u00adron", "The safe opens with heron"),
        ("The\u200bsafe\u200bopens\u200bwith\u200bheron", "The safe opens with heron"),
        (
            "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u0628\u0631\u0648\u0645",
            "\u0645\u06cc\u062e\u0648\u0627\u0647\u0645 \u0628\u0631\u0648\u0645",
        ),
        ("The safe\u2019s in Hauptstra\u00dfe", "THE SAFE\u2019S IN HAUPTSTRASSE"),
    ],
)
def test_a_text_that_differs_in_what_nobody_sees_or_in_capitals_is_refused(book, drop, said, again):
    drop(book.write(said).id)
    assert book.write(again).refusal == "tombstone"


@pytest.mark.parametrize("again", ["Meet at 35, then leave", "Meet at 3:5, then leave", "Meet at 3.5, then go"])
def test_a_text_with_another_number_or_word_between_its_commas_is_not_refused(book, drop, again):
    drop(book.write("Meet at 3.5, then leave").id)
    assert book.write(again).outcome == "created"


@pytest.mark.parametrize("again", [f"Read {B}", "Read https://a.example/other", "Read https://a.example/X"])
def test_a_text_with_other_addresses_alone_is_not_refused(book, drop, again):
    drop(book.write(f"Read {A}").id)
    assert book.write(again).outcome == "created"


def test_a_long_text_that_differs_in_its_addresses_is_not_refused(book, drop):
    drop(book.write(f"{LONG.format(3)} {A}").id)
    assert book.write(f"{LONG.format(3)} indeed {B}").outcome == "created"


@pytest.mark.parametrize(
    ("said", "again"),
    [
        (f"Read {A}", "  READ   HTTPS://A.Example/x. "),
        (f"Read {A}", f"Read {A} {B}"),
        (f"Read {A}", f"Read {B} {A}"),
        (f"Read {A} and {B}", f"Read {B} and {A}"),
        (f"Read {A}", "Read"),
        ("Read", f"Read {A}"),
        ("Read", f"Read {AB}"),
        (A, " HTTPS://A.Example/x!"),
        (A, f"`{A}`"),
        (A, AB),
        (AB, f"{B} {A}"),
        (f"{A} \U0001f4d6", f"\U0001f4d6 **{A}**"),
    ],
)
def test_a_text_with_the_same_addresses_or_without_is_refused(book, drop, said, again):
    drop(book.write(said).id)
    assert book.write(again).refusal == "tombstone"


DIARY = "https://ada.example.org/diary"


@pytest.mark.parametrize(
    "typed",
    [
        f"`{DIARY}`",
        f"**{DIARY}**",
        "http://ada.example.org/diary",
        f"\u201c{DIARY}\u201d",
        f"{DIARY}\u3002",
        f"{DIARY}\u2026",
        "https://www.ada.example.org/diary",
        f"{DIARY}#top",
        f"{DIARY}?utm_source=chat",
        f"{DIARY} {B}",
        f"{B},{DIARY}",
        "ada.example.org/diary",
        "Ada.Example.org/diary",
        "`ada.example.org/diary`",
        "ada.example.org:443/diary",
        "https://ada.example.org:443/diary",
        "http://ada.example.org:80/diary",
        "https://ada.example.org/di%61ry",
    ],
)
def test_a_forgotten_address_is_refused_however_it_is_typed(book, drop, typed):
    drop(book.write(f"Ada's private diary is kept at {DIARY}").id)
    assert book.write(f"Ada's private diary is kept at {typed}").refusal == "tombstone"


@pytest.mark.parametrize(
    ("said", "again"),
    [
        ("Read a.example.org/x", "Read https://a.example.org/x"),
        ("Read a.example.org/x", "Read a.example.org:443/x"),
        ("Read a.example.org/x", "Read"),
        ("Tea, with milk, a.example.org/x", "Tea with milk https://a.example.org/x"),
        ("Tea, with milk, https://a.example.org/x", "Tea with milk a.example.org/x"),
        ("Read", "Read a.example.org/x"),
        ("Read https://notes.example", "Read Notes.example"),
        ("Read https://a.example/x", "Read a.example/x b.example.org/y"),
    ],
)
def test_an_address_without_scheme_is_one(book, drop, said, again):
    drop(book.write(said).id)
    assert book.write(again).refusal == "tombstone"


@pytest.mark.parametrize(
    ("said", "again"),
    [
        ("Read https://a.example/x", "Read a.example/y"),
        ("Read https://a.example/x", "Read http://a.example:443/x"),
        ("Read https://a.example/a%2Fb", "Read https://a.example/a/b"),
        ("Read setup.py/x", "Read"),
        ("Read Notes.example", "Read"),
    ],
)
def test_what_may_be_another_address_or_none_is_not_refused(book, drop, said, again):
    drop(book.write(said).id)
    assert book.write(again).outcome == "created"


def test_a_long_text_with_its_address_typed_otherwise_is_refused(book, drop):
    drop(book.write(f"{LONG.format(3)} ada.example.org/diary").id)
    assert book.write(f"{LONG.format(3)} indeed {DIARY}").refusal == "tombstone"


def test_of_two_forgotten_addresses_one_may_be_said_alone(book, drop):
    drop(book.write(f"Read {AB}").id)
    assert book.write(f"Read {B}").outcome == "created"


def test_a_tombstone_keeps_a_digest_of_each_address(book, drop):
    drop(book.write(f"Read {AB} https://www.a.example/x#again").id)
    assert book.one("SELECT length(marks_digest) FROM tombstones") == 3 * 32


def test_of_two_texts_of_nothing_but_an_address_each_is_forgotten_alone(book, drop):
    drop(book.write(A).id)
    assert book.write(B).outcome == "created"


def test_a_tombstone_that_knows_no_addresses_refuses_the_text_with_any(book, drop):
    drop(book.write(f"Read {A}").id)
    with book.session() as session:
        session.execute(text("UPDATE tombstones SET marks_digest = substr(marks_digest, 1, 32)"))
    assert book.write(f"Read {B}").refusal == "tombstone"


def test_after_a_day_the_text_may_come_back(book, drop):
    drop(book.write(SECRET).id)
    assert book.write(SECRET, now=utc_now() + timedelta(hours=24, seconds=1)).outcome == "created"


def test_a_tombstone_stands_in_one_space(book, drop, second_space):
    drop(book.write(SECRET).id)
    assert book.write(SECRET, space=second_space).outcome == "created"


def test_old_tombstones_are_swept_away(book, drop):
    drop(book.write(SECRET).id)
    with book.session() as session:
        assert purge(session, book.user_id, keys=book.runtime.keys, now=utc_now() + timedelta(hours=25)) == 1
    assert book.one("SELECT count(*) FROM tombstones") == 0


def test_letting_go_of_one_leaves_what_else_is_due_to_the_worker(book, drop):
    gone, due = book.write(SECRET).id, book.write("Bea feeds the cat on Sundays").id
    drop(gone, undo=UNDO_WINDOW)
    drop(due, undo=UNDO_WINDOW, now=utc_now() - 2 * UNDO_WINDOW)
    book.do(let_go, gone, keys=book.runtime.keys)
    assert book.one("SELECT array_agg(id) FROM forgotten") == [due]


def test_more_may_be_forgotten_at_once_than_a_statement_has_parameters(book, drop):
    # 65,535 of them.
    many = [new_id() for _ in range(66_000)]
    kept = book.write("Bea feeds the cat on Sundays").id
    drop(kept, undo=UNDO_WINDOW)
    with book.session() as session:
        assert texts_of(session, book.user_id, many) == []
        redact_all(session, book.user_id, many, [SECRET])
    assert book.one("SELECT array_agg(id) FROM forgotten") == [kept]


def columns(memory):
    return {column.key: getattr(memory, column.key) for column in inspect(Memory).columns if column.key != "tsv"}


def test_a_restored_memory_is_whole(book, drop):
    memory_id = book.write(
        SECRET,
        type="instruction",
        tags=("key", "home"),
        theme="house",
        source_ids=("a", "b"),
        source_message="m1",
        manually_saved=True,
        metadata_confidence=0.7,
        created_at=utc_now() - timedelta(days=40),
        expires_at=utc_now() + timedelta(days=40),
    ).id
    before = columns(book.load(memory_id))
    drop(memory_id, UNDO_WINDOW)
    book.do(restore, memory_id)
    after = columns(book.load(memory_id))
    assert {**after, "updated_at": None} == {**before, "updated_at": None}


def test_a_restored_memory_is_found_by_its_words_again(book, drop):
    memory_id = book.write(SECRET).id
    before = book.one("SELECT count(*) FROM postings")
    drop(memory_id, UNDO_WINDOW)
    book.do(restore, memory_id)
    assert book.one("SELECT count(*) FROM postings") == before > 0


def test_a_restored_text_may_be_said_again(book, drop):
    memory_id = book.write(SECRET).id
    drop(memory_id, UNDO_WINDOW)
    book.do(restore, memory_id)
    assert book.write(SECRET).outcome == "merged"


def test_possible_updates_come_back_with_the_memory(book, drop):
    older, newer = book.write(SECRET).id, book.write(SECRET.replace("third", "fourth")).id
    drop(older, UNDO_WINDOW)
    book.do(restore, older)
    assert book.all("SELECT memory_id FROM possible_updates WHERE older_id = :id", id=older) == [newer]


@pytest.fixture
def pair(book):
    """Two memories that are a possible update of one another, and what is stored of that."""
    older, newer = book.write(SECRET).id, book.write(SECRET.replace("third", "fourth")).id
    return (older, newer), ties(book)


def ties(book):
    return book.all("SELECT to_jsonb(p) FROM possible_updates p")


ORDERS = pytest.mark.parametrize("forgotten", [(0, 1), (1, 0)])
TURNS = pytest.mark.parametrize("turned", [False, True])


@ORDERS
@TURNS
def test_a_possible_update_comes_back_once_both_are_restored(book, drop, pair, forgotten, turned):
    ids, before = pair
    for place in forgotten:
        drop(ids[place], UNDO_WINDOW)
    for place in reversed(forgotten) if turned else forgotten:
        book.do(restore, ids[place])
    assert ties(book) == before != []


@ORDERS
def test_a_possible_update_comes_back_however_often_it_goes(book, drop, pair, forgotten):
    ids, before = pair
    for place in forgotten:
        drop(ids[place], UNDO_WINDOW)
    for place in forgotten:
        book.do(restore, ids[place])
        drop(ids[place], UNDO_WINDOW)
        book.do(restore, ids[place])
    assert ties(book) == before != []


@ORDERS
@TURNS
def test_two_ties_of_the_same_two_come_back(book, drop, change, pair, forgotten, turned):
    ids, before = pair
    change(ids[1], supersedes=ids[0])
    for place in forgotten:
        drop(ids[place], UNDO_WINDOW)
    for place in reversed(forgotten) if turned else forgotten:
        book.do(restore, ids[place])
    assert (book.load(ids[1]).supersedes, ties(book)) == (ids[0], before)


def test_many_come_back_with_what_ties_them(book, pair):
    ids, before = pair
    book.do(forget_many, ids, keys=book.runtime.keys, undo=UNDO_WINDOW)
    assert book.do(restore_many, ids) == list(ids)
    assert ties(book) == before != []


@pytest.fixture
def mark(book):
    """Say that a memory is the right answer to a question."""

    def _mark(question, memory_id):
        with book.session() as session:
            mark_right(session, book.user_id, question, memory_id, now=utc_now())

    return _mark


def marks(book):
    return book.all("SELECT to_jsonb(m) FROM recall_marks m ORDER BY question")


def test_marks_come_back_with_the_memory(book, drop, mark):
    memory_id = book.write(SECRET).id
    mark("Where is the key?", memory_id)
    mark("Which flowerpot?", memory_id)
    before = marks(book)
    drop(memory_id, UNDO_WINDOW)
    assert marks(book) == []
    book.do(restore, memory_id)
    assert marks(book) == before
    assert len(before) == 2


def test_marks_that_may_come_back_are_in_no_export(book, drop, mark):
    memory_id = book.write(SECRET).id
    mark("Where does the gardener look?", memory_id)
    drop(memory_id, UNDO_WINDOW)
    with book.session() as session:
        assert "gardener" not in "".join(export(session, book.user_id, now=utc_now()))


def test_marks_are_gone_when_the_window_closes(book, drop, mark, owner):
    memory_id = book.write(SECRET).id
    mark("Where does the chimneysweep look?", memory_id)
    drop(memory_id, UNDO_WINDOW)
    with book.session() as session:
        purge(session, book.user_id, keys=book.runtime.keys, now=utc_now() + UNDO_WINDOW)
    assert "chimneysweep" not in everything(owner)


@pytest.mark.parametrize("undo", [None, UNDO_WINDOW])
def test_a_mark_that_says_what_another_memory_said_does_not_come_back(book, drop, mark, owner, undo):
    secret = SECRET.replace("flowerpot", "watering can")
    said, memory_id = book.write(secret).id, book.write("The garden gate is green").id
    mark(f"Is it true that {secret.upper()}?", memory_id)
    mark("What colour is the gate?", memory_id)
    drop(memory_id, timedelta(hours=1))
    drop(said, undo)
    with book.session() as session:
        purge(session, book.user_id, keys=book.runtime.keys, now=utc_now() + UNDO_WINDOW)
    assert "watering can" not in everything(owner).lower()
    book.do(restore, memory_id)
    assert [each["question"] for each in marks(book)] == ["What colour is the gate?"]


def test_what_an_earlier_version_forgot_comes_back_without_marks(book, drop):
    memory_id = book.write(SECRET).id
    drop(memory_id, UNDO_WINDOW)
    with book.session() as session:
        session.execute(text("UPDATE forgotten SET row = row #- '{_links,recall_marks}'"))
    drop(book.write("The garden gate is green").id)
    assert book.do(restore, memory_id).id == memory_id


@pytest.mark.parametrize("undo", [None, UNDO_WINDOW])
def test_nothing_is_restored_after_the_window(book, drop, undo):
    memory_id = book.write(SECRET).id
    drop(memory_id, undo)
    with pytest.raises(NotFoundError):
        book.do(restore, memory_id, now=utc_now() + UNDO_WINDOW)


def test_a_text_that_was_stored_again_is_not_restored_twice(book, drop):
    memory_id = book.write(SECRET).id
    drop(memory_id, UNDO_WINDOW)
    book.write(SECRET, now=utc_now() + timedelta(hours=25))
    with pytest.raises(ConflictError):
        book.do(restore, memory_id)


def test_an_archived_memory_is_restored_beside_its_twin(book, drop, change):
    memory_id = book.write(SECRET).id
    change(memory_id, status="archived")
    book.write(SECRET)
    drop(memory_id, UNDO_WINDOW)
    assert book.do(restore, memory_id).status == "archived"


def test_a_stranger_cannot_forget(book, bobs_book):
    memory_id = book.write(SECRET).id
    with pytest.raises(NotFoundError):
        bobs_book.do(forget, memory_id, keys=book.runtime.keys)


def test_a_stranger_cannot_restore(book, bobs_book, drop):
    memory_id = book.write(SECRET).id
    drop(memory_id, UNDO_WINDOW)
    with pytest.raises(NotFoundError):
        bobs_book.do(restore, memory_id)


def test_a_memory_is_forgotten_once(book, drop):
    memory_id = book.write(SECRET).id
    drop(memory_id)
    with pytest.raises(NotFoundError):
        drop(memory_id)


def test_the_audit_names_the_memory_and_not_its_text(book, drop):
    memory_id = book.write(SECRET).id
    drop(memory_id)
    events = book.all("SELECT to_jsonb(a) FROM audit_events a WHERE action = 'memory.forgotten'")
    assert [event["subject_id"] for event in events] == [str(memory_id)]
    assert "flowerpot" not in json.dumps(events)


# --- chains of supersession ---


@pytest.fixture
def chain(book, change):
    older, newer = book.write("The office is in Basel").id, book.write("The office has moved to Bern").id
    change(newer, supersedes=older)
    return older, newer


def test_forgetting_the_newer_leaves_the_older_superseded(book, drop, chain):
    drop(chain[1], UNDO_WINDOW)
    assert book.load(chain[0]).status == "superseded"


def test_forgetting_the_older_leaves_the_newer_in_force(book, drop, chain):
    drop(chain[0], UNDO_WINDOW)
    newer = book.load(chain[1])
    assert (newer.status, newer.supersedes) == ("active", None)


@pytest.mark.parametrize("forgotten", [(0,), (1,), (0, 1), (1, 0)])
@pytest.mark.parametrize("turned", [False, True])
def test_a_chain_is_whole_again_once_all_is_restored(book, drop, chain, forgotten, turned):
    for place in forgotten:
        drop(chain[place], UNDO_WINDOW)
    for place in reversed(forgotten) if turned else forgotten:
        book.do(restore, chain[place])
    assert (book.load(chain[1]).supersedes, book.load(chain[0]).status) == (chain[0], "superseded")


@pytest.mark.parametrize("forgotten", [0, 1])
def test_a_chain_is_not_tied_again_to_what_has_left_the_space(book, drop, chain, second_space, forgotten):
    drop(chain[forgotten], UNDO_WINDOW)
    book.do(move_many, [chain[1 - forgotten]], second_space, keys=book.runtime.keys)
    book.do(restore, chain[forgotten])
    assert book.all("SELECT supersedes FROM memories") == [None, None]


@pytest.mark.parametrize("forgotten", [0, 1])
def test_a_possible_update_is_none_of_what_has_left_the_space(book, drop, pair, second_space, forgotten):
    ids, _ = pair
    drop(ids[forgotten], UNDO_WINDOW)
    assert book.do(move_many, [ids[1 - forgotten]], second_space, keys=book.runtime.keys)
    book.do(restore, ids[forgotten])
    assert ties(book) == []


def test_what_comes_back_does_not_supersede_itself(book, drop, change):
    first, middle, last = (book.write(f"The office has moved to {town}").id for town in ("Basel", "Bern", "Thun"))
    change(middle, supersedes=first)
    change(last, supersedes=middle)
    drop(middle, UNDO_WINDOW)
    change(first, supersedes=last)
    book.do(restore, middle)
    assert [book.load(each).supersedes for each in (first, middle, last)] == [last, first, None]


@pytest.fixture
def impatient():
    """Fail after ten seconds: who goes round in a circle waits for nobody, and nothing else would end it."""

    def give_up(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(10)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def test_a_circle_that_an_earlier_version_left_holds_up_no_change(book, change, impatient):
    one, other, newer = (book.write(f"The office has moved to {town}").id for town in ("Basel", "Bern", "Thun"))
    with book.session() as session:
        session.execute(text("UPDATE memories SET supersedes = :one WHERE id = :other"), {"one": one, "other": other})
        session.execute(text("UPDATE memories SET supersedes = :other WHERE id = :one"), {"one": one, "other": other})
    change(newer, supersedes=one)
    assert book.load(newer).supersedes == one


# --- expiry ---


def purge_expired(session, book, now):
    set_aside_expired(session, book.user_id, now=now)
    purge(session, book.user_id, keys=book.runtime.keys, now=now)


def test_an_expired_memory_is_purged(book):
    memory_id = book.write(SECRET, expires_at=utc_now() + timedelta(minutes=1)).id
    with book.session() as session:
        purge_expired(session, book, now=utc_now() + timedelta(minutes=2))
    assert book.load(memory_id) is None


def test_an_expiry_leaves_no_tombstone(book):
    book.write(SECRET, expires_at=utc_now() + timedelta(minutes=1))
    with book.session() as session:
        purge_expired(session, book, now=utc_now() + timedelta(minutes=2))
    assert book.write(SECRET).outcome == "created"


def test_what_is_said_again_does_not_expire_with_what_was_said_before(book):
    memory_id = book.write(SECRET, expires_at=utc_now() + timedelta(minutes=1)).id
    book.write(SECRET)
    with book.session() as session:
        purge_expired(session, book, now=utc_now() + timedelta(minutes=2))
    assert book.load(memory_id) is not None


@pytest.fixture
def lapsed(book):
    """Store what has expired, and still waits for the worker."""

    def _lapsed(said, space="default", before=None):
        then = utc_now() - timedelta(hours=1)
        fields = {"now": then, "expires_at": utc_now() - timedelta(minutes=1)}
        memory_id = book.write(before or said, space, **fields).id
        if before is not None:
            book.do(update, memory_id, {"text": said, "pinned": True}, keys=book.runtime.keys, now=then)
        return memory_id

    return _lapsed


def test_an_undo_ends_with_what_it_would_bring_back(book, drop):
    now = utc_now()
    expires_at = now + timedelta(minutes=2)
    gone = drop(book.write(SECRET, expires_at=expires_at).id, UNDO_WINDOW, now=now)
    (told,) = list_restorable_of(book, now)
    assert (gone.undo_until, told.undo_until, told.forgotten_at) == (expires_at, expires_at, now)
    assert f"until {expires_at:%H:%M} UTC" in book.write(SECRET, now=now).trace.reason
    assert list_restorable_of(book, expires_at) == []
    with pytest.raises(NotFoundError):
        book.do(restore, gone.id, now=expires_at)


def list_restorable_of(book, now):
    with book.session() as session:
        return list_restorable(session, book.user_id, now=now)


def test_what_has_expired_keeps_no_text_away(book, drop, change, lapsed, second_space):
    edited, shelved = book.write("The door is green").id, book.write("The gate is open").id
    gone, moving = book.write("The lamp is lit").id, book.write("The bell is loud").id
    change(shelved, status="archived")
    drop(gone, UNDO_WINDOW)
    for said in ("The door is blue", "The gate is open", "The lamp is lit"):
        lapsed(said)
    lapsed("The bell is loud", second_space)
    change(edited, text="The door is blue")
    change(shelved, status="active")
    book.do(restore, gone)
    assert book.do(move_many, [moving], second_space, keys=book.runtime.keys) == {"default": [moving]}
    assert set(book.all("SELECT id FROM memories")) == {edited, shelved, gone, moving}


def test_what_has_expired_leaves_no_former_text_free(book, drop, change, lapsed):
    memory_id = book.write("The door is blue").id
    change(memory_id, text="The door is green")
    lapsed("The door is blue")
    drop(memory_id)
    assert book.write("The door is blue").refusal == "tombstone"


def test_what_has_expired_is_not_superseded(book, change, lapsed):
    old, new = lapsed("The door is blue"), book.write("The house has two floors").id
    with pytest.raises(InvalidError):
        change(new, supersedes=old, text="The door is blue")


def test_what_has_expired_does_not_come_back_with_what_is_said_again(book, lapsed):
    old = lapsed("The door code is 4321", before="The door code is 1234")
    said = book.write("The door code is 4321")
    assert (said.outcome, book.load(old), book.load(said.id).pinned) == ("created", None, False)
    assert book.all("SELECT text FROM revisions") == []
