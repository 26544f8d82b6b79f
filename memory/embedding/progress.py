"""How far the vectors of a user's models are."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.orm import Session

from memory.embedding.queue import statement
from memory.shelves import SHELVES

_COUNT = """
SELECT count(*) AS total, count(*) FILTER (WHERE x.state = 'ready') AS ready,
       count(*) FILTER (WHERE x.state = 'error') AS failed, min(x.error) FILTER (WHERE x.state = 'error') AS error
FROM {vectors} x WHERE x.user_id = :user_id AND x.model_id = :model_id AND x.live
"""


@dataclass(frozen=True, slots=True)
class Progress:
    """Items that are searched: how many there are, have their vector, or were given up on, and what was said then."""

    total: int
    ready: int
    failed: int
    error: str | None

    @property
    def waiting(self) -> int:
        """Return how many are still to be embedded."""
        return self.total - self.ready - self.failed


def progress_of(session: Session, user_id: UUID, model_id: UUID) -> Progress:
    """Return how far a model is with the user's memories, episodes and entities."""
    mine = {"user_id": user_id, "model_id": model_id}
    rows = [session.execute(statement(_COUNT, shelf), mine).one() for shelf in SHELVES]
    return Progress(
        sum(row.total for row in rows),
        sum(row.ready for row in rows),
        sum(row.failed for row in rows),
        next((row.error for row in rows if row.error), None),
    )
