"""Calls whose names, of the tool, of what it did and of the request, spell what is forgotten."""

from __future__ import annotations

import json

import pytest
from api_agent import ENTRIES
from pages_browser import at_browser
from recorded_calls import CALLS, call, listed

SAID = "The zebra gate code is 7731"
SPELLED = "the-zebra-gate-code-is-7731"
KEPT = {"q": "hives"}


def report(agent, request_id, *calls):
    answer = agent.post(CALLS, {"calls": list(calls)}, headers={"X-Request-Id": request_id})
    assert answer.status_code == 201, answer.text
    return [each["id"] for each in answer.json["calls"]]


def found(agent, ids, **query):
    calls = {each["id"]: each for each in listed(agent, **query)}
    return [calls[each] for each in ids]


@pytest.fixture
def told(agent):
    """A memory, and the ids of calls: two of a request that spells it, one of a tool, one of what it did, another."""
    memory_id = agent.store(SAID)
    ids = report(agent, SPELLED, call(arguments=KEPT), call(arguments=KEPT))
    ids += report(agent, "nightly-1", call(tool=f"save:{SPELLED}", arguments=KEPT))
    ids += report(agent, "nightly-2", call(operation=SPELLED, arguments=KEPT))
    return memory_id, [*ids, *report(agent, "nightly-3", call(arguments=KEPT, client_id="one"))]


def test_names_that_spell_what_is_forgotten_go_and_the_call_stays(agent, told):
    memory_id, ids = told
    assert agent.delete(f"{ENTRIES}/{memory_id}").status_code in {200, 204}
    first, second, tool, done, other = found(agent, ids)
    assert [each["arguments"] for each in (first, second, tool, done)] == [KEPT] * 4
    assert (tool["tool"], tool["correlation_id"], done["operation"]) == ("redacted", "nightly-1", "redacted")
    assert (other["tool"], other["operation"], other["correlation_id"]) == (first["tool"], "update", "nightly-3")
    # Its number may stand in any id of 32 digits.
    assert "zebra" not in json.dumps(listed(agent))


def test_calls_of_a_request_stay_together_under_another_id(agent, told):
    memory_id, ids = told
    agent.delete(f"{ENTRIES}/{memory_id}")
    (new,) = {each["correlation_id"] for each in found(agent, ids[:2])}
    assert {each["id"] for each in listed(agent, correlation_id=new)} == set(ids[:2])


def test_names_are_hidden_while_it_can_be_brought_back(agent, told):
    memory_id, ids = told
    before = found(agent, ids)
    assert agent.delete(f"{ENTRIES}/{memory_id}", undo="true").json["undo_until"]
    first, _, tool, done, _ = found(agent, ids)
    assert (first["correlation_id"], tool["tool"], done["operation"]) == ("redacted", "redacted", "redacted")
    for said in (agent.get(CALLS).text, agent.get("/v1/export").text):
        assert "zebra-gate" not in said
    agent.post(f"{ENTRIES}/{memory_id}/restore")
    assert found(agent, ids) == before


def test_the_page_of_a_call_hides_its_names_meanwhile(agent, ada, app, told):
    reader, (memory_id, ids) = at_browser(app, ada), told
    agent.delete(f"{ENTRIES}/{memory_id}", undo="true")
    for each in ids:
        page = reader.get(f"/record/calls/{each}")
        assert (page.status_code, "zebra" in page.text) == (200, False)


def test_what_a_use_of_another_memory_says_of_it_is_hidden_meanwhile(agent, ada, app):
    kept, gone = agent.store("Hives stand in the orchard"), agent.store(SAID)
    agent.ask("POST", "/v1/tools/memory_get", json={"item_id": kept}, headers={"X-Request-Id": SPELLED})
    agent.tool("memory_search", query=f"hives {SAID}")

    def used():
        return agent.get(f"{ENTRIES}/{kept}/uses").json["uses"]

    before = used()
    assert (before[-1]["correlation_id"], len(before)) == (SPELLED, 2)
    agent.delete(f"{ENTRIES}/{gone}", undo="true")
    assert (used()[-1]["correlation_id"], used()[0]["query_hash"]) == ("redacted", None)
    assert before[0]["query_hash"] not in at_browser(app, ada).get(f"/memories/{kept}/uses").text
    agent.post(f"{ENTRIES}/{gone}/restore")
    assert used() == before


def test_a_call_that_is_told_after_is_kept_without_such_names(agent):
    agent.delete(f"{ENTRIES}/{agent.store(SAID)}")
    ids = report(agent, SPELLED, call(arguments=KEPT, tool=SPELLED, client_id="one"), call(operation=SPELLED))
    first, second = found(agent, ids)
    assert (first["tool"], first["arguments"], second["operation"]) == ("redacted", KEPT, "redacted")
    assert first["correlation_id"] == second["correlation_id"] != SPELLED
    again = agent.post(CALLS, {"calls": [call(arguments=KEPT, tool=SPELLED, client_id="one")]})
    assert [each["status"] for each in again.json["calls"]] == ["known"]


def test_a_short_text_is_meant_by_no_name(agent):
    memory_id = agent.store("nightly")
    ids = report(agent, "nightly", call(tool="nightly"))
    agent.delete(f"{ENTRIES}/{memory_id}")
    (kept,) = found(agent, [*ids])
    later = found(agent, report(agent, "nightly", call(tool="nightly")))[0]
    assert {(each["tool"], each["correlation_id"]) for each in (kept, later)} == {("nightly", "nightly")}


def test_the_names_of_our_own_tools_are_no_words_of_a_memory(agent):
    memory_id = agent.store("Memory search")
    agent.tool("memory_search", query="bees")
    agent.delete(f"{ENTRIES}/{memory_id}", undo="true")
    assert "memory_search" in {each["tool"] for each in listed(agent)}
