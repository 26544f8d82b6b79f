"""How models write a call: null for what they leave out, and lists as text."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from api_agent import NOBODYS_ID, Agent, add_space, fields, rows

from webapp.tools import TOOLS

FIELDS = [(tool, name, field) for tool in TOOLS.values() for name, field in tool.arguments.model_fields.items()]
OPTIONAL = [(tool, name) for tool, name, field in FIELDS if not field.is_required()]
NEEDED = [(tool, name) for tool, name, field in FIELDS if field.is_required()]
LISTS = [
    ("memory_add", "tags", ["roof", "bees, mostly"]),
    ("memory_add", "source_ids", ["m-1"]),
    ("memory_update", "tags", ["roof"]),
]


@pytest.fixture
def bees(agent):
    return agent.store("Ada keeps bees on the roof", type="fact")


@pytest.fixture
def honey(agent):
    return agent.tool("fact_add", subject="Ada", predicate="sells", object="honey").json["id"]


def needed(tool, id_: str, fact_id: str = NOBODYS_ID) -> dict[str, Any]:
    """Return arguments enough for a tool."""
    given = {"query": "bees", "content": "Ada sells honey", "type": "note", "item_id": id_, "importance": 0.5}
    given |= {"subject": "Ada", "predicate": "sells", "object": "honey", "confidence": 0.5, "fact_id": fact_id}
    return {name: given[name] for name in tool.arguments.model_fields if name in given}


@pytest.mark.parametrize(("tool", "name"), OPTIONAL, ids=lambda each: getattr(each, "name", each))
def test_null_is_as_left_out(agent, bees, honey, tool, name):
    assert agent.tool(tool.name, **{**needed(tool, bees, honey), name: None}).status_code < 300


@pytest.mark.parametrize(("tool", "name"), NEEDED, ids=lambda each: getattr(each, "name", each))
def test_null_for_what_is_needed_is_refused(agent, bees, tool, name):
    assert fields(agent.tool(tool.name, **{**needed(tool, bees), name: None})) == [name]


# What agents are told to say, as the specification has it, and the server does without: of no type, it is a note.
FORGIVEN = {("memory_add", "type")}
# A change of nothing is none.
UNCHANGED = ["memory_update", "fact_update"]


@pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda each: each.name)
def test_a_schema_requires_what_a_call_cannot_do_without_and_nothing_else(agent, bees, honey, tool):
    schema = tool.describe("mcp")["inputSchema"]
    required = schema.get("required", [])
    given = {name: value for name, value in needed(tool, bees, honey).items() if name in required}
    less = {left: agent.tool(tool.name, **{name: given[name] for name in given if name != left}) for left in given}
    taken = {(tool.name, name) for name, answer in less.items() if answer.status_code < 300}
    assert (set(given), taken) == (set(required), {each for each in FORGIVEN if each[0] == tool.name})
    assert all(fields(answer) == [name] for name, answer in less.items() if answer.status_code >= 300)
    whole = agent.tool(tool.name, **given)
    assert whole.status_code < 300 or (tool.name in UNCHANGED and fields(whole) == ["body"])
    assert not [name for name in required if "default" in schema["properties"][name]]


def test_null_for_a_field_that_there_is_not_is_refused(agent):
    assert fields(agent.tool("memory_search", query="bees", colour=None)) == ["colour"]


def test_a_change_to_null_alone_is_none(agent, bees):
    assert fields(agent.tool("memory_update", item_id=bees, tags=None, theme=None)) == ["body"]


@pytest.mark.parametrize(("tool", "name", "value"), LISTS)
def test_a_list_may_be_written_as_text(agent, bees, tool, name, value):
    answer = agent.tool(tool, **{**needed(TOOLS[tool], bees), name: json.dumps(value)})
    assert agent.entry(answer.json["id"])[name] == value


@pytest.mark.parametrize(("tool", "found"), [("memory_search", "results"), ("query_memory", "memories")])
@pytest.mark.parametrize(("types", "count"), [('["fact"]', 1), ('["note", "decision"]', 0), ("[]", 1)])
def test_types_may_be_written_as_text(agent, bees, tool, found, types, count):
    assert len(agent.tool(tool, query="bees on the roof", types=types).json[found]) == count


@pytest.mark.parametrize("value", ["fact", "fact, note", '"fact"', "{}", "[fact]", "[" * 50_000])
def test_another_text_is_no_list(agent, value):
    assert fields(agent.tool("memory_search", query="bees", types=value)) == ["types"]


@pytest.mark.parametrize("theme", ["Home Improvement", " home  improvement ", "home-improvement", "HOME-improvement"])
def test_a_theme_may_be_named_as_people_write_it(agent, theme):
    added = agent.tool("memory_add", type="fact", content="The boiler was serviced", theme=theme).json["id"]
    assert agent.entry(added)["theme"] == "home-improvement"
    changed = agent.tool("memory_update", item_id=agent.store("The roof leaks"), theme=theme).json
    assert changed["theme"] == "home-improvement"
    assert sorted(agent.found("boiler roof", theme=theme, min_score=0)) == ["The boiler was serviced", "The roof leaks"]


@pytest.mark.parametrize("theme", ["C++", "K\u00fcche", "a" * 65, "-"])
def test_a_theme_whose_name_would_lose_something_is_refused(agent, theme):
    assert fields(agent.tool("memory_add", type="fact", content="The boiler was serviced", theme=theme)) == ["theme"]


@pytest.mark.parametrize("theme", ["", " "])
def test_a_search_of_an_empty_theme_is_of_any(agent, bees, theme):
    assert agent.found("bees on the roof", theme=theme) == ["Ada keeps bees on the roof"]


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("memory_get", {"id": NOBODYS_ID}, "id: is not taken here; there is item_id"),
        ("memory_list_themes", {"limit": 3}, "limit: is not taken here; there are none"),
        ("query_memory", {"query": "bees", "limit": 3}, "limit: is not taken here; there are query, types"),
        ("memory_get", {"item_id": "018f2b6e"}, "item_id: must be an id of ours, whole, as an answer has it"),
        ("memory_get", {"item_id": [NOBODYS_ID]}, "item_id: must be an id of ours, whole, as an answer has it"),
        ("memory_add", {"type": "note", "content": "Bees", "tags": "roof, bees"}, "tags: must be a list"),
        ("memory_search", {"query": "bees", "theme": "roofs"}, "; memory_list_themes answers those there are"),
        (
            "memory_update",
            {"item_id": NOBODYS_ID},
            "of content, type, theme, tags, importance, expires_at, status, supersedes",
        ),
        ("fact_update", {"fact_id": NOBODYS_ID}, "of valid_until, object, valid_from, confidence"),
        ("fact_delete", {"fact_id": NOBODYS_ID}, "there is no such fact; it may be forgotten, or the id of something"),
    ],
)
def test_a_model_is_told_what_to_call_instead(agent, tool, arguments, said):
    assert said in agent.tool(tool, **arguments).json["detail"]


def test_an_agent_is_told_that_what_it_adds_holds_a_credential(agent):
    said = ("CI pushes with ghp_16C7e42F292c6912E7710c838347Ae178B4a", "CI pushes each night")
    added = [agent.tool("memory_add", type="fact", content=each).json for each in said]
    assert [each["trace"]["credentials"] for each in added] == [["GitHub token"], []]


CALL = re.compile(r"call memory_update with \w+ id and \w+(?: one)? as supersedes")


def test_a_model_is_told_how_what_it_adds_replaces_another(agent, bees):
    first = agent.tool("memory_add", type="fact", content="The kiln is booked for 3 March").json["id"]
    added = agent.tool("memory_add", type="fact", content="The kiln is booked for 5 March").json
    assert added["trace"]["possible_update_of"] == [first]
    told = {"id": first, "content": "The kiln is booked for 3 March", "differs_in": "date"}
    assert added["possible_updates"] == [told]
    assert CALL.search(TOOLS["memory_add"].description)
    agent.tool("memory_update", item_id=added["id"], supersedes=first)
    assert agent.found("When is the kiln booked?") == ["The kiln is booked for 5 March"]
    for read in (agent.tool("memory_get", item_id=first).json, agent.entry(first)):
        assert (read["status"], read["superseded_by"], read["possible_updates"]) == ("superseded", [added["id"]], [])
    assert agent.entry(added["id"])["possible_updates"] == []


def test_what_is_gone_is_nothing_that_could_be_updated(agent, ada):
    first = agent.tool("memory_add", content="The ferry leaves on 3 April").json["id"]
    rows(ada, "UPDATE memories SET expires_at = now() - interval '1 minute' RETURNING id")
    added = agent.tool("memory_add", content="The ferry leaves on 5 April").json
    assert (added["trace"]["reason"], added["trace"]["possible_update_of"]) == ("new", [])
    rows(ada, "UPDATE memories SET expires_at = NULL RETURNING id")
    third = agent.tool("memory_add", content="The ferry leaves on 7 April").json
    assert len(third["possible_updates"]) == 2
    rows(ada, f"UPDATE memories SET expires_at = now() - interval '1 minute' WHERE id = '{first}' RETURNING id")
    for read in (agent.tool("memory_get", item_id=third["id"]).json, agent.entry(third["id"])):
        assert [each["id"] for each in read["possible_updates"]] == [added["id"]]


def test_of_long_memories_that_may_be_updated_the_beginning_is_told(agent):
    minutes = " ".join(f"w{number}" for number in range(8000))
    for day in (3, 4, 5, 6):
        added = agent.tool("memory_add", content=f"Minutes of {day} March: {minutes}")
    told = [each["content"] for each in added.json["possible_updates"]]
    assert [each[:19] for each in told] == [f"Minutes of {day} March:" for day in (3, 4, 5)]
    assert all(each.endswith("…") and len(each) < 1100 for each in told)


def test_a_model_is_told_what_to_do_with_two_memories_that_would_say_the_same(agent):
    first, second = (agent.store(f"The kiln is booked for {day} March") for day in (3, 5))
    refused = agent.tool("memory_update", item_id=first, content="The kiln is booked for 5 March")
    assert (refused.status_code, second in refused.json["detail"]) == (409, True)
    assert CALL.search(refused.json["detail"])
    agent.tool("memory_update", item_id=second, supersedes=first)
    assert agent.found("When is the kiln booked?") == ["The kiln is booked for 5 March"]


@pytest.mark.parametrize(
    "moment", ["yesterday", "2024-05-01", "2024-05-01T09:00:00", "May 2024", "", "2024-13-01T00:00:00Z"]
)
def test_a_moment_that_is_none_is_answered_with_how_one_is_written(agent, moment):
    told = "must be a date and time with a zone, such as 2024-05-01T09:00:00Z"
    assert agent.tool("fact_search", at=moment).json["errors"] == [{"field": "at", "message": told}]
    stated = {"subject": "Ada", "predicate": "sells", "object": "honey", "valid_from": moment}
    assert agent.tool("fact_add", **stated).json["detail"] == f"valid_from: {told}"


@pytest.mark.parametrize("tool", ["memory_search", "memory_add", "fact_search", "episode_search"])
def test_who_names_a_space_that_there_is_not_is_told_those_there_are(agent, ada, tool):
    add_space(ada, "studio")
    given = {**needed(TOOLS[tool], NOBODYS_ID), "space": "work"}
    assert agent.tool(tool, **given).json["detail"] == "space: there is no space 'work'; there are default, studio"


NOWHERE = [
    ("POST", "/v1/memory/entries", {"json": {"text": "Bees hum", "space": "work"}}, ["space"]),
    ("GET", "/v1/memory/entries", {"query_string": {"space": "work"}}, ["space"]),
    ("POST", "/v1/conversations", {"json": {"space": "work"}}, ["space"]),
    ("GET", "/v1/spaces/work", {}, []),
    ("POST", "/v1/spaces/work/shares", {"json": {"tag": "heat", "found_in": "studio"}}, []),
    ("POST", "/v1/spaces/studio/shares", {"json": {"tag": "heat", "found_in": "work"}}, ["found_in"]),
]


@pytest.mark.parametrize(("method", "path", "sent", "field"), NOWHERE)
def test_whoever_asks_anywhere_for_a_space_that_there_is_not_is_told_those_there_are(
    agent, ada, method, path, sent, field
):
    add_space(ada, "studio")
    refused = agent.ask(method, path, **sent)
    assert (refused.status_code, fields(refused)) == (422 if field else 404, field)
    assert refused.json["detail"].endswith("there is no space 'work'; there are default, studio")


@pytest.mark.parametrize(("method", "path", "sent", "field"), [each for each in NOWHERE if "shares" not in each[1]])
def test_a_confined_token_is_told_of_no_other_space_anywhere(agent, ada, method, path, sent, field):
    confined = Agent(agent.client, ada.new_token("read", "write", space=add_space(ada, "studio")))
    said = confined.ask(method, path, **sent).json["detail"]
    assert said.endswith("there is no space 'work'" + ("; leave it out" if field else ""))


def test_no_more_than_ten_spaces_are_told(agent, ada):
    for number in range(10):
        add_space(ada, f"project-{number}")
    assert agent.tool("memory_search", query="bees", space="work").json["detail"].endswith("project-8 and more")


def test_a_token_that_may_not_read_is_told_the_names_of_no_spaces(agent, ada):
    add_space(ada, "studio")
    writer = Agent(agent.client, ada.new_token("write"))
    refused = writer.tool("memory_add", type="note", content="Bees", space="work")
    assert refused.json["detail"] == "space: there is no space 'work'; leave it out"


def test_a_confined_token_is_told_the_name_of_no_other_space(agent, ada):
    confined = Agent(agent.client, ada.new_token("read", space=add_space(ada, "studio")))
    for space in ("default", "work"):
        told = confined.tool("memory_search", query="bees", space=space).json["detail"]
        assert told == f"space: there is no space '{space}'; leave it out"
