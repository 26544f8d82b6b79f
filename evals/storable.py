"""What no store takes, and nobody can ask, so that who reads a data set can refuse it before a part of it is stored."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import datetime

from memory.clock import utc_now
from memory.drafts.drafts import DEFAULT_TYPE, Draft, check_not_ahead, check_text
from memory.errors import InvalidError

_SAME: Mapping[str, str] = {}


def refusal(
    text: str,
    source_id: str,
    *,
    kind: str = DEFAULT_TYPE,
    created_at: datetime | None = None,
    names: Mapping[str, str] = _SAME,
) -> str | None:
    """Return why a store would not take a memory now, as `field: reason`; None where it would.

    `names` maps fields of a `Draft` to what the file calls them, where it calls them otherwise.
    """
    try:
        Draft(text, type=kind, source_ids=(source_id,), created_at=created_at)
        check_not_ahead(created_at, utc_now())
    except InvalidError as error:
        return f"{names.get(error.field, error.field)}: {error.message}"
    return None


def unfit(text: str, *, longest: int | None = None) -> str | None:
    """Return why a text is no question, name or id, or None where it is one.

    `longest` is how many characters it may have; None for any number.
    """
    try:
        check_text(text, most=sys.maxsize)
    except InvalidError as error:
        return error.message
    if longest is not None and len(text) > longest:
        return f"must be at most {longest} characters"
    return None
