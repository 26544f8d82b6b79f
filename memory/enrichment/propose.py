"""What the nearest memories of the same space propose: tags that they carry, and what a memory may be news of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import text as sql
from sqlalchemy.orm import Session

from memory.embedding.bundled import MINILM_LABEL
from memory.embedding.likeness import cosine_of, likeness, unrelated_cosine
from memory.embedding.models import active_model
from memory.enrichment.findings import Tag
from memory.models import Memory, PossibleUpdate
from memory.texts.changes import says_change

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
# Below this likeness a memory that says that something changed is no news of the nearest one: measured by `commonplace
# eval changes`.
NEWS_LIKENESS = 0.5
# How a possible update says that it was found so, where others say in what kind of mark two memories differ.
CHANGE = "change"
# Of which models it is known from how much likeness on texts are about the same thing.
_MEASURED = frozenset({("local", MINILM_LABEL)})

# By a sum, which no index knows: that would look at the nearest of all models and leave out most of them.
_OLDER = sql("""
SELECT m.id AS newer, near.memory_id AS older
FROM memories m
CROSS JOIN LATERAL (
    SELECT e.vector FROM embeddings e
    WHERE e.user_id = m.user_id AND e.memory_id = m.id AND e.model_id = :model_id AND e.vector IS NOT NULL
) mine
CROSS JOIN LATERAL (
    SELECT x.memory_id, 1 - (x.vector <=> mine.vector) AS cosine
    FROM embeddings x JOIN memories o ON o.user_id = x.user_id AND o.id = x.memory_id
    WHERE x.user_id = m.user_id AND x.space_id = m.space_id AND x.model_id = :model_id
      AND x.vector IS NOT NULL AND x.live AND (o.created_at, o.id) < (m.created_at, m.id)
      AND o.type <> 'summary' AND (o.expires_at IS NULL OR o.expires_at > :now)
    ORDER BY (x.vector <=> mine.vector) + 0 LIMIT 1
) near
WHERE m.user_id = :user_id AND m.space_id = :space_id AND m.id = ANY(:ids) AND near.cosine >= :least
  AND NOT EXISTS (
      SELECT FROM possible_updates p WHERE p.user_id = m.user_id
        AND (p.memory_id, p.older_id) IN ((m.id, near.memory_id), (near.memory_id, m.id)))
  AND NOT EXISTS (
      SELECT FROM audit_events a WHERE a.user_id = m.user_id AND a.action = 'memory.update_settled'
        AND (a.subject_id::text, a.details->>'other')
            IN ((m.id::text, near.memory_id::text), (near.memory_id::text, m.id::text)))
ORDER BY m.id
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


def propose_updates(
    session: Session, user_id: UUID, space_id: UUID, memories: Sequence[Memory], *, now: datetime
) -> int:
    """Link memories of one locked space that say that something changed to what they may be news of; return how many.

    That is the nearest earlier memory of the space, where they are about the same thing. Their owner decides, once for
    each two. Left out are summaries, and what replaces another memory already.
    """
    asked = [each for each in memories if each.type != "summary" and each.supersedes is None and says_change(each.text)]
    model = active_model(session, user_id) if asked else None
    if model is None or (model.provider_type, model.model) not in _MEASURED:
        return 0
    least = cosine_of(NEWS_LIKENESS, unrelated_cosine(model))
    values = {"user_id": user_id, "space_id": space_id, "model_id": model.id, "ids": [each.id for each in asked]}
    rows = session.execute(_OLDER, {**values, "least": least, "now": now}).all()
    for row in rows:
        ends = {"memory_id": row.newer, "older_id": row.older}
        session.add(PossibleUpdate(user_id=user_id, **ends, differs_in=CHANGE, created_at=now))
    return len(rows)


def _most_carried(near: Sequence[tuple[float, Sequence[str]]]) -> tuple[Tag, ...]:
    likenesses: dict[str, list[float]] = defaultdict(list)
    for alike, tags in near:
        for tag in {" ".join(tag.casefold().split()) for tag in tags}:
            likenesses[tag].append(alike)
    carried = [(tag, found) for tag, found in likenesses.items() if _is_most(len(found), len(near))]
    return tuple(Tag(tag, min(1.0, sum(found) / len(found))) for tag, found in sorted(carried))


def _is_most(carriers: int, neighbours: int) -> bool:
    return carriers >= FEWEST_CARRIERS and 2 * carriers > neighbours
