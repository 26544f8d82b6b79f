"""What a caller sends under one name is sent once: of two values readers take now the first, now the last."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, get_origin

from flask import current_app, request
from flask.json.provider import DefaultJSONProvider

from memory.errors import InvalidError
from webapp.fields import taken_by

_TWICE = "must be given once"
_TOO_LONG = "has too many digits"


class OnceProvider(DefaultJSONProvider):
    """Reads JSON in which every object has each of its names once, and writes objects in the order of their making.

    Letters are written as they are: a model is given an answer as it stands, and `\\u65e5` is many tokens for one.
    """

    ensure_ascii = False
    sort_keys = False

    def dumps(self, obj: Any, **kwargs: Any) -> str:
        """Return a value as JSON; half a surrogate pair, which UTF-8 cannot say, makes it all ASCII."""
        written = super().dumps(obj, **kwargs)
        try:
            written.encode()
        except UnicodeEncodeError:
            return super().dumps(obj, **{**kwargs, "ensure_ascii": True})
        return written

    def loads(self, s: str | bytes, **kwargs: Any) -> Any:
        """Return what is written; raises `InvalidError` for a name that is given twice."""
        return read_json(s, **kwargs)


def read_json(written: str | bytes, **options: Any) -> Any:
    """Return what is written in UTF-8; raises `InvalidError`, by its dotted path, for a name that one object has twice.

    So it does for a whole number of more digits than Python converts.
    """
    if isinstance(written, bytes):
        # Python would read UTF-16 and UTF-32 too, and who looks at the body on its way need not.
        written = written.decode("utf-8-sig")
    found: list[tuple[Any, str, str]] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            # Only the last one found is kept: the parser comes to an outer object after its inner ones, so no other
            # contains it.
            found[:] = [(made, Counter(name for name, _ in pairs).most_common(1)[0][0], _TWICE)]
        return made

    def whole(digits: str) -> Any:
        try:
            return int(digits)
        except ValueError:
            unread = object()
            found[:] = [(unread, "", _TOO_LONG)]
            return unread

    value = json.loads(written, object_pairs_hook=once, parse_int=whole, **options)
    if found:
        where, name, told = found[0]
        raise InvalidError(f"{_path_to(where, value)}{name}".removesuffix(".") or "body", told)
    return value


def _path_to(where: Any, value: Any) -> str:
    left = [("", value)]
    while True:
        path, item = left.pop()
        if item is where:
            return path
        if isinstance(item, dict | list):
            named = item.items() if isinstance(item, dict) else enumerate(item)
            left.extend((f"{path}{name}.", each) for name, each in named)


def query_required_once() -> None:
    """Refuse a query that the view does not take, or that has a field twice which is no list there."""
    query = taken_by(current_app.view_functions[request.endpoint or ""]).get("query")
    named = getattr(query, "model_fields", {})
    for name, values in request.args.lists():
        if query is None:
            raise InvalidError(name or "query", "is not taken in a query here")
        if len(values) > 1 and (name not in named or get_origin(named[name].annotation) is not list):
            raise InvalidError(name or "query", _TWICE)
