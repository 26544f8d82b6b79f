"""Searching as the caller: the switches are asked, the limit is kept, the work is committed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from flask import g
from sqlalchemy import func, select

from memory.drafts.drafts import without_blanks
from memory.errors import InvalidError
from memory.models import DEFAULT_SPACE, Conversation, EmbeddingModel, Entity
from memory.spaces.scope import Place, Scope, read_scope
from memory.spaces.sharing import shares_theme
from memory.spaces.themes import check_theme
from memory.storage.database import time_limit
from memory.storage.shelves import ENTITIES, EPISODES, MEMORIES, Shelf
from retrieval.days import asked_period
from retrieval.days.dates import Period
from retrieval.policy import NAMED, Policy, PolicyError, kept_policy, policy_from
from retrieval.query import MAX_QUERY, Dense, Query, Result
from retrieval.search import log_search, search
from webapp.context import credential, local_now, request_id, runtime, session, utc_now
from webapp.operations import implied_space, incognito_spaces
from webapp.ratelimit import over_limit, remember_result, remembered, seconds_left

# Seconds that a search waits for any of its statements: an agent goes on without memory rather than wait for ever.
LONGEST_STATEMENT = 10.0
# What `degraded` says where the weights of the space cannot be used.
WEIGHTS = "weights"


def policy_for(
    weights: Mapping[str, Any], overrides: Mapping[str, Any] | None, min_score: float | None = None
) -> Policy:
    """Return the policy of a call: its own fields over the space's own `weights` over the default.

    A named policy in the call starts from that policy, not from the space's weights.
    """
    base = NAMED["balanced"]
    if (least := runtime().settings.min_score) is not None:
        base = replace(base, min_score=least)
    policy = kept_policy(weights, base)
    if overrides:
        policy = policy_from(dict(overrides), policy)
    return replace(policy, min_score=min_score) if min_score is not None else policy


def find(
    text: str,
    *,
    shelf: Shelf = MEMORIES,
    space: str | None = None,
    conversation: UUID | None = None,
    within: bool = False,
    limit: int | None = None,
    theme: str | None = None,
    types: Sequence[str] | None = None,
    tags: Sequence[str] | None = None,
    recency_days: int | None = None,
    min_score: float | None = None,
    token_budget: int | None = None,
    policy: Mapping[str, Any] | None = None,
    own: bool = False,
) -> Result:
    """Search a space as the caller; commits the scores it wrote. Empty, and says why, when recall is off.

    The scope is the space that is named, or the one that `conversation` is in at this moment, or else that of the
    conversation in which the call is made; `within` narrows it to the one that is named. What other spaces share with
    it is found as well, unless only its `own` is asked for. Over the limit of searches `g.retry_after` is in how many
    seconds to ask again. A database that takes more than `LONGEST_STATEMENT` for one statement counts as one that does
    not answer.

    Raises `PolicyError` for a field of `policy`; and to a person, who can set others, for weights of the space that no
    search can use. An agent's search does without them, and says so.
    """
    with time_limit(session(), LONGEST_STATEMENT):
        who, now, settings = credential(), utc_now(), runtime().settings
        target = _scope(space, conversation)
        weights = _usable(target.space.policy)
        chosen = policy_for(weights, policy, min_score)
        if why := _closed(target):
            return Result((), chosen, degraded=(why,))
        shared = target.shared if shelf is MEMORIES and not own else ()
        # What is shared tells its theme, which a confined token may ask for then.
        if theme is not None and not shares_theme(session(), who.user_id, shared, theme, now=now):
            check_theme(session(), who.user_id, theme, space_id=who.space_id, outside=incognito_spaces())
        query = Query(
            user_id=who.user_id,
            space_id=target.space.id,
            # One character too many says that it was longer; the rest is of no use and would be kept with the answer.
            text=text[: MAX_QUERY + 1],
            limit=limit or settings.max_results,
            theme=theme,
            types=tuple(types) if types is not None else None,
            tags=tuple(map(without_blanks, tags)) if tags is not None else None,
            created_after=_days_before(now, recency_days),
            token_budget=token_budget if token_budget is not None else settings.token_budget,
            scope_size=_size(shelf, who.user_id, target.space),
            shelf=shelf,
            conversation_id=conversation if within else None,
            shared=shared,
        )
        return _ranked_by(weights, target, _answered(query, chosen, target, now))


def past_named(words: str, conversation: UUID | None) -> Period | None:
    """Return the past time that words name, in days of the asker's zone; None where they name none, or more than it.

    Whatever was said then is meant, which "all appointments in May" are not.
    """
    _scope(None, conversation)
    period = asked_period.alone(f"What I said {words}?", local_now(), beside=asked_period.SAID_THEN)
    return None if period is None or period.to_come else period


def _answered(query: Query, policy: Policy, scope: Scope, now: datetime) -> Result:
    """Return what is found, or over the limit of searches what was found lately; it is recorded either way."""
    who, settings = credential(), runtime().settings
    # People and agents are counted apart, so that no agent keeps its owner from searching.
    by_person = who.token_id is None
    most = settings.page_searches_per_minute if by_person else settings.searches_per_minute
    if over_limit(session(), f"{'pages' if by_person else 'agents'}:{who.user_id}", most, now):
        g.retry_after = seconds_left(now)
        result = remembered(session(), query, policy, now)
        log_search(result, query, request_id())
        return result
    result = search(
        session(),
        query,
        policy,
        dense=_dense(scope.model),
        # In the asker's zone, by which the days that a question names are meant.
        now=now.astimezone(scope.zone),
        correlation_id=request_id(),
        reader=runtime().reader,
    )
    # Only answers of memories are kept, as `remembered` checks each hit against its memory.
    if most and not result.error and query.shelf is MEMORIES:
        remember_result(query, policy, result, now)
    return result


def _usable(weights: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the weights of a space, none where an earlier version kept them and no search can use them.

    Raises `PolicyError` to a person.
    """
    try:
        policy_for(weights, None)
    except PolicyError:
        if credential().token_id is None:
            raise
        return {}
    return weights


def _ranked_by(weights: Mapping[str, Any], scope: Scope, result: Result) -> Result:
    """Return the result, which says so where the space's own weights were left out."""
    if weights is scope.space.policy:
        return result
    return replace(result, degraded=(*result.degraded, WEIGHTS))


def _scope(slug: str | None, conversation: UUID | None) -> Scope:
    """Return the scope of the call; a confined token has its own space, and sees no other."""
    who = credential()
    space_id = who.space_id if slug is not None else implied_space()
    if conversation is not None:
        space_id = _space_of(conversation)
    named = (slug or DEFAULT_SPACE) if space_id is None else None
    scope = read_scope(session(), who.user_id, who.session_key, slug=named, space_id=space_id)
    if slug not in {None, scope.space.slug}:
        raise InvalidError(
            "space", f"there is no space {slug!r}" if conversation is None else "is not the conversation's"
        )
    g.incognito = g.get("incognito", False) or scope.incognito
    g.zone = scope.zone
    return scope


def _space_of(conversation: UUID) -> UUID:
    """Return the space that the caller's conversation is in now."""
    who = credential()
    mine = select(Conversation.space_id).where(Conversation.user_id == who.user_id, Conversation.id == conversation)
    space_id = session().scalar(mine)
    if space_id is None or who.space_id not in {None, space_id}:
        raise InvalidError("conversation", "there is no such conversation")
    return space_id


def _closed(scope: Scope) -> str | None:
    if scope.incognito:
        return "incognito"
    return None if scope.space.memory_enabled else "memory_off"


def _size(shelf: Shelf, user_id: UUID, space: Place) -> int:
    """Return how many items of a kind the space has: it decides how vectors are looked up."""
    if shelf is MEMORIES:
        return space.documents
    if shelf is EPISODES:
        mine = (Conversation.user_id == user_id, Conversation.space_id == space.id)
        return session().scalar(select(func.coalesce(func.sum(Conversation.episodes), 0)).where(*mine)) or 0
    assert shelf is ENTITIES
    counted = select(func.count()).where(Entity.user_id == user_id, Entity.space_id == space.id)
    return session().scalar(counted) or 0


def _days_before(now: datetime, days: int | None) -> datetime | None:
    return now - timedelta(days=days) if days is not None else None


def _dense(model: EmbeddingModel | None) -> Dense | None:
    if model is None:
        return None
    return Dense.by(model, runtime().providers.query_embedder(model, session(), utc_now()))
