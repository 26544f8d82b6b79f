"""What agents and people do, as one call each: the switches are asked, the domain acts, the work is committed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from memory import edit, incognito
from memory.browse import Entry, get_entry
from memory.drafts import Draft
from memory.embedding.models import active_model
from memory.errors import NotFoundError, RefusedError
from memory.forget import Forgetting, forget, restore
from memory.models import Space
from memory.remember import prepare, remember_many
from memory.spaces import DEFAULT_SPACE, get_space
from memory.trace import Outcome, Trace
from retrieval.policy import NAMED, Policy, policy_from
from retrieval.query import Dense, Query, Result
from retrieval.search import search
from tasks.embedding import nudge
from webapp.context import credential, request_id, runtime, session, utc_now
from webapp.ratelimit import over_limit, remember_result, remembered


def space_for(slug: str | None) -> Space:
    """Return the space of this name, the token's own or the default; a confined token sees no other."""
    who = credential()
    if who.space_id is None:
        return get_space(session(), who.user_id, slug or DEFAULT_SPACE)
    own = session().get_one(Space, (who.user_id, who.space_id))
    return own if slug in {None, own.slug} else get_space(session(), who.user_id, "")


def is_incognito(space: Space | None) -> bool:
    """Tell whether this session stores and recalls nothing."""
    who = credential()
    return incognito.is_on(session(), who.user_id, who.session_key, space)


def skipped(space: Space) -> str | None:
    """Name the switch that keeps recall off here: `incognito` or `memory_off`; None when recall is on."""
    if is_incognito(space):
        return "incognito"
    return None if space.memory_enabled else "memory_off"


def store(drafts: Sequence[Draft], space: str | None) -> list[Outcome]:
    """Remember drafts in one transaction, then nudge the embedder."""
    who, now = credential(), utc_now()
    target = space_for(space)
    if is_incognito(target):
        incognito.count_refusals(session(), who.user_id, who.session_key, len(drafts), now)
        session().commit()
        return [_refused_by_incognito(draft) for draft in drafts]
    outcomes = remember_many(session(), who.user_id, target.slug, drafts, keys=runtime().keys, now=now, actor=who.actor)
    session().commit()
    if any(outcome.outcome == "created" for outcome in outcomes):
        nudge()
    return outcomes


def _refused_by_incognito(draft: Draft) -> Outcome:
    item = prepare(draft)
    trace = Trace(item.normalised, f"{item.simhash:016x}", "this session is incognito: nothing is stored")
    return Outcome(None, "refused", "none", trace, "incognito")


def visible_entry(memory_id: UUID) -> Entry:
    """Return one memory as it is shown; raises `NotFoundError` for what this caller may not see."""
    who = credential()
    entry = get_entry(session(), who.user_id, memory_id, now=utc_now())
    if entry is None or who.space_id not in {None, entry.memory.space_id}:
        raise NotFoundError("there is no such memory")
    return entry


def _refuse_in_incognito(space_id: UUID) -> None:
    who = credential()
    space = session().get_one(Space, (who.user_id, space_id))
    if is_incognito(space):
        incognito.count_refusals(session(), who.user_id, who.session_key, 1, utc_now())
        session().commit()
        raise RefusedError("incognito", "this session is incognito: nothing is stored")


def change(memory_id: UUID, changes: Mapping[str, Any]) -> Entry:
    """Change fields of a memory; a new text is embedded again."""
    who = credential()
    entry = visible_entry(memory_id)
    _refuse_in_incognito(entry.memory.space_id)
    edit.update(session(), who.user_id, memory_id, changes, keys=runtime().keys, now=utc_now(), actor=who.actor)
    session().commit()
    if "text" in changes:
        nudge()
    return visible_entry(memory_id)


def set_pin(memory_id: UUID, *, pinned: bool) -> Entry:
    """Pin or unpin a memory."""
    entry = visible_entry(memory_id)
    _refuse_in_incognito(entry.memory.space_id)
    edit.pin(session(), credential().user_id, memory_id, pinned=pinned, now=utc_now(), actor=credential().actor)
    session().commit()
    return visible_entry(memory_id)


def remove(memory_id: UUID, undo: timedelta | None) -> Forgetting:
    """Forget a memory, for good unless an undo window is asked for."""
    who = credential()
    visible_entry(memory_id)
    forgotten = forget(
        session(), who.user_id, memory_id, keys=runtime().keys, now=utc_now(), actor=who.actor, undo=undo
    )
    session().commit()
    return forgotten


def bring_back(memory_id: UUID) -> Entry:
    """Undo a forgetting inside its window."""
    who = credential()
    memory = restore(session(), who.user_id, memory_id, now=utc_now(), actor=who.actor)
    if who.space_id not in {None, memory.space_id}:
        session().rollback()
        raise NotFoundError("there is nothing to restore: the undo window has closed")
    session().commit()
    nudge()
    return visible_entry(memory_id)


def policy_for(space: Space, overrides: Mapping[str, Any] | None, min_score: float | None = None) -> Policy:
    """Return the policy of a call: its own fields over the space's over the default.

    A named policy in the call starts from that policy, not from the space's weights.
    """
    base = NAMED["balanced"]
    if (least := runtime().settings.min_score) is not None:
        base = replace(base, min_score=least)
    policy = policy_from(dict(space.policy), base)
    if overrides:
        policy = policy_from(dict(overrides), policy)
    return replace(policy, min_score=min_score) if min_score is not None else policy


def find(
    text: str,
    *,
    space: str | None = None,
    limit: int | None = None,
    theme: str | None = None,
    types: Sequence[str] | None = None,
    recency_days: int | None = None,
    min_score: float | None = None,
    token_budget: int | None = None,
    policy: Mapping[str, Any] | None = None,
) -> Result:
    """Search a space as the caller; commits the scores it wrote. Empty, and says why, when recall is off."""
    who, now, settings = credential(), utc_now(), runtime().settings
    target = space_for(space)
    chosen = policy_for(target, policy, min_score)
    if why := skipped(target):
        return Result((), chosen, degraded=(why,))
    query = Query(
        user_id=who.user_id,
        space_id=target.id,
        text=text,
        limit=limit or settings.max_results,
        theme=theme,
        types=tuple(types) if types is not None else None,
        created_after=_days_before(now, recency_days),
        token_budget=token_budget if token_budget is not None else settings.token_budget,
    )
    if over_limit(session(), who.user_id, settings.searches_per_minute, now):
        session().commit()
        return remembered(session(), query, chosen)
    result = search(session(), query, chosen, dense=_dense(who.user_id), now=now, correlation_id=request_id())
    if not result.error:
        remember_result(query, chosen, result, now)
    return result


def _days_before(now: datetime, days: int | None) -> datetime | None:
    return now - timedelta(days=days) if days is not None else None


def _dense(user_id: UUID) -> Dense | None:
    model = active_model(session(), user_id)
    if model is None:
        return None
    return Dense(model.id, model.dimensions, runtime().providers.query_embedder(model))
