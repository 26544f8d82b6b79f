"""The record of tool calls: what is kept of a call, what agents report, what can be asked."""

from __future__ import annotations

import re
from datetime import datetime
from uuid import uuid4

import pytest
from api_agent import ENTRIES, Agent, add_space, embed, fields
from recorded_calls import CALLS, CONVERSATION, PATHS, SPACE, call, converse, get, listed, report

from memory.clock import utc_now
from memory.models import Conversation
from retrieval.search import query_hash
from webapp.tools import TOOLS

MESSAGE = "X-Commonplace-Message"


@pytest.fixture
def talk(ada):
    return converse(ada, messages=2)


@pytest.mark.parametrize("character", ["\x00", "\ud800", "\U0001d518"])
def test_a_call_with_a_character_that_no_column_holds_is_recorded(agent, character):
    refused = agent.tool("memory_get", item_id=character)
    assert (refused.status_code, fields(refused)) == (422, ["item_id"])
    (call,) = listed(agent)
    assert (call["tool"], call["success"]) == ("memory_get", False)
    assert call["error"].startswith("invalid arguments: item_id: ")


def test_a_call_that_the_token_may_not_make_is_kept_without_its_arguments(agent, client, ada):
    weak = Agent(client, ada.new_token("read"))
    assert weak.tool("memory_delete", item_id=str(uuid4())).status_code == 403
    (kept,) = listed(agent)
    assert (kept["tool"], kept["operation"], kept["success"], kept["arguments"]) == (
        "memory_delete",
        "delete",
        False,
        {},
    )
    assert kept["error"].startswith("the token lacks the scope forget, it has read; ")


@pytest.mark.parametrize(
    ("name", "operation"),
    {
        "memory_search": "search",
        "query_memory": "search",
        "memory_add": "create",
        "memory_get": "read",
        "memory_update": "update",
        "memory_delete": "delete",
        "memory_list_themes": "read",
    }.items(),
)
def test_a_tool_says_what_it_does(name, operation):
    assert TOOLS[name].operation == operation


def test_a_call_is_kept_with_all_that_is_known_of_it(agent, ada, talk):
    memory_id = agent.store("Ada keeps bees on the roof")
    embed(ada)
    response = agent.ask(
        "POST",
        "/v1/tools/memory_search",
        json={"query": "bees"},
        headers={CONVERSATION: talk[0], MESSAGE: talk[1][1]},
    )
    kept = listed(agent)[0]
    assert response.status_code == 200
    assert kept.pop("duration_ms") > 0
    assert kept.pop("id")
    assert datetime.fromisoformat(kept.pop("created_at")) < utc_now()
    assert kept["token"].pop("id")
    assert kept["token"].pop("prefix").startswith("cp_")
    assert kept["result"].pop("ids") == [memory_id]
    assert [len(scores) for scores in kept["result"].pop("scores")] == [4]
    assert kept == {
        "tool": "memory_search",
        "operation": "search",
        "token": {"name": "test"},
        "conversation_id": talk[0],
        "message_id": talk[1][1],
        "correlation_id": response.headers["X-Request-Id"],
        "origin": "server",
        "arguments": {"query": "bees"},
        "result": {"truncated": False, "degraded": []},
        "success": True,
        "error": None,
        "hits": 1,
        "affected_ids": [memory_id],
        "affected_paths": [],
        "query_hash": query_hash("bees"),
    }


def test_a_message_alone_names_its_conversation(agent, talk):
    agent.ask("POST", "/v1/tools/memory_list_themes", headers={MESSAGE: talk[1][0]})
    assert (listed(agent)[0]["conversation_id"], listed(agent)[0]["message_id"]) == (talk[0], talk[1][0])


@pytest.mark.parametrize("header", [CONVERSATION, MESSAGE])
@pytest.mark.parametrize("guess", ["unknown", "anothers", "x", ""])
def test_a_header_that_names_nothing_of_the_callers_stops_the_call(agent, bob, header, guess):
    conversation, messages = converse(bob)
    anothers = conversation if header == CONVERSATION else messages[0]
    value = {"unknown": str(uuid4()), "anothers": anothers}.get(guess, guess)
    answer = agent.ask("POST", "/v1/tools/memory_add", json={"type": "note", "content": "a"}, headers={header: value})
    assert (answer.status_code, fields(answer)) == (422, [header])
    assert (agent.texts(), listed(agent)) == ([], [])


def test_a_message_of_another_conversation_stops_the_call(agent, ada, talk):
    _, messages = converse(ada)
    answer = agent.ask("POST", "/v1/tools/memory_list_themes", headers={CONVERSATION: talk[0], MESSAGE: messages[0]})
    assert fields(answer) == [MESSAGE]


def test_a_conversation_of_another_space_is_none_to_a_confined_token(client, ada, talk):
    confined = Agent(client, ada.new_token("read", space=add_space(ada, "work")))
    own, _ = converse(ada, "work")
    answers = [
        confined.ask("POST", "/v1/tools/memory_list_themes", headers={CONVERSATION: each})
        for each in (talk[0], str(uuid4()), own)
    ]
    assert [answer.status_code for answer in answers] == [422, 422, 200]
    assert answers[0].json["errors"] == answers[1].json["errors"]


@pytest.mark.parametrize("path", ["/v1/tools/memory_list_themes", "/v1/memory/context", "/v1/command"])
@pytest.mark.parametrize("guess", ["nowhere", "anothers", "", "work, default", "Work"])
def test_a_space_that_is_not_the_callers_stops_the_call(agent, ada, bob, path, guess):
    add_space(ada, "work")
    add_space(bob, "anothers")
    body = {"/v1/memory/context": {"query": "bees"}, "/v1/command": {"text": "remember that bees swarm in May"}}
    answer = agent.ask("POST", path, json=body.get(path), headers={SPACE: guess})
    assert (answer.status_code, fields(answer)) == (422, [SPACE])
    assert answer.json["errors"][0]["message"].startswith(f"there is no space {guess!r}")
    assert ("do you mean 'work'?" in answer.text) == (guess == "Work")
    assert (agent.texts(), listed(agent)) == ([], [])


def test_no_space_is_told_a_confined_token_but_its_own(client, ada):
    confined = Agent(client, ada.new_token("read", space=add_space(ada, "work")))
    said = {
        each: confined.ask("POST", "/v1/tools/memory_list_themes", headers={SPACE: each})
        for each in ("default", "none")
    }
    assert [answer.status_code for answer in said.values()] == [422, 422]
    assert [answer.json["errors"][0]["message"] for answer in said.values()] == [
        "there is no space 'default'",
        "there is no space 'none'",
    ]
    assert confined.ask("POST", "/v1/tools/memory_list_themes", headers={SPACE: "work"}).status_code == 200


@pytest.mark.parametrize("header", [CONVERSATION, MESSAGE])
def test_a_call_for_a_space_in_a_conversation_of_another_is_refused(agent, ada, header):
    add_space(ada, "work")
    conversation, messages = converse(ada, add_space(ada, "home"))
    place = {header: conversation if header == CONVERSATION else messages[0]}
    note = {"type": "note", "content": "Bees swarm in May"}
    answer = agent.ask("POST", "/v1/tools/memory_add", json=note, headers={**place, SPACE: "work"})
    assert (answer.status_code, fields(answer), agent.texts()) == (422, [SPACE], [])
    assert agent.ask("POST", "/v1/tools/memory_add", json=note, headers={**place, SPACE: "home"}).status_code == 201


def test_a_call_that_names_a_conversation_is_kept_without_the_space_that_the_header_names(agent, ada):
    add_space(ada, "work")
    talk, _ = converse(ada, add_space(ada, "home"))
    asked = {"query": "swarm", "conversation": str(talk)}
    agent.ask("POST", "/v1/tools/episode_search", json=asked, headers={SPACE: "work"})
    said = {"text": "remember that bees swarm in May", "conversation": str(talk)}
    agent.ask("POST", "/v1/command", json=said, headers={SPACE: "work"})
    assert agent.texts(space="home") == ["bees swarm in May"]
    assert [kept["arguments"] for kept in listed(agent)] == [{"text": said["text"]}, asked]


def test_a_call_for_a_space_tells_nothing_once_that_is_incognito(agent, ada):
    add_space(ada, "work")
    agent.ask("POST", "/v1/tools/query_memory", json={"query": "swarm"}, headers={SPACE: "work"})
    agent.ask("POST", "/v1/tools/query_memory", json={"query": "swarm", "size": 1}, headers={SPACE: "work"})
    refused, asked = listed(agent)
    assert (asked["arguments"], asked["query_hash"]) == ({"query": "swarm", "space": "work"}, query_hash("swarm"))
    assert (refused["arguments"], refused["error"][:17]) == ({"space": "work"}, "invalid arguments")
    agent.post("/v1/memory/settings", {"space": "work", "incognito_default": True})
    assert [(kept["arguments"], kept["error"], kept["query_hash"]) for kept in listed(agent)] == [({}, None, None)] * 2


def test_what_was_asked_in_the_pool_is_not_told_once_that_is_incognito(agent, ada):
    work = add_space(ada, "work")
    talk, _ = converse(ada, work)
    hidden = [
        ("/v1/tools/memory_search", {"query": "swarm"}),
        ("/v1/tools/query_memory", {"query": "swarm"}),
        ("/v1/tools/episode_search", {"query": "swarm"}),
        ("/v1/memory/context", {"query": "swarm"}),
        ("/v1/command", {"text": "what do you remember about the swarm"}),
        ("/v1/command", {"text": "forget what I said about the swarm"}),
    ]
    for path, asked in hidden:
        agent.post(path, asked)
    agent.tool("memory_search", query="swarm", space=work)
    agent.tool("episode_search", query="swarm", conversation=str(talk))
    # Without a space it looks into all of them, and leaves out those that are closed.
    agent.tool("fact_search", query="swarm")
    agent.post("/v1/memory/settings", {"incognito_default": True})
    told = [kept["arguments"] for kept in reversed(listed(agent))]
    assert told[: len(hidden)] == [{}] * len(hidden)
    assert [call.get("query") for call in told[len(hidden) :]] == ["swarm"] * 3


def test_a_call_for_a_space_that_is_incognito_leaves_no_words(agent, ada):
    add_space(ada, "diary", incognito_default=True)
    asked = agent.ask("POST", "/v1/tools/memory_search", json={"query": "secret"}, headers={SPACE: "diary"})
    agent.ask("POST", "/v1/tools/memory_search", json={"query": "secret", "secret": 1}, headers={SPACE: "diary"})
    assert asked.json["degraded"] == ["incognito"]
    told = [(kept["arguments"], kept["query_hash"], kept["error"]) for kept in listed(agent)]
    assert told == [({}, None, "invalid arguments"), ({}, None, None)]


def test_a_failure_keeps_the_question_by_its_hash(agent, talk):
    agent.tool("memory_search", query="a", policy={"alpha": -1})
    kept = listed(agent, success="false")[0]
    said = "PolicyError: alpha: must be a number between 0 and 10"
    assert (kept["error"], kept["query_hash"], kept["hits"]) == (said, query_hash("a"), None)


def test_a_deleted_conversation_leaves_its_calls(agent, ada, talk):
    agent.ask("POST", "/v1/tools/memory_list_themes", headers={CONVERSATION: talk[0], MESSAGE: talk[1][0]})
    with ada.session() as session:
        session.delete(session.get_one(Conversation, (ada.id, talk[0])))
    kept = listed(agent)[0]
    assert (kept["tool"], kept["conversation_id"], kept["message_id"]) == ("memory_list_themes", None, None)


@pytest.mark.parametrize("name", ["memory_search", "query_memory", "memory_add"])
def test_incognito_leaves_neither_the_question_nor_the_place(agent, talk, name):
    hidden = agent.in_session("private")
    hidden.post("/v1/memory/incognito/start")
    arguments = {"type": "note", "content": "secret"} if name == "memory_add" else {"query": "secret"}
    hidden.ask("POST", f"/v1/tools/{name}", json=arguments, headers={CONVERSATION: talk[0]})
    kept = listed(agent)[0]
    assert (kept["arguments"], kept["query_hash"], kept["conversation_id"]) == ({}, None, None)


def test_a_conversation_that_is_incognito_leaves_no_words(agent, ada):
    conversation, _ = converse(ada, add_space(ada, "diary", incognito_default=True))
    agent.ask("POST", "/v1/tools/memory_search", json={"query": "secret"}, headers={CONVERSATION: conversation})
    kept = listed(agent)[0]
    assert (kept["arguments"], kept["query_hash"], kept["conversation_id"]) == ({}, None, None)


def test_recalled_context_is_kept_as_a_call(agent, ada, talk):
    memory_id = agent.store("Ada keeps bees on the roof")
    embed(ada)
    agent.ask("POST", "/v1/memory/context", json={"query": "bees"}, headers={CONVERSATION: talk[0]})
    kept = listed(agent)[0]
    assert (kept["tool"], kept["operation"], kept["affected_ids"]) == ("memory_context", "search", [memory_id])
    assert (kept["conversation_id"], kept["query_hash"]) == (talk[0], query_hash("bees"))


def test_a_context_records_and_counts_what_is_in_it_alone(agent):
    for number in range(6):
        agent.store(f"Hive {number} of the bees stands on the roof beside the chimney")
    whole = agent.post("/v1/memory/context", {"query": "bees"}).json
    assert (whole["count"], whole["truncated"]) == (6, False)
    told = agent.post("/v1/memory/context", {"query": "bees", "token_budget": whole["token_count"] // 2}).json
    shown = re.findall(r'<memory [^>]*id="([^"]+)"', told["context"])
    assert 0 < len(shown) < 6
    assert (told["count"], told["truncated"]) == (len(shown), True)
    kept = listed(agent)[0]
    assert (sorted(kept["affected_ids"]), kept["hits"]) == (sorted(shown), len(shown))
    nothing = agent.post("/v1/memory/context", {"query": "bees", "token_budget": 30}).json
    assert (nothing["context"], nothing["count"], nothing["truncated"]) == ("", 0, True)
    assert listed(agent)[0]["affected_ids"] == []


@pytest.mark.parametrize("undo", ["true", "false"])
def test_a_forgotten_text_is_in_no_answer_at_once(agent, undo):
    secret = "The flowerpot hides the key"
    memory_id = agent.tool("memory_add", type="fact", content=secret).json["id"]
    agent.tool("memory_search", query=f"where: {secret.upper()}")
    report(
        agent,
        call(arguments={"text": [f"As she said: {secret}."]}),
        call(result=secret),
        call(success=False, error=f"cannot write {secret}"),
        call(affected_paths=[f"Notes/{secret}.md", "Notes/other.md"]),
        call(arguments={"text": "Something else"}),
    )
    agent.delete(f"{ENTRIES}/{memory_id}", undo=undo)
    answer = get(agent, CALLS)
    assert "flowerpot" not in answer.text.lower()
    assert "Something else" in answer.text
    assert len(answer.json["calls"]) == 7
    assert "flowerpot" not in get(agent, PATHS).text
    assert "Notes/other.md" in get(agent, PATHS).text


def test_what_is_restored_is_in_the_record_again(agent):
    memory_id = agent.tool("memory_add", type="fact", content="The flowerpot hides the key").json["id"]
    agent.delete(f"{ENTRIES}/{memory_id}", undo="true")
    agent.post(f"{ENTRIES}/{memory_id}/restore")
    assert "flowerpot" in get(agent, CALLS).text


def test_a_redacted_call_still_says_what_it_was(agent):
    memory_id = agent.tool("memory_add", type="fact", content="The flowerpot hides the key").json["id"]
    agent.delete(f"{ENTRIES}/{memory_id}")
    kept = listed(agent)[0]
    assert (kept["tool"], kept["operation"], kept["affected_ids"]) == ("memory_add", "create", [memory_id])
    assert (kept["arguments"], kept["result"], kept["success"]) == ({"redacted": True}, {"redacted": True}, True)
