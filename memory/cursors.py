"""Pages of a list: how long one may be, and where it ends, as a word that a client hands back."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

from memory.errors import InvalidError


def check_limit(limit: int, largest: int) -> None:
    """Refuse a page of no rows, or of more than `largest`."""
    if not 1 <= limit <= largest:
        raise InvalidError("limit", f"must be between 1 and {largest}")


def _number(key: Any) -> Any:
    if isinstance(key, int) and not 0 <= key < 1 << 31:
        raise ValueError("no column holds it")
    return key


# What reads a key of a kind from what JSON has of it; others are as they are.
_READ: dict[type, Callable[[Any], Any]] = {datetime: datetime.fromisoformat, UUID: UUID, int: _number}


def to_cursor(key: datetime | float | UUID, row_id: UUID, order: str | None = None) -> str:
    """Return the cursor of a list that is ordered by a moment, a number or an id, then by id.

    `order` names the order of a list that can have several.
    """
    said = str(key) if isinstance(key, UUID) else key.isoformat() if isinstance(key, datetime) else key
    told = [said, str(row_id)]
    return base64.urlsafe_b64encode(json.dumps([*told, order] if order else told).encode()).decode()


def from_cursor(cursor: str, order: str | None = None, kind: type = datetime) -> tuple[Any, UUID]:
    """Return the keys in a cursor, the first of which is of a `kind`.

    Raises `InvalidError` for a word that is none, or one of another order.
    """
    try:
        key, row_id, *rest = json.loads(base64.urlsafe_b64decode(cursor))
        keys = _READ[kind](key) if kind in _READ else key, UUID(row_id)
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise unknown_cursor() from None
    # Not by `isinstance`, to which the `true` of JSON is a number.
    if type(keys[0]) is not kind or rest != [order] * (order is not None):
        raise unknown_cursor()
    return keys


def unknown_cursor() -> InvalidError:
    """Return what is to be raised for a word that is no cursor."""
    return InvalidError("cursor", "is not one that this server gave")
