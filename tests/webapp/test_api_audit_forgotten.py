"""What is forgotten is in no column of no table, and the chain of what was done still holds."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from api_agent import ENTRIES, add_space, embed
from sqlalchemy import text

from memory.clock import utc_now
from memory.forgetting.forget import UNDO_WINDOW, set_aside_expired
from memory.forgetting.purge import purge
from memory.ids import new_id
from memory.models import Entity, EntityMention, Space
from memory.notebooks.notebooks import create_notebook
from memory.redaction.redaction import secrets_of
from memory.storage.database import make_engine, user_session
from memory.writing.bulk import move_many

CALLS = "/v1/tool-calls"

_COLUMNS = text("""
SELECT c.oid::regclass::text AS relation, quote_ident(a.attname) AS name, a.atttypid = 'bytea'::regtype AS binary
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'm') AND a.attnum > 0 AND NOT a.attisdropped
  AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
""")


@pytest.fixture
def found_in(database_url, runtime):
    """Return every column in which a word stands, as text in any case or as bytes."""
    engine = make_engine(database_url, pool_size=1)

    def _found_in(word):
        with engine.connect() as connection:
            return {
                f"{column.relation}.{column.name}"
                for column in connection.execute(_COLUMNS).all()
                if connection.scalar(text(_asking(column)), {"word": word})
            }

    yield _found_in
    engine.dispose()


def _asking(column):
    holds = (
        f"position(convert_to(:word, 'UTF8') IN {column.name}) > 0"
        if column.binary
        else f"position(lower(:word) IN lower({column.name}::text)) > 0"
    )
    return f"SELECT EXISTS (SELECT 1 FROM {column.relation} WHERE {holds})"


def mention(person, memory_id, sentence):
    """Let a memory mention somebody, as enrichment would find it."""
    now = utc_now()
    with person.session() as session:
        space_id = session.query(Space).filter_by(slug="work").one().id
        entity = Entity(user_id=person.id, id=new_id(), space_id=space_id, name=sentence.split()[0], type="PERSON")
        entity.name_key, entity.created_at, entity.updated_at = entity.name.lower(), now, now
        session.add(entity)
        session.flush()
        noted = EntityMention(user_id=person.id, entity_id=entity.id, memory_id=UUID(memory_id), sentence=sentence)
        noted.confidence, noted.created_at = 0.9, now
        session.add(noted)


@pytest.fixture
def said(agent, ada):
    """A memory that was spoken of wherever that is possible; returns its unusual word and its id."""
    word = f"quaggle{uuid4().hex[:10]}"
    sentence = f"{word.title()} hides the spare key under the third flowerpot"
    memory_id = agent.tool("memory_add", type="fact", content=sentence, space=add_space(ada, "work")).json["id"]
    agent.tool("memory_add", type="fact", content=sentence.upper(), space="work")
    agent.store(f"{sentence} since 2019", space="work", tags=["keys"])
    mention(ada, memory_id, sentence)
    embed(ada)
    agent.tool("memory_search", query=sentence, space="work")
    agent.post("/v1/memory/context", {"query": f"who said that {sentence}?", "space": "work"})
    agent.tool("memory_update", item_id=memory_id, content=sentence + ".")
    report = {"tool": "notes", "affected_paths": [f"Notes/{sentence}.md", "Notes/other.md"]}
    agent.post(
        CALLS,
        {
            "calls": [
                {**report, "arguments": {"body": ["…", f"# {sentence}.\n"]}},
                {"tool": "notes", "result": f"wrote {sentence}."},
                {"tool": "notes", "success": False, "error": f"cannot write {sentence}."},
            ]
        },
    )
    return word, memory_id


# Where the word stands before anything is forgotten: if one of these did not hold it, its absence would prove nothing.
SPOKEN = {
    "memories.text",
    "memories.tsv",
    "postings.lexeme",
    "entities.name",
    "entities.notes",
    "entity_mentions.sentence",
    "entity_postings.lexeme",
    "tool_calls.arguments",
    "tool_calls.result",
    "tool_calls.error",
    "tool_calls.affected_paths",
}


def test_the_word_is_everywhere_before(said, found_in):
    assert found_in(said[0]) >= SPOKEN


def forget_all(agent, undo):
    for entry in agent.get(ENTRIES, space="work").json["entries"]:
        assert agent.delete(f"{ENTRIES}/{entry['id']}", undo=undo).status_code == 200


def test_what_is_forgotten_at_once_is_in_no_column(agent, said, found_in):
    forget_all(agent, "false")
    assert found_in(said[0]) == set()


def test_what_is_forgotten_with_undo_is_in_no_column_after_the_window(agent, ada, runtime, said, found_in):
    forget_all(agent, "true")
    assert found_in(said[0]) >= {'forgotten."row"', "tool_calls.arguments"}
    with user_session(runtime.sessions, ada.id) as session:
        purge(session, ada.id, keys=runtime.keys, now=utc_now() + UNDO_WINDOW + timedelta(seconds=1))
    assert found_in(said[0]) == set()


def test_what_expires_is_in_no_column(agent, ada, runtime, said, found_in):
    later = utc_now() + timedelta(days=1)
    for entry in agent.get(ENTRIES, space="work").json["entries"]:
        agent.patch(f"{ENTRIES}/{entry['id']}", {"expires_at": later.isoformat()})
    with user_session(runtime.sessions, ada.id) as session:
        set_aside_expired(session, ada.id, now=later)
        purge(session, ada.id, keys=runtime.keys, now=later)
    assert found_in(said[0]) == set()


@pytest.mark.parametrize("undo", ["true", "false"])
def test_nothing_that_is_asked_tells_of_it(agent, said, undo):
    forget_all(agent, undo)
    for path in (CALLS, f"{CALLS}/paths", "/v1/audit", "/v1/memory/summary", ENTRIES):
        assert said[0] not in agent.get(path).text.lower()


def test_the_chain_holds_and_its_events_never_said_it(agent, said):
    assert said[0] not in agent.get("/v1/audit", limit=200).text.lower()
    forget_all(agent, "false")
    assert agent.get("/v1/audit/verify").json["ok"]
    assert said[1] in agent.get("/v1/audit", action="memory.forgotten").text


# --- what was merged -------------------------------------------------------------------------------------------------

TOLD = (
    "The quaggling spare key of the garden shed is hidden under the third flowerpot to the left of the kitchen door, "
    "and nobody but the neighbours should ever be told that it is there"
)
MERGED = tuple(TOLD.replace(word, f"good {word}") for word in ("garden", "kitchen", "neighbours"))


@pytest.fixture
def reworded(agent, ada):
    """A memory that was said again in other words in three ways, all of which are spoken of; returns its id."""
    memory_id = agent.tool("memory_add", type="fact", content=TOLD).json["id"]
    again = agent.tool("memory_add", type="fact", content=MERGED[0]).json
    spoken = agent.post("/v1/command", {"text": f"Please remember that {MERGED[1]}"}).json
    written = agent.post(ENTRIES, {"type": "fact", "text": MERGED[2]}).json
    assert {again["id"], spoken["memories"][0]["id"], written["id"]} == {memory_id}
    for words in MERGED:
        subject, _, object_ = words.partition(" is hidden ")
        agent.post("/v1/facts", {"subject": subject, "predicate": "is hidden", "object": object_})
        talk = agent.post("/v1/conversations", {}).json["id"]
        agent.ask("PUT", f"/v1/conversations/{talk}/state", json={"goal": f"Recall that {words}"})
        agent.post(CALLS, {"calls": [{"tool": "notes", "arguments": {"body": f"# {words}."}}]})
        with ada.session() as session:
            create_notebook(session, ada.id, "Keys", now=utc_now(), actor="test", steps=[("note", {"text": words})])
    return memory_id


def goes_at_once(agent, _person, memory_id):
    agent.delete(f"{ENTRIES}/{memory_id}", undo="false")


def goes_later(agent, person, memory_id):
    agent.delete(f"{ENTRIES}/{memory_id}", undo="true")
    assert "quaggling" not in agent.get(CALLS).text
    with person.session() as session:
        purge(session, person.id, keys=person.runtime.keys, now=utc_now() + UNDO_WINDOW)


def goes_once_it_is_back(agent, person, memory_id):
    agent.delete(f"{ENTRIES}/{memory_id}", undo="true")
    assert agent.post(f"{ENTRIES}/{memory_id}/restore").status_code == 200
    goes_at_once(agent, person, memory_id)


def goes_with_its_twin(agent, person, memory_id):
    remove_its_space(agent, person, memory_id, "move", TOLD)
    (twin,) = agent.get(ENTRIES).json["entries"]
    assert twin["id"] != memory_id
    goes_at_once(agent, person, twin["id"])


def expires(agent, person, memory_id):
    later = utc_now() + timedelta(days=1)
    agent.patch(f"{ENTRIES}/{memory_id}", {"expires_at": later.isoformat()})
    with person.session() as session:
        assert all(map(secrets_of(session, person.id, later).needles.in_text, MERGED))
        set_aside_expired(session, person.id, now=later)
        purge(session, person.id, keys=person.runtime.keys, now=later)


def goes_with_its_space(agent, person, memory_id):
    remove_its_space(agent, person, memory_id, "forget")


def remove_its_space(agent, person, memory_id, contents, *twins):
    add_space(person, "shed")
    with person.session() as session:
        ids = [UUID(memory_id)]
        move_many(session, person.id, ids, "shed", keys=person.runtime.keys, now=utc_now(), actor="test")
    for twin in twins:
        agent.post(ENTRIES, {"type": "fact", "text": twin})
    expect = agent.get("/v1/spaces/shed/contents").json["expect"]
    assert agent.delete("/v1/spaces/shed", contents=contents, expect=expect).status_code == 200


WAYS = [goes_at_once, goes_later, goes_once_it_is_back, goes_with_its_twin, expires, goes_with_its_space]


@pytest.mark.parametrize("goes", WAYS)
def test_what_was_merged_goes_with_what_it_was_merged_into(agent, ada, reworded, found_in, goes):
    spoken = found_in("quaggling")
    assert spoken >= {"tool_calls.arguments", "facts.subject", "session_states.state", "cells.input", "memories.text"}
    goes(agent, ada, reworded)
    assert found_in("quaggling") == set()
