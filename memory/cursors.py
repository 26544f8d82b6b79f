"""Pages of a list: how long one may be, and where it ends, as a word that a client hands back."""

from __future__ import annotations

import base64
import json
from datetime import datetime
from uuid import UUID

from memory.errors import InvalidError


def check_limit(limit: int, largest: int) -> None:
    """Refuse a page of no rows, or of more than `largest`."""
    if not 1 <= limit <= largest:
        raise InvalidError("limit", f"must be between 1 and {largest}")


def to_cursor(key: datetime | float, row_id: UUID) -> str:
    """Return the cursor of a list that is ordered by a moment or a number, then by id."""
    told = key.isoformat() if isinstance(key, datetime) else key
    return base64.urlsafe_b64encode(json.dumps([told, str(row_id)]).encode()).decode()


def from_cursor(cursor: str) -> tuple[datetime, UUID]:
    """Return the moment and the id in a cursor; raises `InvalidError` for a word that is none of such a list."""
    key, row_id = _keys(cursor)
    if not isinstance(key, datetime):
        raise _unknown()
    return key, row_id


def from_number_cursor(cursor: str) -> tuple[float, UUID]:
    """Return the number and the id in a cursor; raises `InvalidError` for a word that is none of such a list."""
    key, row_id = _keys(cursor)
    if isinstance(key, datetime):
        raise _unknown()
    return key, row_id


def _keys(cursor: str) -> tuple[datetime | float, UUID]:
    try:
        key, row_id = json.loads(base64.urlsafe_b64decode(cursor))
        return key if isinstance(key, float) else datetime.fromisoformat(key), UUID(row_id)
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise _unknown() from None


def _unknown() -> InvalidError:
    return InvalidError("cursor", "is not one that this server gave")
