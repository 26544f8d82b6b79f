"""The schemas of arguments, as a model reads them in every prompt."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

_NULL = {"type": "null"}
# What a strict schema may say of a value; the server checks the rest, and says what is wrong.
_STRICT = ("type", "enum", "items")


class _Untitled(GenerateJsonSchema):
    """Leaves out the titles that pydantic makes of the names: a model pays for each and learns nothing."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - as the base has it
        return False


@cache
def schema_of(arguments: type[BaseModel]) -> dict[str, Any]:
    """Return a JSON Schema (2020-12) of arguments; what the class says of itself is for who reads the code.

    It is made once, as that takes milliseconds: nobody may change it.
    """
    schema = arguments.model_json_schema(schema_generator=_Untitled)
    required = schema.get("required", ())
    for name, field in schema["properties"].items():
        # What is to be said has no default, though the server may do without it; and that nothing stands for what is
        # left out goes without saying.
        if name in required or field.get("default", ...) is None:
            field.pop("default", None)
    return {name: part for name, part in schema.items() if name not in {"title", "description"}}


def strict(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema of arguments as OpenAI's strict mode wants it: a model is kept to it as it writes.

    Every field is required, null for what may be left out, and no object is open. Ranges, patterns, lengths and
    defaults go, as not every model takes them.
    """
    fields, required = schema["properties"], schema.get("required", ())
    properties = {name: _strict_field(field, nullable=name not in required) for name, field in fields.items()}
    return {"type": "object", "properties": properties, "required": list(fields), "additionalProperties": False}


def _strict_field(field: dict[str, Any], *, nullable: bool) -> dict[str, Any]:
    kinds = [kind for kind in field.get("anyOf", [field]) if kind != _NULL and kind["type"] != "object"]
    closed = [_strict_kind(kind) for kind in kinds] + [_NULL] * nullable
    return {"description": field["description"], **({"anyOf": closed} if len(closed) > 1 else closed[0])}


def _strict_kind(kind: dict[str, Any]) -> dict[str, Any]:
    kept = {name: kind[name] for name in _STRICT if name in kind}
    return {**kept, "items": _strict_kind(kind["items"])} if "items" in kind else kept
