"""Which summaries sum up which memories: what those say is in them, so that they go with any that is forgotten."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from uuid import UUID

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from memory.driver import Ids, fetch
from memory.ids import among
from memory.models import Memory

# By the index of what memories name as their sources, one look for each.
_SUMMARIES = """
SELECT DISTINCT y.id FROM memories m
CROSS JOIN LATERAL memories_from(m.id::text, NULL) named(id)
JOIN memories y ON y.user_id = m.user_id AND y.id = named.id AND y.space_id = m.space_id
WHERE m.user_id = %(user_id)s AND m.id = ANY(%(ids)b::uuid[])
  AND y.type = 'summary' AND (%(held)s OR NOT (y.pinned OR y.manually_saved)) AND y.id <> ALL(%(ids)b::uuid[])
"""


def summaries_of(session: Session, user_id: UUID, ids: Collection[UUID], *, held: bool = False) -> Sequence[UUID]:
    """Return the summaries, beside these, that name one of these memories as a source, in its space.

    Those that are pinned or saved by hand, which their owner holds on to, only if `held`.
    """
    if not ids:
        return ()
    session.flush()
    return [row[0] for row in fetch(session, _SUMMARIES, {"user_id": user_id, "ids": Ids(list(ids)), "held": held})]


def summed_up(session: Session, memory: Memory, now: datetime) -> tuple[Sequence[Memory], Sequence[Memory]]:
    """Return the memories that a summary names as its sources, and the summaries that name a memory.

    Each as far as it is in the same space and has not expired; of the former there are none where it is no summary.
    """
    named = set(_ids(memory.source_ids)) if memory.type == "summary" else set()
    naming = set(summaries_of(session, memory.user_id, [memory.id], held=True))
    mine = (Memory.user_id == memory.user_id, Memory.space_id == memory.space_id, Memory.id != memory.id)
    alive = or_(Memory.expires_at.is_(None), Memory.expires_at > now)
    rows = select(Memory).where(*mine, alive, among(Memory.id, named | naming)).order_by(Memory.created_at, Memory.id)
    found = session.scalars(rows).all() if named or naming else ()
    return [each for each in found if each.id in named], [each for each in found if each.id in naming]


def _ids(words: Sequence[str]) -> Iterator[UUID]:
    for word in words:
        with suppress(ValueError):
            yield UUID(word)
