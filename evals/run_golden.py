"""Ask golden cases, each among its own memories, and as a stranger who must see none of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from evals.golden import Case, Setup
from evals.throwaway import add_user
from evals.timing import timed
from memory.database import user_session
from memory.drafts import Draft
from memory.embedding.models import active_model
from memory.remember import remember_many
from memory.spaces import create_space
from retrieval.policy import NAMED, Policy
from retrieval.query import DEFAULT_TOKEN_BUDGET, Dense, Hit, Query, Result
from retrieval.search import search
from retrieval.tokens import count
from tasks.runtime import Runtime

LIMIT = 10
STRANGER = "stranger@example.org"
Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a case brought: the contents of its hits, best first.

    `safe` says that neither asker saw a memory of the other, `compliant` that the answer kept to the token budget.
    """

    case: Case
    found: tuple[str, ...]
    milliseconds: float
    safe: bool
    compliant: bool


@dataclass(frozen=True, slots=True)
class _Place:
    """One user's copy of one list of memories."""

    user_id: UUID
    space_id: UUID
    contents: dict[UUID, str]


def run(
    runtime: Runtime,
    user_id: UUID,
    cases: Sequence[Case],
    *,
    policy: Policy = NAMED["balanced"],
    now: datetime,
    on_progress: Progress = lambda _cases: None,
) -> list[Outcome]:
    """Store what the cases need in spaces of their own, embed it and ask; a stranger asks over the same memories.

    The user and the stranger must be new in this database. Raises `RuntimeError` for a search that failed or went
    without a leg: it would measure something else.
    """
    stranger = add_user(runtime, STRANGER, now)
    lists = list(dict.fromkeys(each.memories for each in cases))
    places = {
        who: {each: _store(runtime, who, n, each, now) for n, each in enumerate(lists)} for who in (user_id, stranger)
    }
    runtime.backfill.run()
    outcomes = []
    for case in cases:
        own, other = places[user_id][case.memories], places[stranger][case.memories]
        ask = _Asking(runtime, policy, case.query, now)
        # Asked once before, so that every case finds its question's vector in the cache.
        ask.of(own)
        result, milliseconds = timed(lambda ask=ask, own=own: ask.of(own))  # type: ignore[misc]
        seen = {hit.ranked.scored.candidate.id for hit in result.hits}
        strange = {hit.ranked.scored.candidate.id for hit in ask.of(other).hits}
        outcomes.append(
            Outcome(
                case,
                tuple(own.contents[hit.ranked.scored.candidate.id] for hit in result.hits),
                milliseconds,
                safe=seen <= set(own.contents) and strange <= set(other.contents),
                compliant=_tokens(result.hits) <= DEFAULT_TOKEN_BUDGET,
            )
        )
        on_progress(1)
    return outcomes


def _store(runtime: Runtime, user_id: UUID, number: int, memories: Sequence[Setup], now: datetime) -> _Place:
    runtime.backfill.adopt(user_id)
    slug = f"golden-{number}"
    with user_session(runtime.sessions, user_id) as session:
        space = create_space(session, user_id, slug, soft_cap=max(200, len(memories)), now=now, actor="eval")
        drafts = [Draft(each.content, type=each.type, created_at=each.created_at or now) for each in memories]
        told = remember_many(session, user_id, slug, drafts, keys=runtime.keys, now=now, actor="eval")
        contents: dict[UUID, str] = {}
        for memory, outcome in zip(memories, told, strict=True):
            if outcome.id is None:
                raise RuntimeError(f"a memory was not stored: {memory.content!r}")
            contents.setdefault(outcome.id, memory.content)
        return _Place(user_id, space.id, contents)


@dataclass(frozen=True, slots=True)
class _Asking:
    runtime: Runtime
    policy: Policy
    question: str
    now: datetime

    def of(self, place: _Place) -> Result:
        with user_session(self.runtime.sessions, place.user_id) as session:
            model = active_model(session, place.user_id)
            if model is None:
                raise RuntimeError("the user has no embedding model")
            dense = Dense(model.id, model.dimensions, self.runtime.providers.embedder(model))
            query = Query(place.user_id, place.space_id, self.question, limit=LIMIT)
            result = search(session, query, self.policy, dense=dense, now=self.now)
        if result.error or result.degraded:
            raise RuntimeError(f"{self.question!r} was searched without {', '.join(result.degraded)}")
        return result


def _tokens(hits: Sequence[Hit]) -> int:
    return sum(count(hit.snippet) for hit in hits)
