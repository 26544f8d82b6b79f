"""A soft limit on searches: over it, the last answer to the same question, or none; never an error."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from memory.models import Memory
from memory.rates import count_use
from retrieval.policy import Policy
from retrieval.query import Query, Result

WINDOW = timedelta(minutes=1)
LIMITED = "rate_limited"
_KEPT = 512

_results: OrderedDict[tuple[Query, Policy], tuple[Result, datetime]] = OrderedDict()
_lock = threading.Lock()


def over_limit(session: Session, user_id: UUID, per_minute: int, now: datetime) -> bool:
    """Count a search and tell whether it is one too many; 0 means no limit."""
    return per_minute > 0 and count_use(session, f"search:{user_id}", WINDOW, now) > per_minute


def remember_result(query: Query, policy: Policy, result: Result, now: datetime) -> None:
    """Keep an answer for the time when the limit is reached."""
    key = (replace(query, created_after=None), policy)
    with _lock:
        _results[key] = (result, now)
        _results.move_to_end(key)
        if len(_results) > _KEPT:
            _results.popitem(last=False)


def remembered(session: Session, query: Query, policy: Policy) -> Result:
    """Return the last answer to this question without what was changed or forgotten since, or an empty one."""
    with _lock:
        kept = _results.get((replace(query, created_after=None), policy))
    if kept is None:
        return Result((), policy, degraded=(LIMITED,))
    result, at = kept
    ids = [hit.ranked.scored.candidate.id for hit in result.hits]
    statement = select(Memory.id).where(
        Memory.user_id == query.user_id,
        Memory.space_id == query.space_id,
        Memory.id.in_(ids),
        Memory.status == "active",
        Memory.updated_at <= at,
    )
    unchanged = set(session.scalars(statement))
    hits = tuple(hit for hit in result.hits if hit.ranked.scored.candidate.id in unchanged)
    return replace(result, hits=hits, degraded=(*result.degraded, LIMITED), timings={})
