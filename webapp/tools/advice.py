"""What a model is told to do instead, where a tool refuses what it was called with: it sees nothing but the answer."""

from __future__ import annotations

from memory.errors import ConflictError, InvalidError, NotFoundError
from webapp.advice import with_spaces


def advised(error: Exception) -> Exception:
    """Return the error with what to do instead, where there is something to say; any other as it is."""
    match error:
        case InvalidError(field="space"):
            return with_spaces(error)
        case InvalidError(field="theme", message=said) if said.startswith("there is no theme"):
            return InvalidError("theme", f"{said}; memory_list_themes answers those there are")
        case ConflictError(message=said) if said.startswith("another memory of this space has this text"):
            return ConflictError(f"{said}; call memory_update with that id and this one as supersedes", error.field)
        case NotFoundError() if (said := str(error)).startswith("there is no such"):
            return NotFoundError(f"{said}; it may be forgotten, or the id of something else: search for it")
    return error
