"""Which fields a request may have, and of which kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from inspect import isclass
from typing import Any, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from pydantic.fields import FieldInfo


@cache
def taken_by(view: Callable[..., Any]) -> dict[str, Any]:
    """Return what a view takes of a request, such as `query` and `body`, each with its schema."""
    return get_type_hints(view)


def kinds_of(annotation: Any) -> list[Any]:
    """Return the types that an annotation is made of, a list of whatever as `list`."""
    return [get_origin(annotation) or annotation, *(kind for part in get_args(annotation) for kind in kinds_of(part))]


def fields_beside(model: type[BaseModel] | None, path: Sequence[str | int]) -> Mapping[str, FieldInfo] | None:
    """Return the fields that may be where `path` is, in a request of this schema; None where nothing says it."""
    for part in path[:-1]:
        if model is None:
            return None
        # A number is a place in a list, whose items the field's own annotation names.
        if isinstance(part, str):
            field = model.model_fields.get(part)
            kinds = () if field is None else kinds_of(field.annotation)
            model = next((kind for kind in kinds if isclass(kind) and issubclass(kind, BaseModel)), None)
    return None if model is None else model.model_fields
