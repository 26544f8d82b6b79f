"""The schemas of arguments, as a model reads them in every prompt."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema


class _Untitled(GenerateJsonSchema):
    """Leaves out the titles that pydantic makes of the names: a model pays for each and learns nothing."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - as the base has it
        return False


def schema_of(arguments: type[BaseModel]) -> dict[str, Any]:
    """Return a JSON Schema (2020-12) of arguments; what the class says of itself is for who reads the code."""
    schema = arguments.model_json_schema(schema_generator=_Untitled)
    return {name: part for name, part in schema.items() if name not in {"title", "description"}}
