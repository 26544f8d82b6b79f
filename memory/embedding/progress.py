"""How far the vectors of a user's models are."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.orm import Session

from memory.storage.driver import fetch
from memory.storage.shelves import SHELVES

_COUNT = """
SELECT count(*), count(*) FILTER (WHERE x.state = 'ready'), count(*) FILTER (WHERE x.state = 'error'),
       min(x.error) FILTER (WHERE x.state <> 'ready')
FROM {vectors} x WHERE x.user_id = %(user_id)s AND x.model_id = %(model_id)s AND x.live
"""


@dataclass(frozen=True, slots=True)
class Progress:
    """Items that are searched: how many there are, have their vector, or were given up on.

    `error` is what a provider said when one of those without a vector was tried last.
    """

    total: int
    ready: int
    failed: int
    error: str | None

    @property
    def waiting(self) -> int:
        """Return how many are still to be embedded."""
        return self.total - self.ready - self.failed


def progress_of(session: Session, user_id: UUID, model_id: UUID, space_id: UUID | None) -> Progress:
    """Return how far a model is with memories, episodes and entities: those of one space, else all of the user's."""
    values = {"user_id": user_id, "model_id": model_id, "space_id": space_id, "conversation_id": None}
    rows = []
    for shelf in SHELVES:
        counted = _COUNT.format(vectors=shelf.vectors)
        rows += fetch(session, counted if space_id is None else f"{counted} AND {shelf.in_scope}", values)
    total, ready, failed, errors = zip(*rows, strict=True)
    return Progress(sum(total), sum(ready), sum(failed), next(filter(None, errors), None))
