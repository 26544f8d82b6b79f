"""Tags that the nearest memories of the same space carry."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import text as sql
from sqlalchemy.orm import Session

from memory.embedding.likeness import cosine_of, likeness, unrelated_cosine
from memory.embedding.models import active_model
from memory.enrichment.findings import Tag

NEIGHBOURS = 7
# Below this likeness a neighbour is only the nearest of those there are.
LEAST_LIKENESS = 0.5
FEWEST_CARRIERS = 2
# An exact scan of more vectors than this, for every new memory, would take longer than reading it.
LARGEST_SCAN = 25_000

_NEAR = sql("""
SELECT asked.id AS asked, near.memory_id, near.cosine
FROM unnest(CAST(:ids AS uuid[])) AS asked(id)
CROSS JOIN LATERAL (
    SELECT e.vector FROM embeddings e
    WHERE e.user_id = :user_id AND e.memory_id = asked.id AND e.model_id = :model_id AND e.vector IS NOT NULL
) mine
CROSS JOIN LATERAL (
    SELECT x.memory_id, 1 - (x.vector <=> mine.vector) AS cosine FROM embeddings x
    WHERE x.user_id = :user_id AND x.space_id = :space_id AND x.model_id = :model_id
      AND x.vector IS NOT NULL AND x.live AND x.memory_id <> asked.id
    ORDER BY x.vector <=> mine.vector LIMIT :most
) near
WHERE near.cosine >= :least
""")
_TAGS = sql("SELECT id, tags FROM memories WHERE user_id = :user_id AND id = ANY(:ids) AND tags <> '{}'")


def propose_tags(
    session: Session, user_id: UUID, space_id: UUID, memory_ids: Sequence[UUID]
) -> dict[UUID, tuple[Tag, ...]]:
    """Return for memories of one space the tags that most of their nearest neighbours were given.

    Only given tags count: what was proposed for one memory is no reason to propose it for the next. A tag's
    confidence is the mean likeness, in [0.5, 1], of the neighbours that carry it. Memories without a vector get none.
    """
    model = active_model(session, user_id) if memory_ids else None
    if model is None:
        return {}
    unrelated = unrelated_cosine(model)
    least = cosine_of(LEAST_LIKENESS, unrelated)
    values = {"user_id": user_id, "space_id": space_id, "model_id": model.id, "ids": list(memory_ids)}
    rows = session.execute(_NEAR, {**values, "most": NEIGHBOURS, "least": least}).all()
    neighbours = {row.memory_id for row in rows}
    if not neighbours:
        return {}
    tags = {row.id: row.tags for row in session.execute(_TAGS, {"user_id": user_id, "ids": list(neighbours)})}
    near: dict[UUID, list[tuple[float, Sequence[str]]]] = defaultdict(list)
    for row in rows:
        near[row.asked].append((likeness(row.cosine, unrelated), tags.get(row.memory_id, ())))
    return {asked: proposal for asked, found in near.items() if (proposal := _most_carried(found))}


def _most_carried(near: Sequence[tuple[float, Sequence[str]]]) -> tuple[Tag, ...]:
    likenesses: dict[str, list[float]] = defaultdict(list)
    for alike, tags in near:
        for tag in {" ".join(tag.casefold().split()) for tag in tags}:
            likenesses[tag].append(alike)
    carried = [(tag, found) for tag, found in likenesses.items() if _is_most(len(found), len(near))]
    return tuple(Tag(tag, min(1.0, sum(found) / len(found))) for tag, found in sorted(carried))


def _is_most(carriers: int, neighbours: int) -> bool:
    return carriers >= FEWEST_CARRIERS and 2 * carriers > neighbours
