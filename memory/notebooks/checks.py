"""How much a notebook may hold, and what may stand in it."""

from __future__ import annotations

from typing import Any

from memory.drafts.payloads import check_json
from memory.errors import InvalidError
from memory.models import KINDS

MOST_NOTEBOOKS = 500
MOST_CELLS = 200
LONGEST_TITLE = 200
# Of an input or an output, as JSON: a text of 64 KiB and what stands around it.
LARGEST = 80 * 1024


def check_title(title: str) -> str:
    """Return the title on one line; raises `InvalidError` for an empty, overlong or unstorable one."""
    check_json(title, "title", for_index=True)
    title = " ".join(title.split())
    if not 1 <= len(title) <= LONGEST_TITLE:
        raise InvalidError("title", f"must be between 1 and {LONGEST_TITLE} characters")
    return title


def check_kind(kind: str) -> None:
    """Raise `InvalidError` for a kind of cell that does not exist."""
    if kind not in KINDS:
        raise InvalidError("kind", f"must be one of {', '.join(KINDS)}")


def check_content(value: dict[str, Any], field: str) -> None:
    """Raise `InvalidError` for an input or output that is too large or cannot be stored."""
    check_json(value, field, most=LARGEST, for_index=True)
