"""Calls that an agent tells of after what they say was forgotten."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from api_agent import ENTRIES, add_space
from api_talk import Talk
from recorded_calls import call, listed, report

SAID = "The zebra gate code is 7731 and Müller keeps it"
TOOL = "read_file"
BLANK = {"redacted": True}


@pytest.fixture
def forgotten(agent, ada):
    """Forget a text for good, in a space that calls do not name."""
    memory_id = agent.store(SAID, space=add_space(ada, "zoo"))
    assert agent.delete(f"{ENTRIES}/{memory_id}").status_code in {200, 204}
    return agent


@pytest.mark.parametrize(
    "said",
    [
        {"arguments": {"q": SAID}},
        {"arguments": {"q": SAID.upper() + "."}},
        {"arguments": {"q": quote(SAID)}},
        {"arguments": {"deep": [{"in": [SAID]}]}},
        {"arguments": {SAID: 1}},
        {"arguments": {"q": '{"text": "The zebra gate code is 7731 and M\\u00fcller keeps it"}'}},
        {"result": [SAID]},
        {"error": SAID},
        {"affected_paths": ["Plans/apiary.md", SAID]},
    ],
)
def test_a_reported_call_that_says_what_was_forgotten_is_kept_without_it(forgotten, said):
    fields = {"arguments": {"q": "hives"}, "result": "three hives", **said}
    answer = report(forgotten, call(client_id="other", arguments={"q": "hives"}), call(client_id="zebra", **fields))
    assert answer.json["stored"] == 2
    kept = {each["id"]: each for each in listed(forgotten) if each["origin"] == "external"}
    other, zebra = (kept[each["id"]] for each in answer.json["calls"])
    assert (zebra["arguments"], zebra["result"], zebra["error"]) == (BLANK, BLANK, None)
    assert SAID not in zebra["affected_paths"]
    assert "Plans/apiary.md" in zebra["affected_paths"] or "affected_paths" not in said
    assert other["arguments"] == {"q": "hives"}
    again = report(forgotten, call(client_id="zebra", **fields))
    assert [each["status"] for each in again.json["calls"]] == ["known"]


def test_a_reported_call_that_says_anything_else_is_kept_as_it_is(forgotten):
    report(forgotten, call(arguments={"q": SAID.replace("7731", "7732")}))
    assert listed(forgotten)[0]["arguments"] == {"q": SAID.replace("7731", "7732")}


def test_a_history_puts_nothing_forgotten_into_the_record_of_calls(forgotten):
    made = {"id": "c1", "type": "function", "function": {"name": TOOL, "arguments": '{"path": "hives.md"}'}}
    asked = {"role": "assistant", "content": None, "tool_calls": [made]}
    answered = {"role": "tool", "tool_call_id": "c1", "content": SAID}
    talk = Talk(forgotten, external_id="apiary")
    assert talk.post({"format": "openai", "history": [asked, answered]}).status_code == 201
    (kept,) = [each for each in listed(forgotten) if each["origin"] == "history"]
    assert (kept["arguments"], kept["result"]) == (BLANK, BLANK)


def test_what_can_be_brought_back_is_hidden_meanwhile_and_said_again_after(agent):
    memory_id = agent.store(SAID)
    assert agent.delete(f"{ENTRIES}/{memory_id}", undo="true").json["undo_until"]
    report(agent, call(arguments={"q": SAID}))
    assert listed(agent, origin="external")[0]["arguments"] == BLANK
    assert agent.post(f"{ENTRIES}/{memory_id}/restore").status_code == 200
    assert listed(agent, origin="external")[0]["arguments"] == {"q": SAID}
