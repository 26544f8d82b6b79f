"""A space in words and numbers, without a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from memory.models import Memory, Space

SHOWN = 5
MOST_TAGS = 10
LONGEST_LINE = 200  # characters
_SEVERAL = {"summary": "summaries", "other": "other"}


def summarise(session: Session, space: Space, *, now: datetime) -> dict[str, Any]:
    """Return counts, the commonest tags, and what matters most in the space, with a sentence that says it."""
    scope = (
        Memory.user_id == space.user_id,
        Memory.space_id == space.id,
        Memory.status == "active",
        Memory.unexpired(now),
    )
    # An index alone answers this, unlike what follows.
    counts = func.count(), func.count().filter(Memory.pinned), func.count().filter(Memory.needs_embedding)
    kinds = session.execute(
        select(Memory.type, *counts).where(*scope).group_by(Memory.type).order_by(Memory.type)
    ).all()
    by_type = {kind: count for kind, count, _, _ in kinds}
    tags, highlights = _read(session, space, scope)
    total, pinned = sum(by_type.values()), sum(held for _, _, held, _ in kinds)
    return {
        "space": space.slug,
        "total": total,
        "by_type": by_type,
        "pinned": pinned,
        "waiting_for_embedding": sum(waiting for *_, waiting in kinds),
        "tags": [{"tag": name, "count": count} for name, count in tags],
        "highlights": [
            {"id": str(m.id), "text": m.text[:LONGEST_LINE], "type": m.type, "pinned": m.pinned} for m in highlights
        ],
        "summary": _sentence(space.name, total, by_type, pinned, highlights),
    }


def _read(
    session: Session, space: Space, scope: tuple[ColumnElement[bool], ...]
) -> tuple[Iterable[tuple[str, int]], Sequence[Memory]]:
    """Return the commonest tags with their counts, and what matters most, both from one look at every memory."""
    columns = (Memory.id, Memory.tags, Memory.pinned, Memory.importance, Memory.created_at)
    looked_at = select(*columns).where(*scope).cte("looked_at").prefix_with("MATERIALIZED")
    tag, number = func.unnest(looked_at.c.tags).label("tag"), func.count().label("number")
    by_tag = select(tag, number).group_by(tag).order_by(number.desc(), tag).limit(MOST_TAGS).cte("by_tag")
    of_tags = (
        select(column).order_by(by_tag.c.number.desc(), by_tag.c.tag).scalar_subquery()
        for column in (by_tag.c.tag, by_tag.c.number)
    )
    first = select(looked_at.c.id).order_by(*_by_weight(looked_at.c)).limit(SHOWN).scalar_subquery()
    tags, numbers, ids = session.execute(select(*(func.array(each) for each in (*of_tags, first)))).one()
    shown = select(Memory).where(Memory.user_id == space.user_id, Memory.id.in_(ids)).order_by(*_by_weight(Memory))
    return zip(tags, numbers, strict=True), session.scalars(shown).all()


def _by_weight(rows: Any) -> tuple[ColumnElement[Any], ...]:
    return rows.pinned.desc(), rows.importance.desc(), rows.created_at.desc(), rows.id.desc()


def _sentence(name: str, total: int, by_type: dict[str, int], pinned: int, highlights: Any) -> str:
    if not total:
        return f"Nothing is remembered in {name} yet."
    parts = ", ".join(
        f"{count} {_SEVERAL.get(kind, f'{kind}s') if count > 1 else kind}" for kind, count in by_type.items()
    )
    lines = "\n".join(f"- {_on_one_line(memory.text)}" for memory in highlights)
    memories = "memory" if total == 1 else "memories"
    return f"{total} {memories} in {name} ({parts}); {pinned} pinned. What matters most:\n{lines}"


def _on_one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}\N{HORIZONTAL ELLIPSIS}"
