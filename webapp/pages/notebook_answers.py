"""A search's answer as a cell keeps it, ids and numbers, and back again with the texts as they are now."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import select

from memory.forgetting.restore import list_restorable
from memory.models import SCORE_PARTS, Memory, Space, Theme
from memory.spaces.sharing import Shared
from memory.spaces.spaces import list_spaces
from retrieval.days.dates import Period
from retrieval.policy import Policy
from retrieval.query import Hit, Result
from retrieval.ranking.types import Candidate, Ranked, Score, Scored
from webapp.context import credential, session, utc_now
from webapp.operations import closed_by_default, is_incognito

_OF_CANDIDATE = ("bm25", "keyword_rank", "cosine", "semantic_rank")
# `asked` is left out, as it tells what the question was about by its words, and a notebook keeps numbers alone.
_OF_SCORED = tuple(each.name for each in fields(Scored) if each.name not in {"candidate", "score", "asked"})
_OF_POLICY = frozenset(each.name for each in fields(Policy))


@dataclass(frozen=True, slots=True)
class Found:
    """A memory as it is now, with the name of its theme and of its space."""

    memory: Memory
    theme: str | None
    space: str


@dataclass(frozen=True, slots=True)
class Texts:
    """The memories that a page shows, and until when those of them that are forgotten can be brought back."""

    found: Mapping[UUID, Found]
    restorable: Mapping[UUID, datetime]
    hidden: frozenset[UUID]


def texts_of(ids: Collection[UUID]) -> Texts:
    """Return the caller's memories with these ids; what a closed space holds is hidden, what is gone is left out."""
    user_id, now = credential().user_id, utc_now()
    if not ids:
        return Texts({}, {}, frozenset())
    placed = (Space.user_id == Memory.user_id) & (Space.id == Memory.space_id)
    statement = select(Memory, Space.slug).join(Space, placed).where(Memory.user_id == user_id, Memory.id.in_(ids))
    rows = session().execute(statement).all()
    memories = [each for each, _ in rows if not each.has_expired(now)]
    spaces = {each.id: slug for each, slug in rows}
    closed = {space.id for space in closed_spaces()}
    hidden = frozenset(each.id for each in memories if each.space_id in closed)
    themes = _themes({each.theme_id for each in memories if each.theme_id is not None})
    found = {
        each.id: Found(each, themes.get(each.theme_id), spaces[each.id]) for each in memories if each.id not in hidden
    }
    gone = {each.id: each.undo_until for each in list_restorable(session(), user_id, ids, now=now)}
    return Texts(found, gone, hidden)


def answer_of(result: Result) -> dict[str, Any]:
    """Return what a cell keeps of a search."""
    return {
        # By which tag is not kept: a notebook keeps numbers alone.
        "hits": [{**_kept(hit.ranked), "shared": hit.shared is not None} for hit in result.hits],
        "policy": {**asdict(result.policy), "legs": list(result.policy.legs)},
        "token_count": result.token_count,
        "truncated": result.truncated,
        "considered": result.considered,
        "degraded": list(result.degraded),
        "warnings": list(result.warnings),
        "timings": dict(result.timings),
        "withheld": result.withheld,
        "period": _span(result.period),
    }


def result_of(answer: Mapping[str, Any], texts: Texts) -> Result:
    """Return the search again, without the hits that are not there any more."""
    policy = policy_of(answer["policy"])
    hits = [_hit(kept, found) for kept in answer["hits"] if (found := texts.found.get(UUID(kept["id"]))) is not None]
    plain = {name: answer[name] for name in ("token_count", "truncated", "considered", "timings")}
    # Answers of earlier versions do not say what they withheld, nor of which time they are.
    plain["withheld"] = answer.get("withheld", 0)
    period = _period(answer.get("period"))
    degraded, warnings = tuple(answer["degraded"]), tuple(answer["warnings"])
    return Result(tuple(hits), policy, degraded=degraded, warnings=warnings, period=period, **plain)


def policy_of(kept: Mapping[str, Any]) -> Policy:
    """Return the policy that an answer was ranked by."""
    # An answer may be older than this version: what it says of fields that are no more is left out.
    numbers = {name: value for name, value in kept.items() if name in _OF_POLICY}
    return Policy(**{**numbers, "legs": tuple(numbers["legs"])})


def ids_in(answer: Mapping[str, Any]) -> list[UUID]:
    """Return the ids of the hits, the best first."""
    return [UUID(kept["id"]) for kept in answer.get("hits", ())]


def _kept(ranked: Ranked) -> dict[str, Any]:
    scored, item = ranked.scored, ranked.scored.candidate
    return {
        "id": str(item.id),
        "rank": ranked.rank,
        "mmr_penalty": round(float(ranked.mmr_penalty), 6),
        **{name: _rounded(getattr(item, name)) for name in _OF_CANDIDATE},
        **{name: _rounded(getattr(scored, name)) for name in _OF_SCORED},
        "score": {name: _rounded(getattr(scored.score, name)) for name in SCORE_PARTS},
    }


def _span(period: Period | None) -> dict[str, str] | None:
    # Not by which words a time was asked for: a notebook keeps numbers alone.
    return {"start": period.start.isoformat(), "end": period.end.isoformat()} if period is not None else None


def _period(kept: Mapping[str, str] | None) -> Period | None:
    if kept is None:
        return None
    start, end = (datetime.fromisoformat(kept[name]).astimezone(UTC) for name in ("start", "end"))
    return Period(start, end)


def _rounded(value: Any) -> Any:
    # Numbers of numpy are not JSON's.
    return value if value is None or isinstance(value, int) else round(float(value), 6)


def _hit(kept: Mapping[str, Any], found: Found) -> Hit:
    memory = found.memory
    candidate = Candidate(
        id=memory.id,
        text=memory.text,
        type=memory.type,
        role=memory.role,
        created_at=memory.created_at,
        importance=memory.importance,
        theme=found.theme,
        tags=tuple(memory.tags),
        source_ids=tuple(memory.source_ids),
        pinned=memory.pinned,
        **{name: kept[name] for name in _OF_CANDIDATE},
    )
    scored = Scored(candidate, Score(**kept["score"]), **{name: kept.get(name, 0.0) for name in _OF_SCORED})
    shared = Shared(memory.space_id, found.space, "") if kept.get("shared") else None
    return Hit(Ranked(scored, kept["mmr_penalty"], kept["rank"]), memory.text, shared)


def _themes(ids: Collection[UUID]) -> dict[UUID | None, str]:
    if not ids:
        return {}
    statement = select(Theme.id, Theme.slug).where(Theme.user_id == credential().user_id, Theme.id.in_(ids))
    return {row.id: row.slug for row in session().execute(statement)}


def closed_spaces() -> Sequence[Space]:
    """Return the spaces of which incognito shows nothing in this session."""
    return list_spaces(session(), credential().user_id) if is_incognito(None) else closed_by_default()
