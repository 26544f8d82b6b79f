"""JSON that is kept as the caller gave it, as far as it can be."""

from __future__ import annotations

import json
import math
from typing import Any

from memory.errors import InvalidError

LARGEST_PAYLOAD = 16 * 1024 * 1024
DEEPEST = 100


def check_json(value: Any, field: str, *, most: int = LARGEST_PAYLOAD, for_index: bool = False) -> None:
    """Refuse what JSON cannot say, what is nested over 100 deep, and what is over `most` characters of JSON.

    `for_index` refuses NUL and half surrogate pairs too, which JSONB cannot hold and plain JSON can.
    """
    level: list[Any] = [value]
    for _ in range(DEEPEST):
        for item in level:
            _check_item(item, field, for_index)
        level = [inner for item in level for inner in _inside(item)]
        if not level:
            break
    else:
        raise InvalidError(field, f"must be nested at most {DEEPEST} deep")
    if len(json.dumps(value)) > most:
        raise InvalidError(field, f"must be at most {most} characters of JSON")


def objects_in(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list in JSON; none of what is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _inside(item: Any) -> list[Any]:
    if isinstance(item, dict):
        return [*item.keys(), *item.values()]
    return item if isinstance(item, list) else []


def _check_item(item: Any, field: str, for_index: bool) -> None:
    if isinstance(item, float) and not math.isfinite(item):
        raise InvalidError(field, "must not hold NaN or infinity")
    if for_index and isinstance(item, str):
        if "\x00" in item:
            raise InvalidError(field, "must not contain NUL bytes")
        try:
            item.encode()
        except UnicodeEncodeError:
            raise InvalidError(field, "is not valid Unicode text") from None
