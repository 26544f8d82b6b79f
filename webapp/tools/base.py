"""What every tool is: a name, a schema, a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from retrieval.query import DEFAULT_LIMIT, DEFAULT_TOKEN_BUDGET

LEAST_EVIDENCE = (
    "Evidence that a hit needs, 0 to 1: of words, of meaning, or that it reads like an answer. "
    "With 0 the nearest come, whatever they are about."
)

_AS_SET = "default: what the server is set to, usually"
MOST_RESULTS = f"At most this many results ({_AS_SET} {DEFAULT_LIMIT})."
MOST_TOKENS = f"Most tokens of text in all ({_AS_SET} {DEFAULT_TOKEN_BUDGET})."

_OPERATIONS = {
    "search": "search",
    "query": "search",
    "add": "create",
    "update": "update",
    "delete": "delete",
    "get": "read",
    "list": "read",
}


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

    @property
    def operation(self) -> str:
        """Return what the record says that the tool does: the first word of its name that tells."""
        return next((_OPERATIONS[word] for word in self.name.split("_") if word in _OPERATIONS), "read")

    def describe(self, format_: str) -> dict[str, Any]:
        """Return the tool in the shape of an ecosystem: plain, openai, anthropic or mcp."""
        schema = self.arguments.model_json_schema()
        if format_ == "openai":
            function = {"name": self.name, "description": self.description, "parameters": schema}
            return {"type": "function", "function": function}
        key = {"anthropic": "input_schema", "mcp": "inputSchema"}.get(format_, "parameters")
        return {"name": self.name, "description": self.description, key: schema}
