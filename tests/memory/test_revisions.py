"""The versions of a memory: kept when it changes, gone when it is forgotten, back when that is undone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from forgetting import everything
from sqlalchemy import select, text

from memory.clock import utc_now
from memory.embedding.cache import _digest
from memory.errors import ConflictError, InvalidError, NotFoundError, RefusedError
from memory.forgetting.forget import UNDO_WINDOW, forget, set_aside_expired
from memory.forgetting.purge import purge
from memory.forgetting.restore import restore
from memory.lineage.revisions import MOST_KEPT, list_revisions
from memory.models import Forgotten
from memory.notebooks import cells, notebooks
from memory.record.journal import record_tool_call
from memory.redaction.forgotten_rows import texts_in, texts_read
from memory.redaction.redaction import secrets_of
from memory.space_removal.removal import remove_space
from memory.spaces.spaces import create_space
from memory.transfer.export import export
from memory.writing.bulk import tag_many
from memory.writing.edit import bring_back, pin, update
from memory.writing.settle import settle_update

SWORDS = (("estoc", "default"), ("falchion", "attic"))
FIRST, SECOND, THIRD = "Ada keeps bees", "Ada keeps goats", "Ada keeps a donkey"


@pytest.fixture
def change(book):
    def _change(memory_id, actor="test", **changes):
        return book.do(update, memory_id, changes, actor=actor)

    return _change


@pytest.fixture
def back(book):
    def _back(memory_id, number, **named):
        return book.do(bring_back, memory_id, number, **named)

    return _back


@pytest.fixture
def past(book):
    """Return (number, text, fields) of each version, newest first."""

    def _past(memory_id, **named):
        with book.session() as session:
            found = list_revisions(session, book.user_id, memory_id, **named)
            return [(each.number, each.text, list(each.fields)) for each in found.versions]

    return _past


@pytest.fixture
def memory_id(book):
    return book.write(FIRST, tags=("bees",), theme="animals").id


def test_a_new_memory_has_no_past(memory_id, past):
    assert past(memory_id) == []


def test_what_was_said_before_is_kept(memory_id, change, past):
    change(memory_id, text=SECOND)
    change(memory_id, text=THIRD)
    assert past(memory_id) == [(2, SECOND, ["text"]), (1, FIRST, ["text"])]


def test_a_version_says_who_replaced_it_and_when(book, memory_id, change):
    before = utc_now()
    change(memory_id, actor="token:cp_12345678", text=SECOND)
    with book.session() as session:
        row = session.execute(text("SELECT actor, replaced_at, restored FROM revisions")).one()
    assert (row.actor, row.restored) == ("token:cp_12345678", None)
    assert before <= row.replaced_at <= utc_now()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("text", SECOND),
        ("type", "fact"),
        ("tags", ["hives"]),
        ("source_ids", ["s1"]),
        ("theme", "garden"),
        ("theme", None),
        ("importance", 0.125),
    ],
)
def test_a_version_names_what_changed(memory_id, change, past, field, value):
    change(memory_id, **{field: value})
    assert past(memory_id) == [(1, FIRST, [field])]


@pytest.mark.parametrize(("field", "value"), [("pinned", True), ("status", "archived"), ("text", FIRST)])
def test_what_says_the_same_makes_no_version(memory_id, change, past, field, value):
    change(memory_id, **{field: value})
    assert [fields for _, _, fields in past(memory_id) if fields != ["importance"]] == []


def test_a_tag_for_many_makes_a_version_of_each(book, memory_id, past):
    book.do(tag_many, [memory_id], "garden", on=True)
    assert past(memory_id) == [(1, FIRST, ["tags"])]


def test_a_refused_change_makes_no_version(book, memory_id, change, past):
    book.write(SECOND)
    with pytest.raises(ConflictError):
        change(memory_id, text=SECOND)
    assert past(memory_id) == []


def test_a_decided_update_makes_no_version_of_the_words(book, past):
    older, newer = (book.write(f"The office is on floor {floor} of the old mill").id for floor in (3, 4))
    book.do(settle_update, newer, older, "this")
    assert (past(older), past(newer)) == ([], [])


def test_versions_come_a_page_at_a_time(book, memory_id, change, past):
    for number in range(5):
        change(memory_id, text=f"{FIRST} in hive {number}")
    with book.session() as session:
        page = list_revisions(session, book.user_id, memory_id, limit=2)
        assert ([each.number for each in page.versions], page.next_before, page.current) == ([5, 4], 4, 6)
        last = list_revisions(session, book.user_id, memory_id, limit=3, before=4)
        assert ([each.number for each in last.versions], last.next_before) == ([3, 2, 1], None)
        with pytest.raises(InvalidError):
            list_revisions(session, book.user_id, memory_id, limit=0)


def test_changes_at_once_are_kept_one_after_the_other(memory_id, change, past):
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda number: change(memory_id, text=f"{FIRST} in hive {number}"), range(12)))
    kept = past(memory_id)
    assert [number for number, _, _ in kept] == list(range(12, 0, -1))
    assert len({text for _, text, _ in kept}) == 12


def test_the_oldest_versions_go_when_there_are_too_many(book, memory_id, change, past):
    change(memory_id, text=SECOND)
    with book.session() as session:
        session.execute(text("UPDATE revisions SET number = :n"), {"n": MOST_KEPT})
        session.execute(
            text(
                "INSERT INTO revisions (user_id, memory_id, number, text, type, importance, actor, replaced_at)"
                " SELECT user_id, memory_id, n, 'old', type, 0, '', now() FROM revisions, generate_series(1, 3) n"
            )
        )
    change(memory_id, text=THIRD)
    assert [number for number, _, _ in past(memory_id)] == [MOST_KEPT + 1, MOST_KEPT, 3, 2]


# --- bringing a version back ---


def test_a_restored_version_says_all_that_it_said(book, memory_id, change, back):
    change(memory_id, text=SECOND, tags=["goats", "farm"], type="fact", theme="farm", source_ids=["s1"])
    back(memory_id, 1)
    row = book.load(memory_id)
    assert (row.text, row.tags, row.type, row.source_ids) == (FIRST, ["bees"], "note", [])
    assert book.one("SELECT t.slug FROM memories m JOIN themes t ON t.id = m.theme_id") == "animals"


def test_what_a_restore_replaces_is_kept(book, memory_id, change, back, past):
    change(memory_id, text=SECOND)
    back(memory_id, 1)
    assert past(memory_id) == [(2, SECOND, ["text"]), (1, FIRST, ["text"])]
    assert book.all("SELECT restored FROM revisions ORDER BY number") == [None, 1]
    assert book.one("SELECT details -> 'restored' FROM audit_events ORDER BY id DESC LIMIT 1") == 1


def test_a_restored_text_is_fingerprinted_and_embedded_again(book, memory_id, change, back):
    before = book.load(memory_id)
    change(memory_id, text=SECOND)
    with book.session() as session:
        session.execute(text("UPDATE memories SET needs_embedding = false"))
    back(memory_id, 1)
    row = book.load(memory_id)
    assert (row.text_digest, row.simhash, row.needs_embedding) == (before.text_digest, before.simhash, True)
    assert row.version == before.version + 2
    assert book.all("SELECT lexeme FROM postings WHERE lexeme IN ('bee', 'goat')") == ["bee"]


def test_what_was_merged_in_meanwhile_keeps_its_weight(book, memory_id, change, back):
    change(memory_id, text=SECOND)
    book.write(SECOND)
    grown = book.load(memory_id).importance
    back(memory_id, 1)
    assert book.load(memory_id).importance == grown


def test_an_importance_that_was_set_is_set_back(book, memory_id, change, back):
    before = book.load(memory_id).importance
    change(memory_id, importance=0.97)
    back(memory_id, 1)
    assert book.load(memory_id).importance == before


def test_a_pin_outlives_a_restore(book, memory_id, change, back):
    change(memory_id, text=SECOND)
    book.do(pin, memory_id, pinned=True)
    back(memory_id, 1)
    assert book.load(memory_id).pinned


def test_a_text_that_another_memory_has_is_not_restored(book, memory_id, change, back):
    change(memory_id, text=SECOND)
    book.write(FIRST)
    with pytest.raises(ConflictError):
        back(memory_id, 1)
    assert book.load(memory_id).text == SECOND


def test_a_text_that_was_forgotten_is_not_restored(book, memory_id, change, back):
    change(memory_id, text=SECOND)
    book.do(forget, book.write(FIRST).id)
    with pytest.raises(RefusedError):
        back(memory_id, 1)


@pytest.mark.parametrize("number", [0, 2, -1, 2**40])
def test_a_version_that_is_not_there_cannot_be_restored(memory_id, change, back, number):
    change(memory_id, text=SECOND)
    with pytest.raises(NotFoundError):
        back(memory_id, number)


def test_a_stranger_restores_nothing(bobs_book, memory_id, change):
    change(memory_id, text=SECOND)
    with pytest.raises(NotFoundError):
        bobs_book.do(bring_back, memory_id, 1)


# --- forgetting ---


@pytest.fixture
def told(book):
    """Say a text wherever else it may stand: in a call that names nothing, in a notebook, in the cache."""

    def _told(words):
        with book.session() as session:
            fields = {"correlation_id": "c", "tool": "x", "duration_ms": 1.0, "success": True}
            record_tool_call(session, book.user_id, arguments={"q": words}, created_at=utc_now(), **fields)
            session.execute(
                text("INSERT INTO cached_embeddings VALUES (:u, 'm', :key, '[1,0]', 'infinity')"),
                {"u": book.user_id, "key": _digest(book.runtime.keys, book.user_id, words)},
            )
        page = book.do(notebooks.create_notebook, "A page").id
        with book.session() as session:
            cells.add_cell(session, book.user_id, page, "note", {"text": f"Is it so that {words}?"}, now=utc_now())

    return _told


def test_a_forgotten_memory_takes_its_past_along(book, owner, change, told):
    memory_id = book.write("Ada hides the quillon in the oven").id
    change(memory_id, text="Ada hides the spoon in the oven", tags=["quillon-tag"])
    change(memory_id, text="Ada hides nothing", tags=[])
    told("Ada hides the quillon in the oven")
    book.do(forget, memory_id)
    assert "quillon" not in everything(owner).lower()
    assert book.one("SELECT count(*) FROM cached_embeddings") == 0


def test_the_past_is_out_of_sight_at_once_and_gone_when_the_undo_closes(book, owner, change, told):
    memory_id = book.write("Ada hides the rapier in the oven").id
    change(memory_id, text="Ada hides nothing")
    told("Ada hides the rapier in the oven")
    book.do(forget, memory_id, undo=UNDO_WINDOW)
    assert book.one("SELECT count(*) FROM revisions") == 0
    with book.session() as session:
        assert secrets_of(session, book.user_id, utc_now()).needles.in_text("ada hides the RAPIER in the oven")
        purge(session, book.user_id, keys=book.runtime.keys, now=utc_now() + UNDO_WINDOW)
    assert "rapier" not in everything(owner).lower()


def test_the_database_reads_the_texts_that_a_forgotten_row_has(book, change):
    """One that an earlier version left has no links at all."""
    memory_id, other = book.write("Ada hides the rapier in the oven").id, book.write("Bees swarm in May").id
    change(memory_id, text="Ada hides nothing")
    for each in (memory_id, other):
        book.do(forget, each, undo=UNDO_WINDOW)
    book.one("UPDATE forgotten SET row = row - '_links' WHERE id = :id RETURNING 1", id=other)
    with book.session() as session:
        found = session.execute(select(texts_read(Forgotten.row), Forgotten.row).order_by(Forgotten.id)).all()
    assert [texts for texts, _ in found] == [texts_in(row) for _, row in found]
    assert [len(texts) for texts, _ in found] == [2, 1]


def test_an_expired_memory_takes_its_past_along(book, owner, change, told):
    memory_id = book.write("Ada hides the sabre in the oven", expires_at=utc_now() + timedelta(minutes=1)).id
    change(memory_id, text="Ada hides nothing")
    told("Ada hides the sabre in the oven")
    with book.session() as session:
        later = utc_now() + timedelta(minutes=2)
        assert secrets_of(session, book.user_id, later).needles.in_text("Ada hides the sabre in the oven")
        set_aside_expired(session, book.user_id, now=later)
        purge(session, book.user_id, keys=book.runtime.keys, now=later)
    assert "sabre" not in everything(owner).lower()


def test_a_space_that_is_forgotten_takes_the_past_along(book, owner, change, told):
    with book.session() as session:
        create_space(session, book.user_id, "attic", soft_cap=200, now=utc_now(), actor="test")
    kept, gone = (book.write(f"Ada hides the {word} in the oven", space="attic").id for word in ("cutlass", "foil"))
    for memory_id in (kept, gone):
        change(memory_id, text=f"Ada hides nothing {memory_id}")
    book.do(forget, gone, undo=UNDO_WINDOW)
    told("Ada hides the cutlass in the oven")
    told("Ada hides the foil in the oven")
    expect = book.contents("attic").digest
    book.do(remove_space, "attic", "forget", expect=expect)
    left = everything(owner).lower()
    assert ("cutlass" in left, " foil " in left) == (False, False)


def test_a_memory_that_joins_its_twin_brings_its_past_along(book, owner, change, past, told):
    with book.session() as session:
        create_space(session, book.user_id, "attic", soft_cap=200, now=utc_now(), actor="test")
    pool, joining = (book.write(f"Ada hides the {word}", space=space).id for word, space in SWORDS)
    for memory_id in (pool, joining):
        change(memory_id, text="Ada hides nothing")
    expect = book.contents("attic").digest
    book.do(remove_space, "attic", "move", expect=expect)
    assert [text for _, text, _ in past(pool)] == ["Ada hides the falchion", "Ada hides the estoc"]
    told("Ada hides the falchion")
    book.do(forget, pool)
    left = everything(owner).lower()
    assert ("falchion" in left, "estoc" in left) == (False, False)


def test_an_undone_forgetting_brings_the_past_back(book, memory_id, change, back, past):
    change(memory_id, text=SECOND)
    change(memory_id, text=THIRD, tags=["donkey"])
    back(memory_id, 1)
    before = book.all("SELECT to_jsonb(r) FROM revisions r ORDER BY number")
    book.do(forget, memory_id, undo=UNDO_WINDOW)
    book.do(restore, memory_id)
    assert book.all("SELECT to_jsonb(r) FROM revisions r ORDER BY number") == before
    assert back(memory_id, 2).text == SECOND


def test_a_memory_that_was_forgotten_before_versions_were_kept_comes_back(book, memory_id):
    book.do(forget, memory_id, undo=UNDO_WINDOW)
    with book.session() as session:
        session.execute(text("UPDATE forgotten SET row = row #- '{_links,versions}'"))
    assert book.do(restore, memory_id).text == FIRST


def test_the_export_has_the_past_of_what_it_has(book, memory_id, change):
    lapsing = book.write("Ada rents a stall", expires_at=utc_now() + timedelta(minutes=1)).id
    change(memory_id, text=SECOND)
    change(lapsing, text="Ada rents a booth")
    with book.session() as session:
        now = "".join(export(session, book.user_id, now=utc_now()))
        later = "".join(export(session, book.user_id, now=utc_now() + timedelta(minutes=2)))
    assert (FIRST in now, "stall" in now) == (True, True)
    assert (FIRST in later, "stall" in later) == (True, False)
