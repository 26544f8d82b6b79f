"""What a caller sends under one name is sent once: of two values readers take now the first, now the last."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, get_origin, get_type_hints

from flask import current_app, request
from flask.json.provider import DefaultJSONProvider

from memory.errors import InvalidError

_TWICE = "must be given once"


class OnceProvider(DefaultJSONProvider):
    """Reads JSON in which every object has each of its names once, and writes objects in the order of their making."""

    sort_keys = False

    def loads(self, s: str | bytes, **kwargs: Any) -> Any:
        """Return what is written; raises `InvalidError` for a name that is given twice."""
        return read_json(s, **kwargs)


def read_json(written: str | bytes, **options: Any) -> Any:
    """Return what is written; raises `InvalidError`, by the dotted path of a name that one object has twice."""
    found: list[tuple[dict[str, Any], str]] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            # The last is kept: it is inside no other that lost it.
            found[:] = [(made, Counter(name for name, _ in pairs).most_common(1)[0][0])]
        return made

    value = json.loads(written, object_pairs_hook=once, **options)
    if found:
        where, name = found[0]
        raise InvalidError(f"{_path_to(where, value)}{name}", _TWICE)
    return value


def _path_to(where: dict[str, Any], value: Any) -> str:
    left = [("", value)]
    while True:
        path, item = left.pop()
        if item is where:
            return path
        if isinstance(item, dict | list):
            named = item.items() if isinstance(item, dict) else enumerate(item)
            left.extend((f"{path}{name}.", each) for name, each in named)


def query_required_once() -> None:
    """Refuse a query that has a field twice, unless the view takes a list by that name."""
    twice = [name for name, values in request.args.lists() if len(values) > 1]
    if not twice:
        return
    query = get_type_hints(current_app.view_functions[request.endpoint or ""]).get("query")
    lists = {name for name, field in getattr(query, "model_fields", {}).items() if get_origin(field.annotation) is list}
    for name in twice:
        if name not in lists:
            raise InvalidError(name, _TWICE)
