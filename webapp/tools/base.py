"""What every tool is: a name, a schema, a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel


@dataclass(frozen=True, slots=True)
class ToolResult:
    """An answer, and what of it the journal keeps: `summary` without text, ids, the number of hits."""

    answer: dict[str, Any]
    summary: dict[str, Any] = field(default_factory=dict)
    affected: tuple[str, ...] = ()
    hits: int | None = None
    private: bool = False
    status: int = 200


@dataclass(frozen=True, slots=True)
class Tool:
    """A named function with a schema; `scope` is what a token needs for it."""

    name: str
    description: str
    arguments: type[BaseModel]
    scope: str
    run: Callable[[Any], ToolResult]

    def describe(self, format_: str) -> dict[str, Any]:
        """Return the tool in the shape of an ecosystem: plain, openai, anthropic or mcp."""
        schema = self.arguments.model_json_schema()
        if format_ == "openai":
            function = {"name": self.name, "description": self.description, "parameters": schema}
            return {"type": "function", "function": function}
        key = {"anthropic": "input_schema", "mcp": "inputSchema"}.get(format_, "parameters")
        return {"name": self.name, "description": self.description, key: schema}
