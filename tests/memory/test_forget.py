"""Forgetting, and what is left of it anywhere."""

from __future__ import annotations

import json

import pytest
from forgetting import SECRET, everything
from sqlalchemy import text

from memory.clock import utc_now
from memory.errors import NotFoundError
from memory.forgetting.forget import UNDO_WINDOW, forget
from memory.forgetting.letting_go import let_go
from memory.forgetting.purge import purge, redact_all
from memory.forgetting.restore import restore
from memory.ids import new_id
from memory.lineage.revisions import texts_of
from memory.notebooks import cells, notebooks
from memory.notebooks.marks import mark_right
from memory.record.journal import record_tool_call

DERIVED = ("memories", "postings", "embeddings", "last_scores", "possible_updates")


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


def test_what_it_said_before_and_its_summary_are_forgotten_at_once_as_well(book, drop, change, owner):
    before, after = SECRET.replace("flowerpot", "drainpipe"), SECRET.replace("flowerpot", "rainbarrel")
    memory_id = book.write(before).id
    change(memory_id, text=after)
    told = "Keys hang in the doghouse"
    summary = book.write(told, type="summary", source_ids=(str(memory_id),)).id
    for said in (before, after, told):
        call(book, {"content": said})
    call(book, {"content": "Where do the keys hang"}, [summary])
    drop(memory_id)
    assert [each for each in ("drainpipe", "rainbarrel", "doghouse", "do the keys") if each in everything(owner)] == []


def test_a_summary_that_names_an_id_in_capitals_is_forgotten_with_it(book, drop):
    memory_id = book.write("The bees are by the shed").id
    summary = book.write("A note on bees", type="summary", source_ids=(str(memory_id).upper(), "Mail-7")).id
    assert book.load(summary).source_ids == [str(memory_id), "Mail-7"]
    drop(memory_id)
    assert book.all("SELECT id FROM memories") == []


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


def test_letting_go_of_one_leaves_what_else_is_due_to_the_worker(book, drop):
    gone, due = book.write(SECRET).id, book.write("Bea feeds the cat on Sundays").id
    drop(gone, undo=UNDO_WINDOW)
    drop(due, undo=UNDO_WINDOW, now=utc_now() - 2 * UNDO_WINDOW)
    book.do(let_go, gone)
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


def test_a_stranger_cannot_forget(book, bobs_book):
    memory_id = book.write(SECRET).id
    with pytest.raises(NotFoundError):
        bobs_book.do(forget, memory_id)


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
