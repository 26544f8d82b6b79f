"""What a model is given of a tool's answer: it reads each word again in every prompt that follows."""

from __future__ import annotations

import re
from typing import Any

# How a ranking or a decision came about, for people who look at it and programs that show it to them.
_EXPLAINS = frozenset(
    {
        "embedding",
        "explanation",
        "last_scores",
        "metadata_confidence",
        "needs_embedding",
        "neighbours",
        "normalised",
        "scores",
        "signals",
        "simhash",
        "terms",
        "timings",
        "token",
        "token_count",
    }
)
_BELOW_SECONDS = re.compile(r"(?<=T\d\d:\d\d:\d\d)\.\d+(?=[+-]\d\d:\d\d$)")


def brief(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer without what explains it, what it says twice, and what is not there.

    What it is about comes first and stays: that nothing was found is said.

    >>> brief({"results": [], "timings": {"total": 2.1}, "degraded": []})
    {'results': []}
    >>> brief({"id": "1", "text": "Bee", "content": "Bee", "tags": [], "created_at": "2026-11-30T09:00:00.1+00:00"})
    {'id': '1', 'content': 'Bee', 'created_at': '2026-11-30T09:00:00+00:00'}
    """
    left_out = _EXPLAINS | ({"text"} if "content" in answer else set())
    kept = {name: _part(name, value) for name, value in answer.items() if name not in left_out}
    first = next(iter(kept), None)
    return {name: value for name, value in kept.items() if name == first or value not in (None, [], {})}


def _part(name: str, value: Any) -> Any:
    match value:
        case dict():
            return brief(value)
        case list():
            return [_part(name, each) for each in value]
        case str() if name.endswith("_at"):
            return _BELOW_SECONDS.sub("", value)
    return value
