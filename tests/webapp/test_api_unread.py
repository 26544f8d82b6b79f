"""A token without the scope `read` changes what is stored, and is told nothing of what that says."""

from __future__ import annotations

import pytest
from api_agent import ENTRIES, Agent, add_space
from api_talk import Talk

from memory.clock import utc_now
from memory.enrichment.enrich import Enricher

SECRET = "The vault opens with 4711"


@pytest.fixture
def weak(client, ada):
    return Agent(client, ada.new_token("write", "forget"))


CHANGES = [
    ("PATCH", "", {"importance": 0.5}),
    ("POST", "/pin", None),
    ("DELETE", "/pin", None),
    ("POST", "/revisions/1/restore", None),
]


@pytest.mark.parametrize(("method", "path", "body"), CHANGES)
def test_who_changes_a_memory_is_told_its_id_and_version(agent, weak, method, path, body):
    memory_id = agent.store(SECRET)
    agent.patch(f"{ENTRIES}/{memory_id}", {"text": f"{SECRET}, from outside"})
    kwargs = {} if body is None else {"json": body}
    changed = weak.ask(method, f"{ENTRIES}/{memory_id}{path}", **kwargs)
    assert (changed.status_code, changed.json) == (200, {"id": memory_id, "version": agent.entry(memory_id)["version"]})


def test_who_updates_a_memory_by_the_tool_is_told_its_id_and_version(agent, weak):
    memory_id = agent.store(SECRET)
    updated = weak.tool("memory_update", item_id=memory_id, importance=0.5)
    assert (updated.status_code, set(updated.json)) == (200, {"id", "version"})
    assert agent.tool("memory_update", item_id=memory_id, importance=0.4).json["content"] == SECRET


def test_who_brings_a_memory_back_is_told_its_id_and_version(agent, weak):
    memory_id = agent.store(SECRET)
    weak.delete(f"{ENTRIES}/{memory_id}", undo=True)
    assert set(weak.post(f"{ENTRIES}/{memory_id}/restore").json) == {"id", "version"}


def test_what_a_new_text_resembles_cannot_be_read_by_changing_it(agent, weak):
    memory_id = agent.store(SECRET)
    near = weak.post(ENTRIES, {"text": "The vault opens with 1111"}).json["trace"]["possible_update_of"]
    assert near == [memory_id]
    assert "with 4711" not in weak.post(f"{ENTRIES}/{near[0]}/pin").text
    added = weak.tool("memory_add", type="fact", content="The vault opens with 2222")
    assert (memory_id in added.json["trace"]["possible_update_of"], "with 4711" in added.text) == (True, False)


def test_who_opens_or_changes_a_conversation_is_told_nothing_that_was_said(agent, weak):
    talk = Talk(agent, external_id="thread-1", metadata={"about": SECRET})
    talk.turn(SECRET, "Noted.")
    answers = [
        weak.post("/v1/conversations", {"external_id": "thread-1"}),
        weak.patch(talk.path, {"archived": True}),
        weak.patch(talk.path, {"archived": False}),
        weak.post(f"{talk.path}/messages", {"message": {"role": "user", "content": "And now?"}}),
        weak.ask("PUT", f"{talk.path}/state", json={"goal": "open it"}),
    ]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 201, 200]
    assert "with 4711" not in "".join(answer.text for answer in answers)
    assert (answers[0].json["title"], answers[0].json["metadata"], answers[-1].json["messages"]) == (None, None, [])
    assert talk.head()["title"] == SECRET


def test_who_restores_preferences_is_told_the_version(agent, weak):
    for document in (SECRET, "Nothing of the kind"):
        agent.ask("PUT", "/v1/preferences", json={"document": document})
    restored = weak.post("/v1/preferences/versions/1/restore")
    assert restored.json == {"version": 3, "new": True}
    assert agent.get("/v1/preferences").json["document"] == SECRET


def test_who_moves_an_entity_is_told_its_space(agent, weak, ada):
    for space in ("trip", "work"):
        add_space(ada, space)
    agent.store("Beatrice Almond knows the code of the vault", space="trip")
    Enricher(ada.runtime.sessions, utc_now).enrich_user(ada.id)
    entity = agent.get("/v1/entities", space="trip").json["entities"][0]["id"]
    assert weak.post(f"/v1/entities/{entity}/space", {"space": "work"}).json == {"id": entity, "space": "work"}
