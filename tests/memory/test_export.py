"""The export: everything that is kept, and nothing that is not to be told."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from enrichment_desk import Desk

from memory.accounts.accounts import create_token
from memory.clock import utc_now
from memory.embedding.providers import save_setting
from memory.forgetting.forget import UNDO_WINDOW, forget
from memory.models import Base
from memory.notebooks.marks import mark_right
from memory.notebooks.notebooks import create_notebook
from memory.record.journal import record_tool_call
from memory.transfer.export import export, sections
from memory.writing.edit import update


def taken(book, now=None):
    with book.session() as session:
        return json.loads("".join(export(session, book.user_id, now=now or utc_now())))


def call(book, query, ids=()):
    with book.session() as session:
        record_tool_call(
            session,
            book.user_id,
            correlation_id="c",
            tool="memory_search",
            arguments={"query": query},
            query_hash=query[:16],
            affected_ids=list(ids),
            duration_ms=1.0,
            success=True,
            created_at=utc_now(),
        )


def test_an_export_has_the_memories_with_their_tags(book):
    book.write("Ada likes rye bread ü", tags=("food",))
    [memory] = taken(book)["memories"]
    assert (memory["text"], memory["tags"]) == ("Ada likes rye bread ü", ["food"])


def test_an_export_says_whose_it_is(book):
    document = taken(book)
    assert (document["format"], document["user"]["id"]) == ("commonplace-export", str(book.user_id))


def test_every_table_of_a_user_is_exported_or_left_out_on_purpose():
    owned = {table.name for table in Base.metadata.sorted_tables if "user_id" in table.columns}
    left_out = owned - set(sections())
    assert set(sections()) <= owned
    assert {name for name in left_out if "postings" not in name and "embeddings" not in name} == {
        "forgotten",
        "incognito_sessions",
        "session_states",
        "tombstones",
    }


@pytest.mark.parametrize("section", ["spaces", "audit_events", "audit_links"])
def test_an_export_has_what_was_done(book, section):
    book.write("Ada likes rye bread")
    assert taken(book)[section]


def test_another_users_rows_are_not_in_it(book, bobs_book):
    bobs_book.write("Bob keeps bees")
    assert "bees" not in json.dumps(taken(book))


def test_what_is_forgotten_is_in_no_part_of_it(book):
    memory_id = book.write("Ada hides the pearl ring").id
    call(book, "where is the pearl ring of Ada")
    call(book, "jewels", [memory_id])
    call(book, "bread")
    book.do(forget, memory_id, undo=UNDO_WINDOW)
    document = taken(book)
    assert "Ada hides" not in json.dumps(document)
    assert [each["arguments"] for each in document["tool_calls"]][1:] == [{"redacted": True}, {"query": "bread"}]


@pytest.mark.parametrize("forgotten", [True, False], ids=["forgotten", "expired"])
def test_nothing_that_was_typed_says_what_is_not_to_be_told(book, forgotten):
    secret, now = "Ada hides the pearl ring", utc_now()
    memory_id = book.write(secret, expires_at=now + timedelta(hours=1)).id
    right = book.write("Bread is on the table").id
    call(book, f"{secret}?")
    call(book, "jewels", [memory_id])
    page = book.do(
        create_notebook, secret, steps=[("note", {"text": f"- {secret.upper()}"}), ("recall", {"q": "bread"})]
    )
    book.do(create_notebook, "Plans")
    with book.session() as session:
        for question in (f"Where?  {secret}", "Where is bread?"):
            mark_right(session, book.user_id, question, right, now=now)
    if forgotten:
        book.do(forget, memory_id, undo=UNDO_WINDOW)
    document = taken(book, now if forgotten else now + timedelta(hours=2))
    assert "pearl" not in json.dumps(document).lower()
    assert {cell["notebook_id"] for cell in document["cells"]} == {str(page.id)}
    assert [cell["input"] for cell in document["cells"]] == [{"redacted": True}, {"q": "bread"}]
    assert sorted(notebook["title"] for notebook in document["notebooks"]) == ["Plans", "Untitled"]
    assert [mark["question"] for mark in document["recall_marks"]] == ["Where is bread?"]
    assert [each["query_hash"] for each in document["tool_calls"]] == [None, "jewels"]


def test_what_has_expired_is_not_in_it(book):
    book.write("The code is 4711", expires_at=utc_now() + timedelta(hours=1))
    assert len(taken(book)["memories"]) == 1
    assert taken(book, utc_now() + timedelta(hours=2))["memories"] == []


def test_what_tells_of_something_expired_is_not_in_it(book):
    older = book.write("The passport is kept in London, box 12", expires_at=utc_now() + timedelta(hours=1))
    book.write("The passport is kept in London, box 13")
    heir = book.write("The passport has moved to Paris")
    book.do(update, heir.id, {"supersedes": older.id, "status": "active"})
    book.do(update, older.id, {"status": "active"})
    with book.session() as session:
        mark_right(session, book.user_id, "Where is the passport?", older.id, now=utc_now())
    Desk(book).read()
    assert len(taken(book)["possible_updates"]) == 1
    document = taken(book, utc_now() + timedelta(hours=2))
    assert "box 12" not in json.dumps(document)
    told = ("possible_updates", "recall_marks", "entity_mentions", "revisions")
    assert str(older.id) not in json.dumps([document[name] for name in told])
    assert str(older.id) not in {memory["supersedes"] for memory in document["memories"]}


def test_a_name_that_only_something_expired_told_is_not_in_it(book):
    desk = Desk(book)
    desk.space("studio")
    soon = utc_now() + timedelta(hours=1)
    book.write("Benedita Ferreira showed our prints to Ada Lovelace.", space="studio", expires_at=soon)
    book.write("Benedita Ferreira likes tea.", space="studio")
    desk.read()
    names = [{entity["name"] for entity in taken(book, now)["entities"]} for now in (None, soon)]
    assert names == [{"Benedita Ferreira", "Ada Lovelace"}, {"Benedita Ferreira"}]


def test_half_a_surrogate_pair_comes_along(book):
    desk = Desk(book)
    conversation = desk.conversation()
    desk.turn(conversation, "Half", payload={"x": "\ud800"}, payload_format="openai")
    with book.session() as session:
        written = "".join(export(session, book.user_id, now=utc_now())).encode()
    assert {"x": "\ud800"} in [message["payload"] for message in json.loads(written)["messages"]]


def test_no_secret_is_in_it(book):
    fields = {"provider_type": "openai", "endpoint_url": "http://h", "model": "m", "api_key": "sk-1", "dimensions": 3}
    with book.session() as session:
        secret = create_token(session, book.user_id, "agent", ["read"], now=utc_now())
        save_setting(session, book.user_id, {**fields, "enabled": True}, keys=book.runtime.keys, now=utc_now())
    document = taken(book)
    assert document["tokens"][0]["prefix"] == secret[:11]
    assert not {"hash", "api_key", "password_hash"} & {
        name for section in ("tokens", "provider_settings") for row in document[section] for name in row
    }


def test_a_large_export_comes_in_pieces(book):
    with book.session() as session:
        assert sum(1 for _ in export(session, book.user_id, now=utc_now())) > 10
