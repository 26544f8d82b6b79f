"""Counts over all users, for operators: numbers and states, never anyone's content."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

# What is counted of what was done since the start: the action in the record, and what it is in words.
COUNTED = {
    "dedupe_saves": ("memory.merged", "Writes merged into an existing memory"),
    "trims": ("memory.trimmed", "Memories removed by a soft cap"),
    "trims_blocked": ("memory.trim_blocked", "Times a soft cap met only pinned or saved memories"),
    "tombstone_blocks": ("memory.refused_tombstone", "Writes refused by a tombstone"),
    "forgets": ("memory.forgotten", "Memories forgotten"),
    "pins": ("memory.pinned", "Memories pinned"),
    "unpins": ("memory.unpinned", "Memories unpinned"),
    "memory_ons": ("memory.switched_on", "Times memory was switched on in a space"),
    "memory_offs": ("memory.switched_off", "Times memory was switched off in a space"),
    "incognito_starts": ("incognito.started", "Incognito sessions started"),
}
# What began before is written by then, and no total misses it; but agents report calls of long ago, see `count_late`.
SETTLED = timedelta(hours=1)


# Locks one row of the totals before any other, as everybody does who changes them.
_HOLD = text("SELECT counted_until FROM totals WHERE name = 'calls' FOR UPDATE")
_ADD_LATE = text("""
UPDATE totals t SET total = t.total + late.number
FROM (
    SELECT unnest(ARRAY['calls', 'failures']) AS name,
           unnest(ARRAY[count(*), count(*) FILTER (WHERE NOT c.success)]) AS number
    FROM tool_calls c WHERE c.user_id = :user_id AND c.id = ANY(:ids) AND c.created_at < :counted_until
) late WHERE t.name = late.name AND late.number > 0
""")


# By a clock that was ahead they have come beyond this moment, and what is done until then would be in none of them.
_COUNT_ANEW = text("UPDATE totals SET total = 0, counted_until = '-infinity' WHERE counted_until > :now")


def count_late(session: Session, user_id: UUID, call_ids: Sequence[UUID]) -> None:
    """Add calls of long ago to the totals, which have gone past their moment. The caller commits."""
    counted_until = session.scalar(_HOLD)
    session.execute(_ADD_LATE, {"user_id": user_id, "ids": list(call_ids), "counted_until": counted_until})


def advance_totals(session: Session, now: datetime) -> None:
    """Add what was done until an hour ago to the totals, so that `telemetry` counts the rest alone.

    Those of a clock that was ahead are counted anew, of what is in the record.
    """
    session.execute(_HOLD)
    session.execute(_COUNT_ANEW, {"now": now})
    session.execute(select(func.advance_totals(now - SETTLED)))


def telemetry(session: Session, now: datetime) -> dict[str, Any]:
    """Return the numbers behind `/metrics`; ages and times are in seconds, latencies and rates of the last hour."""
    numbers, failed, waiting, unread, full = session.execute(
        select(
            func.telemetry(now),
            func.vectors_given_up(now),
            func.enrichment_backlog(now),
            func.extraction_backlog(),
            func.full_spaces(),
        )
    ).one()
    tried = failed + numbers["embed"]["count"]
    rate = failed / tried if tried else 0.0
    return {
        **numbers,
        "embedding_failure_rate": rate,
        "enrichment_backlog": waiting,
        "extraction_backlog": unread,
        "full_spaces": full,
    }
