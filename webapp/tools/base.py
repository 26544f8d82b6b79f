"""What every tool is: a name, a schema, a function."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import model_validator

from memory.errors import InvalidError
from retrieval.query import DEFAULT_LIMIT, DEFAULT_TOKEN_BUDGET, LARGEST_LIMIT, LARGEST_TOKEN_BUDGET
from webapp.api.schemas import Strict
from webapp.fields import kinds_of
from webapp.tools.schema import schema_of, strict

LEAST_EVIDENCE = (
    "Evidence that a hit needs, 0 to 1: of words, of meaning, or that it reads like an answer. "
    "With 0 the nearest come, whatever they are about, and what an answer counts as `withheld`."
)

_AS_SET = "default: what the server is set to, usually"
MOST_RESULTS = f"At most this many results, 1 to {LARGEST_LIMIT} ({_AS_SET} {DEFAULT_LIMIT})."
MOST_TOKENS = f"Most tokens of text in all, up to {LARGEST_TOKEN_BUDGET} ({_AS_SET} {DEFAULT_TOKEN_BUDGET})."

WHICH_SPACE = "Which space; default: that of the project or conversation where the call is made, or the shared pool."

_OPERATIONS = {
    "search": "search",
    "query": "search",
    "add": "create",
    "update": "update",
    "delete": "delete",
    "get": "read",
    "list": "read",
}


class Arguments(Strict):
    """What a tool is called with, as models send it: null for what they leave out, and a list as text at times."""

    @model_validator(mode="before")
    @classmethod
    def _as_models_write(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        fields = cls.model_fields
        return {
            name: _listed(value) if name in fields and list in kinds_of(fields[name].annotation) else value
            for name, value in given.items()
            # None stands for an argument that is left out: a schema that requires every field allows nothing else.
            if value is not None or name not in fields
        }


def changes_in(arguments: Arguments, named: str) -> dict[str, Any]:
    """Return what is to be changed in what the argument `named` names; raises `InvalidError` where that is nothing."""
    changes = arguments.model_dump(exclude_unset=True, exclude={named})
    if not changes:
        fields = [name for name in type(arguments).model_fields if name != named]
        raise InvalidError("body", f"must change at least one field, of {', '.join(fields)}")
    return changes


def _listed(value: Any) -> Any:
    """Return the list that a text in JSON is; anything else as it came."""
    try:
        said = json.loads(value) if isinstance(value, str) else None
    except (ValueError, RecursionError):
        return value
    return said if isinstance(said, list) else value


@dataclass(frozen=True, slots=True)
class ToolResult:
    """An answer, and what of it the journal keeps: `summary` without text, ids, the number of hits if it searched."""

    answer: dict[str, Any]
    summary: dict[str, Any] = field(default_factory=dict)
    affected: tuple[str, ...] = ()
    hits: int | None = None
    private: bool = False
    status: int = 200


@dataclass(frozen=True, slots=True)
class Tool:
    """A named function with a schema; `scope` is what a token needs for it.

    What is `always` at hand is in the model's prompt also where a client has it look for tools before it sees them.
    """

    name: str
    description: str
    arguments: type[Arguments]
    scope: str
    run: Callable[[Any], ToolResult]
    always: bool = False

    @property
    def operation(self) -> str:
        """Return what the record says that the tool does: the first word of its name that tells."""
        return next((_OPERATIONS[word] for word in self.name.split("_") if word in _OPERATIONS), "read")

    def describe(self, format_: str, *, strictly: bool = False) -> dict[str, Any]:
        """Return the tool in the shape of an ecosystem: plain, openai, which may be strict, anthropic or mcp."""
        schema = schema_of(self.arguments)
        if format_ == "openai":
            parameters = {"parameters": strict(schema), "strict": True} if strictly else {"parameters": schema}
            return {"type": "function", "function": {"name": self.name, "description": self.description, **parameters}}
        told = {"name": self.name, "description": self.description}
        if format_ == "mcp":
            meta = {"_meta": {"anthropic/alwaysLoad": True}} if self.always else {}
            return {**told, "inputSchema": schema, "annotations": self._hints(), **meta}
        return {**told, "input_schema" if format_ == "anthropic" else "parameters": schema}

    def _hints(self) -> dict[str, bool]:
        """Return what a client of MCP decides by whether to ask its user first; unsaid, each tool may destroy."""
        return {
            "readOnlyHint": self.scope == "read",
            "destructiveHint": self.operation in {"update", "delete"},
            "openWorldHint": False,
        }
