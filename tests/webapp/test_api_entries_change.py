"""Entries of `/v1/memory/entries` that are changed, pinned and forgotten."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from api_agent import ENTRIES, NOBODYS_ID, Agent, add_space, embed, fields, rows, waited_for

from memory.spaces.spaces import lock_space


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("text", "Ada keeps goats"),
        ("type", "instruction"),
        ("tags", ["goats", "roof"]),
        ("theme", "animals"),
        ("source_ids", ["a"]),
        ("importance", 0.9),
        ("status", "archived"),
        ("pinned", True),
        ("manually_saved", True),
        ("expires_at", "2999-01-01T00:00:00+00:00"),
    ],
)
def test_a_field_can_be_changed(agent, memory_id, name, value):
    answer = agent.patch(f"{ENTRIES}/{memory_id}", {name: value}).json
    assert answer[name] == value
    assert agent.entry(memory_id)[name] == value


def test_a_change_leaves_the_rest(agent, memory_id):
    agent.patch(f"{ENTRIES}/{memory_id}", {"importance": 0.9})
    entry = agent.entry(memory_id)
    assert (entry["text"], entry["tags"], entry["type"]) == ("Ada keeps bees on the roof", ["bees"], "fact")


def test_a_new_text_is_embedded_again(agent, ada, memory_id):
    embed(ada)
    assert agent.patch(f"{ENTRIES}/{memory_id}", {"text": "Ada keeps goats"}).json["needs_embedding"]


def test_what_is_superseded_says_so(agent, memory_id):
    newer = agent.store("Ada sold the bees")
    assert agent.patch(f"{ENTRIES}/{newer}", {"supersedes": memory_id}).json["supersedes"] == memory_id
    assert agent.entry(memory_id)["status"] == "superseded"


@pytest.mark.parametrize("status", ["active", "archived"])
def test_superseding_can_be_taken_back(agent, memory_id, status):
    agent.patch(f"{ENTRIES}/{memory_id}", {"status": status})
    newer = agent.store("Ada sold the bees")
    for _ in range(2):
        agent.patch(f"{ENTRIES}/{newer}", {"supersedes": memory_id})
    assert agent.patch(f"{ENTRIES}/{newer}", {"supersedes": None}).json["supersedes"] is None
    assert agent.entry(memory_id)["status"] == status


def test_what_another_memory_supersedes_too_stays_superseded(agent, memory_id):
    newer, newest = agent.store("Ada sold the bees"), agent.store("Ada sold the hives")
    for each in (newer, newest):
        agent.patch(f"{ENTRIES}/{each}", {"supersedes": memory_id})
    agent.patch(f"{ENTRIES}/{newer}", {"supersedes": None})
    assert agent.entry(memory_id)["status"] == "superseded"
    agent.patch(f"{ENTRIES}/{newest}", {"supersedes": None})
    assert agent.entry(memory_id)["status"] == "active"


def test_superseding_is_not_taken_back_where_the_text_was_stored_again(agent, memory_id):
    newer = agent.store("Ada sold the bees")
    agent.patch(f"{ENTRIES}/{newer}", {"supersedes": memory_id})
    agent.store("Ada keeps bees on the roof")
    answer = agent.patch(f"{ENTRIES}/{newer}", {"supersedes": None})
    assert (answer.status_code, fields(answer)) == (409, ["supersedes"])
    assert "another memory of this space has this text" in answer.json["detail"]
    assert agent.entry(newer)["supersedes"] == memory_id


def test_taking_back_what_was_never_said_changes_nothing_else(agent, memory_id):
    before = agent.entry(memory_id)
    after = agent.patch(f"{ENTRIES}/{memory_id}", {"supersedes": None}).json
    assert {name for name in after if after[name] != before[name]} <= {"updated_at"}


@pytest.mark.parametrize("name", ["theme", "expires_at"])
def test_null_takes_away(agent, name):
    memory_id = agent.store("a", theme="things", expires_at="2999-01-01T00:00:00Z")
    assert agent.patch(f"{ENTRIES}/{memory_id}", {name: None}).json[name] is None


@pytest.mark.parametrize(
    "name", ["text", "type", "tags", "source_ids", "importance", "status", "pinned", "manually_saved"]
)
def test_null_is_refused_where_it_means_nothing(agent, memory_id, name):
    response = agent.patch(f"{ENTRIES}/{memory_id}", {name: None})
    assert (response.status_code, fields(response)) == (422, [name])


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({}, "body"),
        ({"text": ""}, "text"),
        ({"text": "a\x00"}, "text"),
        ({"theme": "A B"}, "theme"),
        ({"status": "gone"}, "status"),
        ({"supersedes": NOBODYS_ID}, "supersedes"),
        ({"space": "work"}, "space"),
        ({"id": NOBODYS_ID}, "id"),
        ({"user_id": NOBODYS_ID}, "user_id"),
        ({"created_at": "2024-01-01T00:00:00Z"}, "created_at"),
        ({"expires_at": "2024-01-01T00:00:00Z"}, "expires_at"),
    ],
)
def test_a_bad_change_changes_nothing(agent, memory_id, change, field):
    before = agent.entry(memory_id)
    response = agent.patch(f"{ENTRIES}/{memory_id}", {"importance": 0.9, **change} if change else {})
    assert (response.status_code, fields(response)) == (422, [field])
    assert agent.entry(memory_id) == before


def test_nothing_supersedes_itself(agent, memory_id):
    assert fields(agent.patch(f"{ENTRIES}/{memory_id}", {"supersedes": memory_id})) == ["supersedes"]


def test_a_text_that_another_memory_has_answers_409(agent, memory_id):
    other = agent.store("Ada keeps goats")
    answer = agent.patch(f"{ENTRIES}/{other}", {"text": "Ada keeps bees on the roof"})
    assert (answer.status_code, fields(answer)) == (409, ["text"])


def test_a_forgotten_text_does_not_come_back_by_a_change(agent, memory_id):
    other = agent.store("Ada keeps goats")
    agent.delete(f"{ENTRIES}/{memory_id}")
    response = agent.patch(f"{ENTRIES}/{other}", {"text": "Ada keeps bees on the roof"})
    assert (response.status_code, response.json["reason"]) == (409, "tombstone")


def test_a_memory_can_be_pinned(agent, memory_id):
    assert agent.post(f"{ENTRIES}/{memory_id}/pin").json["pinned"]


def test_a_memory_can_be_unpinned(agent, memory_id):
    agent.post(f"{ENTRIES}/{memory_id}/pin")
    assert agent.delete(f"{ENTRIES}/{memory_id}/pin").json["pinned"] is False


def test_a_saving_that_is_taken_back_leaves_the_importance_as_it_was(agent):
    memory_id = agent.store("Ada keeps bees", importance=0.1)
    told = [agent.patch(f"{ENTRIES}/{memory_id}", {"manually_saved": each}).json for each in (True, False)]
    assert [each["importance"] for each in told] == [0.6, 0.1]


def test_pinning_twice_is_pinning_once(agent, memory_id):
    first = agent.post(f"{ENTRIES}/{memory_id}/pin").json
    assert agent.post(f"{ENTRIES}/{memory_id}/pin").json == first


def test_a_pinned_memory_survives_the_soft_cap(client, new_person):
    agent = Agent(client, new_person("small", soft_cap=2).headers)
    agent.post(f"{ENTRIES}/{agent.store('Kept', created_at='2001-01-01T00:00:00Z')}/pin")
    agent.post(f"{ENTRIES}/batch", {"entries": [{"text": f"Item {n}"} for n in range(4)]})
    assert "Kept" in agent.texts()


def test_forgetting_answers_200(agent, memory_id):
    response = agent.delete(f"{ENTRIES}/{memory_id}")
    assert (response.status_code, response.json) == (
        200,
        {"id": memory_id, "forgotten": True, "undo_until": None, "summaries": []},
    )


def test_whoever_forgets_is_told_which_summaries_went_along(agent, memory_id):
    made = agent.store("Bees, in short", type="summary", source_ids=[memory_id])
    assert agent.delete(f"{ENTRIES}/{memory_id}", undo=True).json["summaries"] == [made]
    agent.post(f"{ENTRIES}/{memory_id}/restore")
    assert agent.get(f"{ENTRIES}/{made}").status_code == 200
    assert agent.tool("memory_delete", item_id=memory_id).json["summaries"] == [made]
    assert agent.get(f"{ENTRIES}/{made}").status_code == 404


def test_a_confined_token_is_told_of_no_summary_in_another_space(client, ada, agent):
    confined = Agent(client, ada.new_token("read", "write", "forget", space=add_space(ada, "work")))
    source = confined.store("The bees swarm in May")
    made = agent.store("Bees, in short", type="summary", source_ids=[source])
    assert confined.delete(f"{ENTRIES}/{source}").json["summaries"] == []
    assert agent.get(f"{ENTRIES}/{made}").status_code == 404


def test_a_forgotten_memory_is_out_of_every_read(agent, memory_id):
    agent.delete(f"{ENTRIES}/{memory_id}")
    assert agent.get(f"{ENTRIES}/{memory_id}").status_code == 404
    assert (agent.texts(status="any"), agent.found("bees roof")) == ([], [])


def test_forgetting_twice_answers_404(agent, memory_id):
    agent.delete(f"{ENTRIES}/{memory_id}")
    assert agent.delete(f"{ENTRIES}/{memory_id}").status_code == 404


def test_undo_brings_it_back(agent, memory_id):
    before = agent.entry(memory_id)
    until = agent.delete(f"{ENTRIES}/{memory_id}", undo="true").json["undo_until"]
    assert datetime.fromisoformat(until) - datetime.now(UTC) > timedelta(minutes=9)
    restored = agent.post(f"{ENTRIES}/{memory_id}/restore").json
    assert {**restored, "updated_at": None} == {**{k: before[k] for k in restored}, "updated_at": None}


def test_who_undoes_twice_is_answered_twice(agent, memory_id):
    agent.delete(f"{ENTRIES}/{memory_id}", undo="true")
    first, second = (agent.post(f"{ENTRIES}/{memory_id}/restore") for _ in range(2))
    assert (second.status_code, second.json) == (200, first.json)


def test_who_undoes_twice_at_once_is_answered_twice(app, ada, agent, memory_id):
    agent.delete(f"{ENTRIES}/{memory_id}", undo="true")
    agents = [Agent(app.test_client(), ada.headers) for _ in range(2)]
    with ThreadPoolExecutor(len(agents)) as pool, ada.session() as session:
        lock_space(session, ada.id, "default")
        undone = [pool.submit(each.post, f"{ENTRIES}/{memory_id}/restore") for each in agents]
        assert waited_for(session, len(agents))
        session.rollback()
        assert [each.result().status_code for each in undone] == [200, 200]


def test_incognito_reads_nothing_by_an_undo(agent, memory_id):
    agent.post("/v1/memory/incognito/start", {})
    for answer in (agent.post(f"{ENTRIES}/{memory_id}/{act}") for act in ("restore", "pin")):
        assert "bees" not in answer.text, answer.request.path


@pytest.mark.parametrize("default", [False, True])
def test_an_undo_in_incognito_brings_back_and_reads_nothing(agent, ada, memory_id, default):
    agent.delete(f"{ENTRIES}/{memory_id}", undo="true")
    if default:
        agent.post("/v1/memory/settings", {"incognito_default": True})
    else:
        agent.post("/v1/memory/incognito/start", {})
    answer = agent.post(f"{ENTRIES}/{memory_id}/restore")
    assert (answer.status_code, answer.json) == (200, {"id": memory_id, "version": 1})
    assert rows(ada, "SELECT text FROM memories") == [("Ada keeps bees on the roof",)]


def test_what_waits_for_undo_is_out_of_every_read(agent, memory_id):
    agent.delete(f"{ENTRIES}/{memory_id}", undo="true")
    assert agent.get(f"{ENTRIES}/{memory_id}").status_code == 404
    assert (agent.texts(status="any"), agent.found("bees roof")) == ([], [])


def test_without_undo_nothing_can_be_restored(agent, memory_id):
    agent.delete(f"{ENTRIES}/{memory_id}")
    assert agent.post(f"{ENTRIES}/{memory_id}/restore").status_code == 404


def test_a_misspelt_undo_forgets_nothing(agent, memory_id):
    assert fields(agent.delete(f"{ENTRIES}/{memory_id}", undoo="true")) == ["undoo"]
    assert agent.get(f"{ENTRIES}/{memory_id}").status_code == 200
