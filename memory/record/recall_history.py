"""When a memory was recalled, at which rank, and with which score, as far as the record of calls tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text as sql
from sqlalchemy.orm import Session

from memory.models import SCORE_PARTS

# A call keeps its hits in the order of their ranks, of each the `SCORE_PARTS` in theirs; `scores` is missing where it
# kept none, or was blanked since.
_RECALLS = sql("""
WITH latest AS (
    SELECT user_id, id FROM calls_naming(:memory_id)
    WHERE user_id = :user_id AND operation = 'search' AND success AND origin = 'server'
    ORDER BY created_at DESC, id DESC LIMIT :most
)
SELECT c.id, c.created_at, c.tool, c.hits, p.rank, c.result -> 'scores' -> (p.rank - 1) AS scores
FROM latest JOIN tool_calls c USING (user_id, id), LATERAL (SELECT array_position(c.affected_ids, :memory_id) AS rank) p
ORDER BY c.created_at DESC, c.id DESC
""")


@dataclass(frozen=True, slots=True)
class Recall:
    """One search that answered with a memory, as the `rank`-th of `hits`; `scores` is None where none was kept."""

    call_id: UUID
    at: datetime
    tool: str
    hits: int | None
    rank: int
    scores: Mapping[str, float] | None


def recalls_of(session: Session, user_id: UUID, memory_id: UUID, *, most: int) -> list[Recall]:
    """Return the last searches that answered with a memory, the oldest first, `most` at most."""
    rows = session.execute(_RECALLS, {"user_id": user_id, "memory_id": memory_id, "most": most}).all()
    return [Recall(row.id, row.created_at, row.tool, row.hits, row.rank, _scores(row.scores)) for row in reversed(rows)]


def _scores(kept: Any) -> dict[str, float] | None:
    if not isinstance(kept, Sequence) or len(kept) != len(SCORE_PARTS):
        return None
    return {name: float(value) for name, value in zip(SCORE_PARTS, kept, strict=True)}
