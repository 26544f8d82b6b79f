"""Calls of tools that a history tells of: they are in the record of calls as well."""

from __future__ import annotations

import pytest
from api_agent import Agent, rows
from api_talk import Talk

from memory.messages.told_calls import FARTHEST, LARGEST_JSON, LEFT_OUT, MOST_TOLD

CALLS = "/v1/tool-calls"
ARGUMENTS = {"path": "Plans/apiary.md"}
WRITTEN = '{"path": "Plans/apiary.md"}'
DONE = "three hives by May"
BROKEN = "no such file"


def openai_calls(*calls):
    made = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": WRITTEN}} for call_id, name in calls
    ]
    return {"role": "assistant", "content": None, "tool_calls": made}


def openai_result(call_id, content=DONE):
    return {"role": "tool", "tool_call_id": call_id, "content": content}


# What an agent did twice: it read a file that is there, and one that is not. Only some formats say so of the second.
HISTORIES = {
    "openai": [openai_calls(("c1", "read_file"), ("c2", "read_file")), openai_result("c1"), openai_result("c2")],
    "responses": [
        {"type": "function_call", "call_id": "c1", "name": "read_file", "arguments": WRITTEN},
        {"type": "function_call", "call_id": "c2", "name": "read_file", "arguments": WRITTEN},
        {"type": "function_call_output", "call_id": "c1", "output": DONE},
        {"type": "function_call_output", "call_id": "c2", "output": BROKEN, "status": "incomplete"},
    ],
    "anthropic": [
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "c1", "name": "read_file", "input": ARGUMENTS},
                {"type": "tool_use", "id": "c2", "name": "read_file", "input": ARGUMENTS},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": DONE},
                {"type": "tool_result", "tool_use_id": "c2", "content": BROKEN, "is_error": True},
            ],
        },
    ],
    "pydantic_ai": [
        {
            "kind": "response",
            "parts": [
                {"part_kind": "tool-call", "tool_name": "read_file", "args": WRITTEN, "tool_call_id": "c1"},
                {"part_kind": "tool-call", "tool_name": "read_file", "args": ARGUMENTS, "tool_call_id": "c2"},
            ],
        },
        {
            "kind": "request",
            "parts": [
                {"part_kind": "tool-return", "tool_name": "read_file", "content": DONE, "tool_call_id": "c1"},
                {"part_kind": "retry-prompt", "tool_name": "read_file", "content": BROKEN, "tool_call_id": "c2"},
            ],
        },
    ],
}


@pytest.fixture
def talk(agent):
    return Talk(agent, external_id="apiary")


def tell(talk, *elements, format_="openai", **more):
    answer = talk.post({"format": format_, "history": list(elements), **more})
    assert answer.status_code in {200, 201}, answer.json
    return [each["id"] for each in answer.json["results"]]


def kept(agent, **query):
    return agent.get(CALLS, **query).json["calls"][::-1]


@pytest.mark.parametrize("told", HISTORIES)
def test_a_call_is_recorded_with_what_it_gave(agent, talk, told):
    ids = tell(talk, *HISTORIES[told], format_="openai" if told == "responses" else told)
    found = {call["result"]: call for call in kept(agent, conversation=talk.id, origin="history")}
    assert len(kept(agent)) == 2
    first = found[DONE]
    assert (first["tool"], first["arguments"], first["success"]) == ("read_file", ARGUMENTS, True)
    assert (first["message_id"], first["duration_ms"]) == (ids[0], None)
    assert first["correlation_id"] == talk.messages()[-1]["correlation_id"] != ""
    assert told == "openai" or (found[BROKEN]["success"], found[BROKEN]["arguments"]) == (False, ARGUMENTS)


def test_a_tool_of_the_provider_gave_its_result_with_the_call(agent, talk):
    tell(
        talk,
        {"type": "web_search_call", "id": "w1", "status": "completed", "action": {"query": "hives"}},
        {"type": "mcp_call", "id": "m1", "name": "list", "arguments": WRITTEN, "output": None, "error": BROKEN},
        {"type": "mcp_approval_request", "id": "r1", "name": "list", "arguments": WRITTEN, "server_label": "s"},
    )
    assert [(call["tool"], call["success"], call["result"]) for call in kept(agent)] == [
        ("web_search", True, None),
        ("list", False, BROKEN),
    ]


def test_a_call_is_recorded_when_its_result_comes(agent, talk):
    ids = tell(talk, openai_calls(("c1", "read_file")))
    assert kept(agent) == []
    tell(talk, openai_result("c1"))
    assert [(call["message_id"], call["result"]) for call in kept(agent)] == [(ids[0], DONE)]


def test_a_result_without_its_call_records_nothing(agent, talk):
    tell(talk, openai_calls(("c1", "read_file")), *[{"role": "user", "content": "well?"}] * FARTHEST)
    tell(talk, openai_result("c1"), openai_result("c2"))
    assert kept(agent) == []


def test_a_message_that_is_sent_again_is_no_second_call(agent, talk):
    elements = HISTORIES["openai"]
    for _ in range(2):
        tell(talk, *elements, client_ids=["a", "b", "c"])
    assert agent.post(f"{talk.path}/merge", {"format": "openai", "history": elements}).status_code == 200
    assert len(kept(agent)) == 2


@pytest.mark.parametrize("way", ["messages", "merge"])
def test_more_calls_than_one_request_may_tell_of_are_refused(agent, talk, way):
    half = [(f"c{number}", "read_file") for number in range(MOST_TOLD // 2)]
    body = {"format": "openai", "history": [openai_calls(*half), openai_calls(*half), openai_result("c0")]}
    refused = agent.post(f"{talk.path}/{way}", body)
    assert (refused.status_code, refused.json["errors"][0]["field"]) == (422, "history.2")
    assert talk.messages() == []
    fitting = agent.post(f"{talk.path}/{way}", {**body, "history": body["history"][1:]})
    assert fitting.status_code in {200, 201}
    assert len(kept(agent)) == 1


def test_an_id_that_comes_again_is_another_call(agent, talk):
    turns = [[openai_calls(("call_0", name)), openai_result("call_0", name)] for name in ("read_file", "list_files")]
    tell(talk, *turns[0], *turns[1])
    tell(talk, openai_result("call_0", "once more"))
    assert [(call["tool"], call["result"]) for call in kept(agent)] == [
        ("read_file", "read_file"),
        ("list_files", "list_files"),
    ]


def test_a_result_is_of_the_call_before_it_though_the_next_has_the_same_id(agent, talk):
    tell(talk, openai_calls(("call_0", "read_file")))
    tell(talk, openai_result("call_0"), openai_calls(("call_0", "list_files")))
    tell(talk, openai_result("call_0", "two files"))
    assert [(call["tool"], call["result"]) for call in kept(agent)] == [
        ("read_file", DONE),
        ("list_files", "two files"),
    ]


def test_a_call_of_a_tool_of_this_server_is_recorded_once(agent, talk):
    agent.tool("memory_search", query="bees")
    tell(talk, openai_calls(("c1", "memory_search"), ("c2", "read_file")), openai_result("c1"), openai_result("c2"))
    assert [(call["tool"], call["origin"]) for call in kept(agent)] == [
        ("memory_search", "server"),
        ("read_file", "history"),
    ]


def test_what_the_record_cannot_hold_stands_in_the_message_alone(agent, talk):
    made = openai_calls(("c\ud800", "Ada keeps her money under the hive"))
    made["tool_calls"][0]["function"]["arguments"] = "what\x00ever"
    tell(talk, made, openai_result("c\ud800", "x" * LARGEST_JSON))
    call = kept(agent)[0]
    assert (call["tool"], call["arguments"], call["result"]) == ("tool", LEFT_OUT, LEFT_OUT)


def test_arguments_that_are_no_object_are_kept_as_the_input(agent, talk):
    custom = {"id": "c1", "type": "custom", "custom": {"name": "run", "input": "ls hives"}}
    tell(talk, {"role": "assistant", "content": None, "tool_calls": [custom]}, openai_result("c1"))
    assert kept(agent)[0]["arguments"] == {"input": "ls hives"}


def test_a_deleted_conversation_takes_along_what_it_told_of_calls(agent, ada, talk):
    tell(talk, *HISTORIES["openai"])
    agent.post(CALLS, {"calls": [{"tool": "mine", "arguments": ARGUMENTS, "conversation_id": talk.id}]})
    assert agent.delete(talk.path).status_code == 200
    left = {(call["tool"], str(call["arguments"])) for call in kept(agent)}
    assert left == {("read_file", str({"redacted": True})), ("mine", str(ARGUMENTS))}
    assert rows(ada, "SELECT count(*) FROM tool_calls WHERE result::text LIKE '%hives%'")[0][0] == 0


def test_what_is_forgotten_goes_out_of_what_a_history_told(agent, talk):
    memory = agent.store("Ada wants three hives by May")
    tell(talk, openai_calls(("c1", "read_file")), openai_result("c1", "Note: Ada wants three hives by May."))
    agent.delete(f"/v1/memory/entries/{memory}")
    assert [call["result"] for call in kept(agent, origin="history")] == [{"redacted": True}]


def test_a_confined_token_sees_the_calls_that_it_told_of(client, ada, talk):
    tell(talk, *HISTORIES["openai"])
    confined = Agent(client, ada.new_token("read", "write", space="default"))
    tell(Talk(confined, external_id="other"), *HISTORIES["anthropic"], format_="anthropic")
    assert len(kept(confined)) == 2


def test_incognito_records_nothing(agent, talk):
    secret = agent.in_session("quiet")
    secret.post("/v1/memory/incognito/start", {"session": "quiet"})
    answer = secret.post(f"{talk.path}/messages", {"format": "openai", "history": HISTORIES["openai"]})
    assert (answer.status_code, kept(agent)) == (409, [])
