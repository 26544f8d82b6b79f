"""The schemas of the tools, by the rules of those who read them."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from api_agent import fields

from webapp.tools import TOOLS

ARGUMENTS = [
    (tool.name, name, field)
    for tool in TOOLS.values()
    for name, field in tool.describe("mcp")["inputSchema"]["properties"].items()
]


def titles(schema: Any) -> list[str]:
    """Return the titles in a schema, at any depth."""
    if isinstance(schema, list):
        return [title for part in schema for title in titles(part)]
    if not isinstance(schema, dict):
        return []
    own = [schema["title"]] if isinstance(schema.get("title"), str) else []
    return own + [title for part in schema.values() for title in titles(part)]


@pytest.mark.parametrize(("tool", "name", "field"), ARGUMENTS)
def test_every_argument_says_what_it_is(tool, name, field):
    assert field.get("description")


@pytest.mark.parametrize("name", ["memory_search", "episode_search"])
def test_a_model_is_told_how_to_see_what_a_search_withheld(name):
    assert "`withheld`" in TOOLS[name].describe("mcp")["inputSchema"]["properties"]["min_score"]["description"]


@pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda tool: tool.name)
def test_a_schema_has_nothing_that_tells_a_model_nothing(tool):
    schema = tool.describe("mcp")["inputSchema"]
    assert (titles(schema), "description" in schema) == ([], False)
    assert [name for name, field in schema["properties"].items() if field.get("default", ...) is None] == []


@pytest.mark.parametrize(
    ("name", "reads", "destroys"),
    [
        ("memory_search", True, False),
        ("memory_add", False, False),
        ("memory_get", True, False),
        ("memory_update", False, True),
        ("memory_delete", False, True),
        ("memory_list_themes", True, False),
        ("query_memory", True, False),
    ],
)
def test_mcp_is_told_what_a_tool_may_do(agent, name, reads, destroys):
    hints = {tool["name"]: tool["annotations"] for tool in agent.get("/v1/tools", format="mcp").json["tools"]}
    assert hints[name] == {"readOnlyHint": reads, "destructiveHint": destroys, "openWorldHint": False}


def test_mcp_is_told_which_tools_the_model_is_to_see_without_looking_for_them(agent):
    told = {tool["name"]: tool.get("_meta") for tool in agent.get("/v1/tools", format="mcp").json["tools"]}
    assert {name for name, meta in told.items() if meta} == {"memory_search", "memory_add"}
    # What Claude Code looks at.
    assert told["memory_search"] == {"anthropic/alwaysLoad": True}


# --- strict -----------------------------------------------------------------------------------------------------------

STRICT = [tool.describe("openai", strictly=True)["function"] for tool in TOOLS.values()]
# What some models refuse in a strict schema.
REFUSED = {
    "default",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "pattern",
    "format",
    "title",
}


def keywords(schema: Any) -> set[str]:
    """Return the keywords that a schema uses, those of its parts too."""
    parts = [*schema.get("properties", {}).values(), *schema.get("anyOf", []), *filter(None, [schema.get("items")])]
    return set(schema).union(*map(keywords, parts))


@pytest.mark.parametrize("function", STRICT, ids=lambda function: function["name"])
def test_a_strict_schema_is_strict_to_the_agents_sdk(function):
    # Here, as every process of the tests reads this file, and one of them runs it.
    from agents.strict_schema import ensure_strict_json_schema

    schema = function["parameters"]
    assert ensure_strict_json_schema(deepcopy(schema)) == schema
    assert (function["strict"], keywords(schema) & REFUSED) == (True, set())


@pytest.mark.parametrize("function", STRICT, ids=lambda function: function["name"])
def test_a_strict_schema_takes_what_the_tool_takes(function):
    model = TOOLS[function["name"]].arguments.model_fields
    fields_of = function["parameters"]["properties"]
    assert list(fields_of) == list(model)
    nullable = {name for name, field in fields_of.items() if {"type": "null"} in field.get("anyOf", [])}
    required = set(TOOLS[function["name"]].describe("mcp")["inputSchema"].get("required", []))
    assert nullable == set(model) - required


def filled(function: dict[str, Any], ids: dict[str, str]) -> dict[str, Any]:
    """Return what a model writes that has nothing to say but what it must."""
    return {
        name: None if "anyOf" in field else ids.get(name, field.get("enum", ["bees on the roof"])[0])
        for name, field in function["parameters"]["properties"].items()
    }


# A change of nothing is none.
CALLED = [function for function in STRICT if function["name"] not in {"memory_update", "fact_update"}]


@pytest.mark.parametrize("function", CALLED, ids=lambda function: function["name"])
def test_what_a_strict_model_writes_is_taken(agent, function):
    fact = agent.tool("fact_add", subject="Ada", predicate="sells", object="honey").json["id"]
    given = filled(function, {"item_id": agent.store("Ada keeps bees on the roof"), "fact_id": fact})
    assert agent.tool(function["name"], **given).status_code < 300


def test_the_strict_tools_are_answered(agent):
    answer = agent.get("/v1/tools", format="openai", strict="true").json
    assert [tool["function"] for tool in answer] == STRICT


@pytest.mark.parametrize("format_", ["plain", "anthropic", "mcp"])
def test_other_formats_are_not_strict(agent, format_):
    assert fields(agent.get("/v1/tools", format=format_, strict="true")) == ["strict"]
