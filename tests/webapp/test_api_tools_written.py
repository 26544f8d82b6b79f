"""How models write a call: null for what they leave out, and lists as text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from api_agent import fields

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


def needed(tool, id_: str) -> dict[str, Any]:
    """Return arguments enough for a tool."""
    given = {"query": "bees", "content": "Ada sells honey", "type": "note", "item_id": id_, "importance": 0.5}
    given |= {"subject": "Ada", "predicate": "sells", "object": "honey"}
    return {name: given[name] for name in tool.arguments.model_fields if name in given}


@pytest.mark.parametrize(("tool", "name"), OPTIONAL, ids=lambda each: getattr(each, "name", each))
def test_null_is_as_left_out(agent, bees, tool, name):
    assert agent.tool(tool.name, **{**needed(tool, bees), name: None}).status_code < 300


@pytest.mark.parametrize(("tool", "name"), NEEDED, ids=lambda each: getattr(each, "name", each))
def test_null_for_what_is_needed_is_refused(agent, bees, tool, name):
    assert fields(agent.tool(tool.name, **{**needed(tool, bees), name: None})) == [name]


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
