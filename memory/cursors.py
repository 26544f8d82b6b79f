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


def to_cursor(moment: datetime, row_id: UUID) -> str:
    """Return the cursor of a list that is ordered by a moment, then by id."""
    return base64.urlsafe_b64encode(json.dumps([moment.isoformat(), str(row_id)]).encode()).decode()


def from_cursor(cursor: str) -> tuple[datetime, UUID]:
    """Return the keys in a cursor; raises `InvalidError` for a word that is none."""
    try:
        moment, row_id = json.loads(base64.urlsafe_b64decode(cursor))
        return datetime.fromisoformat(moment), UUID(row_id)
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise InvalidError("cursor", "is not one that this server gave") from None
