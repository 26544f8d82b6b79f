"""Nothing is sent twice under one name: a proxy that looks at the first would let through what the last says.

Nor is anything sent that nobody reads: who asked for it would take it for done.
"""

from __future__ import annotations

import json

import pytest
from api_agent import ENTRIES, fields, memories_of

from memory.errors import InvalidError
from webapp.given_once import read_json


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        (ENTRIES, '{"text": "Bees hum", "space": "default", "space": "default"}', "space"),
        (ENTRIES, '{"text": "Bees hum", "text": "Bees hum"}', "text"),
        (f"{ENTRIES}/batch", '{"entries": [{"text": "Bees hum"}, {"text": "a", "text": "b"}]}', "entries.1.text"),
        ("/v1/tools/memory_add", '{"type": "note", "content": "Bees hum", "type": "fact"}', "type"),
        ("/v1/memory/settings", '{"memory_enabled": true, "memory_enabled": false}', "memory_enabled"),
        ("/v1/spaces", '{"slug": "bees", "policy": {"name": "balanced", "name": "specified"}}', "policy.name"),
    ],
)
def test_a_field_that_is_there_twice_is_named_and_nothing_is_changed(agent, ada, path, body, field):
    response = agent.ask("POST", path, data=body, content_type="application/json")
    assert (response.status_code, fields(response)) == (422, [field])
    assert memories_of(ada) == 0
    assert agent.get("/v1/memory/settings").json["memory_enabled"] is True


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ('{"a": {"b": 1, "b": 2}}', "a.b"),
        ('{"a": {"x": 1, "x": 2}, "a": 3}', "a"),
        ('[{}, [{"b": [{"c": 1, "c": 1}]}]]', "1.0.b.0.c"),
        ('{"\\u0061": 1, "a": 1}', "a"),
    ],
)
def test_the_name_is_told_with_its_path(written, path):
    with pytest.raises(InvalidError) as refused:
        read_json(written)
    assert refused.value.field == path


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        (ENTRIES, '{{"text": "Bees hum", "importance": {}}}', "importance"),
        ("/v1/tools/memory_search", '{{"query": "bees", "limit": {}}}', "limit"),
        ("/v1/tool-calls", '{{"calls": [{{"tool": "count", "result": [1, -{}]}}]}}', "calls.0.result.1"),
        (ENTRIES, "{}", "body"),
    ],
)
def test_a_number_of_more_digits_than_can_be_read_is_named(agent, path, body, field):
    response = agent.ask("POST", path, data=body.format("9" * 5000), content_type="application/json")
    assert (response.status_code, response.json["errors"]) == (
        422,
        [{"field": field, "message": "has too many digits"}],
    )


@pytest.mark.parametrize(
    ("encoding", "status"), [("utf-8", 201), ("utf-8-sig", 201), ("utf-16", 400), ("utf-32-le", 400)]
)
def test_json_is_read_in_utf_8_alone(agent, encoding, status):
    body = '{"text": "Bees hum in März"}'.encode(encoding)
    response = agent.ask("POST", ENTRIES, data=body, content_type="application/json")
    told = [found["field"] for found in response.json.get("errors", ())]
    assert (response.status_code, told) == (status, [] if status == 201 else ["body"])


def test_equal_names_in_different_objects_are_no_repetition():
    written = '{"a": {"a": [{"a": 1}, {"a": 1}]}, "b": {"a": 1}}'
    assert read_json(written) == json.loads(written)


@pytest.mark.parametrize(
    ("address", "field"),
    [
        (f"{ENTRIES}?space=default&space=default", "space"),
        (f"{ENTRIES}?limit=1&pinned=true&limit=2", "limit"),
        ("/v1/tool-calls?tool=a&tool=b&success=true&success=false", "success"),
    ],
)
def test_a_query_that_has_a_field_twice_is_refused(agent, address, field):
    response = agent.ask("GET", address)
    assert (response.status_code, fields(response)) == (422, [field])


def test_a_list_in_a_query_has_its_name_as_often_as_it_needs(agent):
    agent.store("Bees hum")
    for tool in ("memory_search", "memory_list_themes", "query_memory"):
        agent.tool(tool, **({} if tool == "memory_list_themes" else {"query": "bees"}))
    calls = agent.ask("GET", "/v1/tool-calls?tool=memory_search&tool=query_memory").json["calls"]
    assert [call["tool"] for call in calls] == ["query_memory", "memory_search"]


def test_a_streamed_line_says_each_thing_once(agent):
    talk = agent.post("/v1/conversations", {}).json["id"]
    body = '{"role": "user"}\n{"delta": "Bees ", "delta": "hum"}\n{"done": true}\n'
    response = agent.ask("POST", f"/v1/conversations/{talk}/messages/stream", data=body)
    assert (response.status_code, fields(response)) == (422, ["line 2"])
    assert agent.get(f"/v1/conversations/{talk}").json["message_count"] == 0


UNREAD = [
    ("DELETE", f"{ENTRIES}/{{}}", {"json": {"undo": True}}, "undo"),
    ("POST", f"{ENTRIES}/{{}}/pin", {"json": {"space": "default"}}, "space"),
    ("POST", f"{ENTRIES}/{{}}/pin", {"query_string": {"pinned": "false"}}, "pinned"),
    ("POST", ENTRIES, {"json": {"text": "Wasps sting"}, "query_string": {"space": "default"}}, "space"),
    ("PATCH", f"{ENTRIES}/{{}}", {"json": {"text": "Wasps sting"}, "query_string": {"type": "fact"}}, "type"),
    ("GET", f"{ENTRIES}/{{}}", {"query_string": {"fields": "text"}}, "fields"),
    ("GET", ENTRIES, {"json": {"space": "default"}}, "space"),
    ("DELETE", f"{ENTRIES}/{{}}", {"json": {"": True}}, "body"),
    ("DELETE", f"{ENTRIES}/{{}}", {"query_string": "=&=true"}, "query"),
]


@pytest.mark.parametrize(("method", "path", "sent", "field"), UNREAD)
def test_what_an_address_does_not_take_is_named_and_nothing_is_done(agent, method, path, sent, field):
    memory_id = agent.store("Bees hum")
    response = agent.ask(method, path.format(memory_id), **sent)
    assert (response.status_code, fields(response)) == (422, [field])
    (entry,) = agent.get(ENTRIES).json["entries"]
    assert (entry["text"], entry["pinned"], entry["version"]) == ("Bees hum", False, 1)


def test_what_belongs_behind_the_address_is_told_to_who_sends_it_in_a_body(agent):
    response = agent.ask("DELETE", f"{ENTRIES}/{agent.store('Bees hum')}", json={"undo": True})
    said = "is taken behind the address here, as ?undo=, and in no body"
    assert response.json["errors"] == [{"field": "undo", "message": said}]


def test_an_empty_body_is_taken_everywhere(agent):
    memory_id = agent.store("Bees hum")
    assert agent.post(f"{ENTRIES}/{memory_id}/pin", {}).json["pinned"] is True
    assert agent.ask("DELETE", f"{ENTRIES}/{memory_id}", json={}).json["forgotten"] is True


BESIDE = [
    (ENTRIES, {"text": "Bees hum", "kind": "note"}, "kind", "text, space, type"),
    (f"{ENTRIES}/batch", {"entries": [{"text": "Bees hum"}, {"body": "a"}]}, "entries.1.body", "text, space, type"),
    ("/v1/conversations/{}/messages", {"messages": [{"role": "user", "text": "Hi"}]}, "messages.0.text", "content"),
    ("/v1/tool-calls", {"calls": [{"name": "count"}]}, "calls.0.name", "tool"),
    ("/v1/spaces", {"slug": "bees", "label": "Bees"}, "label", "slug, name"),
]


@pytest.mark.parametrize(("path", "body", "field", "told"), BESIDE)
def test_who_sends_an_unknown_field_is_told_those_there_are(agent, path, body, field, told):
    errors = agent.post(path.format(agent.post("/v1/conversations", {}).json["id"]), body).json["errors"]
    (said,) = (error["message"] for error in errors if error["field"] == field)
    assert said.startswith("is not taken here; there are ")
    assert told in said


def test_who_asks_with_an_unknown_field_is_told_those_there_are(agent):
    assert agent.get(ENTRIES, limti=1).json["detail"].endswith(", order, limit, cursor")
