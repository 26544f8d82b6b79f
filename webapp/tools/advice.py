"""What a model is told to do instead, where a tool refuses what it was called with: it sees nothing but the answer."""

from __future__ import annotations

from memory.errors import ConflictError, InvalidError, NotFoundError
from memory.spaces.spaces import page_spaces
from webapp.context import credential, session
from webapp.guards import may_read

_MOST_SPACES = 10


def advised(error: Exception) -> Exception:
    """Return the error with what to do instead, where there is something to say; any other as it is."""
    match error:
        case InvalidError(field="space", message=said) if said.startswith("there is no space") and said[-1] != "?":
            return InvalidError("space", f"{said}; {_spaces()}")
        case InvalidError(field="theme", message=said) if said.startswith("there is no theme"):
            return InvalidError("theme", f"{said}; memory_list_themes answers those there are")
        case ConflictError(message=said) if said.startswith("another memory of this space has this text"):
            return ConflictError(f"{said}; call memory_update with that id and this one as supersedes", error.field)
        case NotFoundError() if (said := str(error)).startswith("there is no such"):
            return NotFoundError(f"{said}; it may be forgotten, or the id of something else: search for it")
    return error


def _spaces() -> str:
    """Say which spaces the caller may name; a token that may not read is told the names of none."""
    who = credential()
    if who.space_id is not None or not may_read():
        return "leave it out"
    page = page_spaces(session(), who.user_id, limit=_MOST_SPACES)
    more = " and more" if page.next_cursor else ""
    return f"there are {', '.join(space.slug for space in page.spaces)}{more}"
