"""What a program is told to send instead, where it named a space that there is not."""

from __future__ import annotations

import re

from memory.errors import InvalidError, NotFoundError
from memory.spaces.spaces import page_spaces
from webapp.context import credential, session
from webapp.guards import may_read

_MOST_SPACES = 10
# Without what is meant, or those there are: of nothing more is to be said then.
_UNKNOWN = re.compile(r"""there is no space ('.*'|".*")$""", re.DOTALL)


def with_spaces(error: InvalidError | NotFoundError) -> InvalidError | NotFoundError:
    """Return the error with the spaces that the caller may name, where it names one that there is not.

    A token that may not read, or is confined to one, is told the names of none.
    """
    said = error.message if isinstance(error, InvalidError) else str(error)
    if not _UNKNOWN.search(said):
        return error
    who = credential()
    if who.space_id is not None or not may_read():
        named = isinstance(error, InvalidError) and error.field == "space"
        return InvalidError("space", f"{said}; leave it out") if named else error
    page = page_spaces(session(), who.user_id, limit=_MOST_SPACES)
    more = " and more" if page.next_cursor else ""
    told = f"{said}; there are {', '.join(space.slug for space in page.spaces)}{more}"
    return InvalidError(error.field, told) if isinstance(error, InvalidError) else NotFoundError(told)
