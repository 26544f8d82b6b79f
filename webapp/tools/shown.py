"""How a hit explains itself, whatever was looked for."""

from __future__ import annotations

from typing import Any

from retrieval.query import Hit, Result

# Cosines, as candidates have them, scatter around zero for unrelated texts; from here on the vector says something.
NEAR_COSINE = 0.2


def why_json(hit: Hit) -> dict[str, Any]:
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
        "signals": {"fts": item.bm25 > 0, "semantic": item.cosine is not None and item.cosine >= NEAR_COSINE},
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
            "mmr_penalty": round(hit.ranked.mmr_penalty, 6),
        },
    }


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
    said: dict[str, Any] = {"warnings": list(result.warnings)} if result.warnings else {}
    if result.withheld:
        said["withheld"] = result.withheld
    return {**said, "error": True} if result.error else said
