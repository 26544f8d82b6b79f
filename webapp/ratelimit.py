"""A soft limit on searches: over it, the last answer to the same question, or none; never an error."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import ColumnElement, and_, any_, literal, or_, select
from sqlalchemy.orm import Session

from memory.accounts.rates import count_use
from memory.models import Memory
from memory.spaces.sharing import Shared
from retrieval.policy import Policy
from retrieval.query import Hit, Query, Result
from retrieval.words.passage import ELLIPSIS
from retrieval.words.tokens import count

WINDOW = timedelta(minutes=1)
LIMITED = "rate_limited"
_KEPT = 512

_Key = tuple[Query, Policy, timedelta | None]
_results: OrderedDict[_Key, tuple[Result, datetime]] = OrderedDict()
_lock = threading.Lock()


def over_limit(session: Session, of: str, per_minute: int, now: datetime) -> bool:
    """Count a search `of` somebody and tell whether it is one too many; 0 means no limit.

    Commits the count, so that searches of one user do not wait for one another's.
    """
    if per_minute <= 0:
        return False
    used = count_use(session, f"search:{of}", WINDOW, now)
    session.commit()
    return used > per_minute


def seconds_left(now: datetime) -> int:
    """Return after how many whole seconds a search is made again."""
    window = int(WINDOW.total_seconds())
    return window - int(now.timestamp()) % window


def remember_result(query: Query, policy: Policy, result: Result, now: datetime) -> None:
    """Keep an answer for the time when the limit is reached."""
    key = _key(query, policy, now)
    with _lock:
        _results[key] = (result, now)
        _results.move_to_end(key)
        if len(_results) > _KEPT:
            _results.popitem(last=False)


def _key(query: Query, policy: Policy, now: datetime) -> _Key:
    """Return what makes two searches the same: their age in days, not the moment that it leads to."""
    age = now - query.created_after if query.created_after else None
    return replace(query, created_after=None, scope_size=0), policy, age


def remembered(session: Session, query: Query, policy: Policy, now: datetime) -> Result:
    """Return the last answer to this question without what was changed or forgotten since, or an empty one."""
    with _lock:
        kept = _results.get(_key(query, policy, now))
    if kept is None:
        return Result((), policy, degraded=(LIMITED,))
    result, at = kept
    unchanged = _unchanged(session, query, [hit.ranked.scored.candidate.id for hit in result.hits], at, now)
    hits = tuple(hit for hit in result.hits if hit.ranked.scored.candidate.id in unchanged and _own_text(hit))
    total = sum(count(hit.snippet) for hit in hits)
    degraded = (*result.degraded, LIMITED)
    # `withheld` is 0, as what was kept back then may be forgotten by now.
    return replace(result, hits=hits, token_count=total, degraded=degraded, timings={}, withheld=0)


def _unchanged(session: Session, query: Query, ids: list[UUID], at: datetime, now: datetime) -> set[UUID]:
    statement = select(Memory.id).where(
        Memory.user_id == query.user_id,
        or_(Memory.space_id == query.space_id, *(_is_of(each) for each in query.shared)),
        Memory.id.in_(ids),
        Memory.status == "active",
        Memory.updated_at <= at,
        Memory.unexpired(now),
    )
    return set(session.scalars(statement))


def _is_of(shared: Shared) -> ColumnElement[bool]:
    return and_(Memory.space_id == shared.space_id, literal(shared.tag) == any_(Memory.tags))


def _own_text(hit: Hit) -> bool:
    """Tell whether the snippet is the memory's own: a summary that stood in for it may be forgotten by now."""
    return hit.snippet.strip(ELLIPSIS) in hit.ranked.scored.candidate.text
