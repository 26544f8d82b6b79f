"""`/v1/memory/entries/{id}/revisions`: what a memory said before, and the way back."""

from __future__ import annotations

from uuid import uuid4

import pytest
from api_agent import ENTRIES, Agent, add_space, fields, rows

FIRST, SECOND = "The studio key hangs behind the blue door", "The studio key hangs behind the green door"


@pytest.fixture
def memory_id(agent):
    memory_id = agent.store(FIRST, tags=["keys"])
    agent.patch(f"{ENTRIES}/{memory_id}", {"text": SECOND, "tags": ["keys", "door"]})
    return memory_id


def past(agent, memory_id, **query):
    return agent.get(f"{ENTRIES}/{memory_id}/revisions", **query)


def back(agent, memory_id, number=1):
    return agent.post(f"{ENTRIES}/{memory_id}/revisions/{number}/restore")


def test_what_was_said_before_can_be_read(agent, ada, memory_id):
    answer = past(agent, memory_id).json
    assert (answer["current"], answer["next_before"]) == (2, None)
    (version,) = answer["revisions"]
    assert (version["number"], version["text"], version["tags"]) == (1, FIRST, ["keys"])
    assert (version["changed"], version["actor"]) == (["text", "tags"], f"token:{ada.token[:11]}")


def test_the_history_comes_in_pages(agent, memory_id):
    agent.patch(f"{ENTRIES}/{memory_id}", {"type": "fact"})
    first = past(agent, memory_id, limit=1).json
    assert ([each["number"] for each in first["revisions"]], first["next_before"]) == ([2], 2)
    rest = past(agent, memory_id, limit=1, before=2).json
    assert ([each["number"] for each in rest["revisions"]], rest["next_before"]) == ([1], None)


@pytest.mark.parametrize(("name", "value"), [("limit", 0), ("limit", 101), ("before", 0), ("before", "x"), ("more", 1)])
def test_a_bad_page_is_refused(agent, memory_id, name, value):
    response = past(agent, memory_id, **{name: value})
    assert (response.status_code, fields(response)) == (422, [name])


def test_a_version_is_restored_and_found_by_its_words(agent, memory_id):
    answer = back(agent, memory_id).json
    assert (answer["text"], answer["tags"], answer["embedding"]["state"]) == (FIRST, ["keys"], "pending")
    assert agent.found("blue door") == [FIRST]
    assert past(agent, memory_id).json["revisions"][0]["restored"] == 1


def test_a_change_by_a_tool_is_kept_as_well(agent, memory_id):
    agent.tool("memory_update", item_id=memory_id, content="The studio key is lost")
    assert past(agent, memory_id).json["revisions"][0]["text"] == SECOND


def test_a_restore_into_another_memory_is_a_conflict(agent, memory_id):
    agent.store(FIRST)
    assert back(agent, memory_id).status_code == 409
    assert agent.entry(memory_id)["text"] == SECOND


@pytest.mark.parametrize("number", [0, 7, 2**40])
def test_a_version_that_is_not_there_is_404(agent, memory_id, number):
    assert back(agent, memory_id, number).status_code == 404


def test_ids_of_others_look_like_none(client, bob, memory_id):
    stranger = Agent(client, bob.headers)
    nobody = str(uuid4())
    for ask in (past, back):
        theirs, none = ask(stranger, memory_id), ask(stranger, nobody)
        assert (theirs.status_code, theirs.json["detail"]) == (none.status_code, none.json["detail"])
        assert theirs.status_code == 404


def test_a_confined_token_sees_no_past_of_another_space(client, ada, memory_id):
    add_space(ada, "attic")
    confined = Agent(client, ada.new_token("read", "write", space="attic"))
    assert (past(confined, memory_id).status_code, back(confined, memory_id).status_code) == (404, 404)


def test_incognito_reads_and_restores_nothing(agent, memory_id):
    quiet = agent.in_session("quiet")
    quiet.post("/v1/memory/incognito/start", {})
    assert (past(quiet, memory_id).status_code, back(quiet, memory_id).status_code) == (409, 409)
    assert agent.entry(memory_id)["text"] == SECOND


def test_a_forgotten_memory_has_no_past_until_it_is_restored(agent, ada, memory_id):
    agent.delete(f"{ENTRIES}/{memory_id}", undo="true")
    assert past(agent, memory_id).status_code == 404
    assert rows(ada, "SELECT count(*) FROM revisions")[0][0] == 0
    agent.post(f"{ENTRIES}/{memory_id}/restore")
    assert past(agent, memory_id).json["revisions"][0]["text"] == FIRST
