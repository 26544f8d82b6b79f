"""How a hit explains itself, whatever was looked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from flask import g

from memory.models import Theme
from memory.spaces.themes import spoken
from retrieval.policy import Policy
from retrieval.query import Hit, Result
from retrieval.ranking.fusion import speaks_by_meaning
from webapp.context import credential, runtime
from webapp.ratelimit import LIMITED


def named(theme: Theme) -> tuple[str, str]:
    """Return what the caller may know a theme by: its name and its description.

    Both were given for all spaces, and who names a slug in one space has that theme there: a confined token would read
    by a guess what the owner wrote of others, and is told the slug in words, without a description.
    """
    if credential().space_id is not None:
        return spoken(theme.slug), ""
    return theme.display_name, theme.description


def why_json(hit: Hit, policy: Policy) -> dict[str, Any]:
    """Return the score of a hit, its parts, and what each leg made of it."""
    scored, item = hit.ranked.scored, hit.ranked.scored.candidate
    parts = scored.score
    return {
        "score": round(parts.total, 6),
        "scores": {
            "relevance": round(parts.relevance, 6),
            "recency": round(parts.recency, 6),
            "importance": round(parts.importance, 6),
            "total": round(parts.total, 6),
        },
        "signals": {"fts": item.bm25 > 0, "semantic": speaks_by_meaning(item, policy)},
        "explanation": {
            "keyword": {"rank": item.keyword_rank, "score": round(item.bm25, 6)},
            "semantic": {
                "rank": item.semantic_rank,
                "score": round(item.cosine, 6) if item.cosine is not None else None,
            },
            "evidence": round(scored.evidence, 6),
            "date_match": round(scored.date_match, 6),
            "context": round(scored.context, 6),
            "speaker_match": scored.speaker_match,
            "time_match": scored.time_match,
            "change_match": scored.change_match,
            "coverage": round(scored.coverage, 6),
            "sureness": round(item.sureness, 6) if item.sureness is not None else None,
            "reading_penalty": round(scored.reading_penalty, 6),
            "update_boost": round(scored.update_boost, 6),
            "mmr_penalty": round(hit.ranked.mmr_penalty, 6),
        },
    }


def place_json(hit: Hit) -> dict[str, Any]:
    """Return which space a hit is of, where that is another than was searched."""
    return {"space": hit.shared.slug} if hit.shared is not None else {}


def places_of(hits: Iterable[Hit]) -> dict[UUID, str]:
    """Return of the memories that are of another space than was searched the name of that, by their ids."""
    return {hit.ranked.scored.candidate.id: hit.shared.slug for hit in hits if hit.shared is not None}


def answer_json(result: Result, hits: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a search's answer: the hits, and how the search went."""
    return {
        "results": hits,
        "count": len(hits),
        "truncated": result.truncated,
        "token_count": result.token_count,
        "degraded": list(result.degraded),
        "timings": dict(result.timings),
        **remarks(result),
    }


def remarks(result: Result) -> dict[str, Any]:
    """Return what is said only when there is something to say."""
    warnings = [*result.warnings, *([_not_searched(result)] if LIMITED in result.degraded else [])]
    said: dict[str, Any] = {"warnings": warnings} if warnings else {}
    if result.withheld:
        said["withheld"] = result.withheld
    return {**said, "error": True} if result.error else said


def _not_searched(result: Result) -> str:
    """Say that a search was one too many: without that an empty answer would seem to be what memory knows."""
    before = "; this is the last answer to the same question" if result.hits else ""
    why = "nothing was searched: there were too many searches in this minute"
    most = runtime().settings.searches_per_minute
    allowed = f"all tokens of a user together may make {most} (COMMONPLACE_SEARCHES_PER_MINUTE of the server)"
    return f"{why}{before}; ask again in {g.retry_after} seconds; {allowed}"
