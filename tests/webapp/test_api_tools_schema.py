"""The schemas of the tools, by the rules of those who read them."""

from __future__ import annotations

from typing import Any

import pytest

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


@pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda tool: tool.name)
def test_a_schema_has_nothing_that_tells_a_model_nothing(tool):
    schema = tool.describe("mcp")["inputSchema"]
    assert (titles(schema), "description" in schema) == ([], False)
