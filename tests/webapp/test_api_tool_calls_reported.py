"""Tool calls that agents report: what is kept of them, what is a repeat, what is refused."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from api_agent import ENTRIES, NOBODYS_ID, Agent, add_space, fields, rows
from recorded_calls import CALLS, NOTES, PATHS, call, converse, listed, report

from memory.clock import utc_now


@pytest.fixture
def talk(ada):
    return converse(ada, messages=2)


def test_an_agents_own_call_is_kept_as_it_was_given(agent, talk):
    given = call(
        operation="create",
        arguments={"path": "a", "deep": [[[[{"x": None, "ä": "“”\n"}]]]]},
        result={"ok": True, "n": 1.5},
        affected_ids=[str(uuid4())],
        affected_paths=["Projects/alpha.md", "Daily/2026-01-15.md"],
        conversation_id=talk[0],
        message_id=talk[1][0],
        created_at="2026-01-15T10:00:00+01:00",
        error=None,
    )
    answer = report(agent, given)
    kept = listed(agent)[0]
    assert (answer.status_code, answer.json["stored"], answer.json["calls"][0]["status"]) == (201, 1, "stored")
    assert kept["id"] == answer.json["calls"][0]["id"]
    assert (kept.pop("origin"), kept.pop("created_at")) == ("external", "2026-01-15T09:00:00+00:00")
    assert {name: kept[name] for name in given if name != "created_at"} == {
        name: value for name, value in given.items() if name != "created_at"
    }


@pytest.mark.parametrize("result", [None, "text", 5, [1, "two"], {"a": {}}])
def test_a_result_may_be_any_json(agent, result):
    report(agent, call(result=result))
    assert listed(agent)[0]["result"] == result


def test_how_long_a_call_took_is_unknown_where_nobody_says_so(agent):
    report(agent, call(duration_ms=None), {"tool": NOTES}, call(duration_ms=0))
    assert [each["duration_ms"] for each in listed(agent)][::-1] == [None, None, 0]


def test_a_failed_call_says_why(agent):
    report(agent, call(success=False, error="the file is locked"))
    kept = listed(agent, success="false")
    assert [each["error"] for each in kept] == ["the file is locked"]


def test_no_call_is_reported_from_the_days_to_come(agent):
    ahead = [(utc_now() + timedelta(days=days)).isoformat() for days in (0.5, 2)]
    refused = report(agent, call(), call(created_at=ahead[1]))
    assert (refused.status_code, fields(refused), listed(agent)) == (422, ["calls.1.created_at"], [])
    assert report(agent, call(created_at=ahead[0])).status_code == 201


def test_a_hundred_calls_are_one_request(agent, ada):
    assert report(agent, *[call(duration_ms=n) for n in range(100)]).json["stored"] == 100
    assert rows(ada, "SELECT count(*) FROM tool_calls")[0][0] == 100


@pytest.mark.parametrize("calls", [[], [call()] * 101, "x", None])
def test_no_calls_or_too_many_are_refused(agent, calls):
    assert fields(agent.post(CALLS, {"calls": calls})) == ["calls"]


def test_a_call_that_is_reported_again_is_kept_once(agent):
    said = call(client_id="call_abc", arguments={"n": 1e23, "zero": -0.0, "whole": 2.0}, result=[1, None])
    first = report(agent, said, said)
    again = report(agent, said, call(client_id="call_def"))
    assert [each["status"] for each in first.json["calls"] + again.json["calls"]] == [
        "stored",
        "known",
        "known",
        "stored",
    ]
    assert first.json["calls"][0]["id"] == again.json["calls"][0]["id"]
    assert (again.status_code, report(agent, call(client_id="call_def")).status_code) == (201, 200)
    assert len(listed(agent)) == 2


def test_a_call_that_took_no_time_is_known_again_whether_that_was_said_or_not(agent):
    # What was kept as 0 before, the schema keeps as not said.
    report(agent, call(client_id="unsaid", duration_ms=None), call(client_id="said", duration_ms=0))
    again = report(agent, call(client_id="unsaid", duration_ms=0), call(client_id="said", duration_ms=None))
    assert (again.status_code, again.json["stored"]) == (200, 0)


OTHER = {
    "operation": "delete",
    "arguments": {"a": True},
    "result": [1],
    "success": False,
    "affected_paths": [],
    "created_at": "2026-01-15T10:00:00Z",
}


@pytest.mark.parametrize("field", OTHER)
def test_a_call_with_other_content_is_no_repeat(agent, field):
    kept = call(client_id="call_abc", arguments={"a": 1})
    report(agent, kept)
    answer = report(agent, call(), {**kept, field: OTHER[field]})
    assert (answer.status_code, fields(answer)) == (409, ["calls.1.client_id"])
    assert [each["operation"] for each in listed(agent)] == ["update"]


def test_two_calls_of_one_client_id_with_other_content_are_refused_together(agent):
    answer = report(agent, call(client_id="call_abc"), call(client_id="call_abc", operation="delete"))
    assert (answer.status_code, fields(answer), listed(agent)) == (409, ["calls.1.client_id"], [])


def test_a_call_that_was_redacted_is_known_when_it_is_reported_again(agent):
    memory_id = agent.store("Her locker has the number 4711-ABC")
    said = call(client_id="call_abc", arguments={"text": "Her locker has the number 4711-ABC"})
    report(agent, said)
    agent.delete(f"{ENTRIES}/{memory_id}")
    assert report(agent, said).json["calls"][0]["status"] == "known"
    assert report(agent, {**said, "operation": "delete"}).status_code == 409


def test_a_client_id_means_nothing_to_another_token(agent, client, ada, stranger):
    other = Agent(client, ada.new_token("read", "write"))
    answers = [report(each, call(client_id="call_abc")) for each in (agent, other, stranger)]
    assert [answer.status_code for answer in answers] == [201, 201, 201]
    assert len({answer.json["calls"][0]["id"] for answer in answers}) == 3


BAD = {
    "tool": ["", "two words", "x" * 101, None, "tool\n"],
    "operation": ["", "x" * 51, "a b"],
    "arguments": [[], "x", {"a": "\x00"}, {"\x00": 1}, {"a": "\ud800"}, {"a": "x" * 65_536}],
    "result": ["\x00", ["\ud800"], "x" * 65_536],
    "error": ["x" * 2001, "\x00"],
    "duration_ms": [-1, 1e10, "long"],
    "affected_ids": [["x"], [NOBODYS_ID] * 101],
    "affected_paths": [[""], ["x" * 1025], ["a\x00"], ["a"] * 101, "a"],
    "conversation_id": ["x", NOBODYS_ID],
    "message_id": ["x", NOBODYS_ID],
    "client_id": ["", "x" * 201, "\x00"],
    "created_at": ["yesterday", "2026-01-15T10:00:00", "0001-01-01T00:00:00+14:00"],
    "origin": ["server"],
    "user_id": [NOBODYS_ID],
}


@pytest.mark.parametrize(("field", "value"), [(field, value) for field in BAD for value in BAD[field]])
def test_a_bad_field_is_named_and_nothing_is_kept(agent, field, value):
    answer = report(agent, call(), call(**{field: value}))
    assert answer.status_code == 422
    assert fields(answer)[0].startswith(f"calls.1.{field}")
    assert listed(agent) == []


@pytest.mark.parametrize("number", ["NaN", "Infinity"])
@pytest.mark.parametrize("field", ["arguments", "result"])
def test_numbers_that_are_no_json_are_refused(agent, number, field):
    body = f'{{"calls": [{{"tool": "t", "{field}": {{"n": {number}}}}}]}}'
    assert fields(agent.ask("POST", CALLS, data=body, content_type="application/json")) == [f"calls.0.{field}"]


def test_json_that_is_nested_too_deeply_is_refused(agent):
    deep = {"a": 1}
    for _ in range(40):
        deep = {"a": deep}
    assert fields(report(agent, call(arguments=deep))) == ["calls.0.arguments"]


@pytest.mark.parametrize("field", ["conversation_id", "message_id"])
def test_a_call_cannot_be_hung_on_anothers_conversation(agent, bob, field):
    conversation, messages = converse(bob)
    value = conversation if field == "conversation_id" else messages[0]
    guesses = [report(agent, call(**{field: each})) for each in (value, str(uuid4()))]
    assert guesses[0].json["errors"] == guesses[1].json["errors"]


def test_reporting_needs_the_scope_write(client, ada):
    assert report(Agent(client, ada.new_token("read")), call()).status_code == 403


@pytest.mark.parametrize("path", [CALLS, PATHS])
def test_reading_needs_the_scope_read(client, ada, path):
    assert Agent(client, ada.new_token("write")).get(path).status_code == 403


@pytest.mark.parametrize("default", [False, True])
def test_incognito_keeps_no_report(agent, ada, default):
    conversation, _ = converse(ada, add_space(ada, "diary", incognito_default=True))
    hidden = agent if default else agent.in_session("private")
    if not default:
        hidden.post("/v1/memory/incognito/start")
    answer = report(hidden, call(conversation_id=conversation if default else None))
    assert (answer.status_code, answer.json["reason"]) == (409, "incognito")
    assert listed(agent) == []


@pytest.mark.parametrize(("path", "name"), [(CALLS, "calls"), (PATHS, "paths")])
def test_incognito_is_shown_no_record(agent, path, name):
    report(agent, call())
    hidden = agent.in_session("private")
    hidden.post("/v1/memory/incognito/start")
    assert (hidden.get(path).json[name], hidden.get(path).json["skipped"]) == ([], "incognito")
