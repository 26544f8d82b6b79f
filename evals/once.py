"""Read JSON in which every field stands once: of two the parser takes the last, and drops the other without a word."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any


def loads(text: str) -> Any:
    """Return the values of a JSON text; raises `ValueError` for a field that an object has twice.

    As `json.loads` it raises `json.JSONDecodeError` for what is no JSON, and `RecursionError` for what is too deep.
    """
    return json.loads(text, object_pairs_hook=_each_once)


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ValueError(f"{twice!r} is there twice in one object")
    return found
