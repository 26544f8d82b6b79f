"""A space in words and numbers, without a model."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from memory.models import Memory, Space

SHOWN = 5
LONGEST_LINE = 200  # characters
_SEVERAL = {"summary": "summaries", "other": "other"}


def summarise(session: Session, space: Space, *, now: datetime) -> dict[str, Any]:
    """Return counts, the commonest tags, and what matters most in the space, with a sentence that says it."""
    scope = (
        Memory.user_id == space.user_id,
        Memory.space_id == space.id,
        Memory.status == "active",
        Memory.expires_at.is_(None) | (Memory.expires_at > now),
    )
    kinds = select(Memory.type, func.count()).where(*scope).group_by(Memory.type).order_by(Memory.type)
    by_type = {kind: count for kind, count in session.execute(kinds)}  # noqa: C416 - rows are no plain tuples
    pinned, waiting = session.execute(
        select(func.count().filter(Memory.pinned), func.count().filter(Memory.needs_embedding)).where(*scope)
    ).one()
    tag = func.unnest(Memory.tags).label("tag")
    tags = select(tag, func.count().label("n")).where(*scope).group_by(tag).order_by(func.count().desc(), tag).limit(10)
    highlights = session.scalars(
        select(Memory)
        .where(*scope)
        .order_by(Memory.pinned.desc(), Memory.importance.desc(), Memory.created_at.desc())
        .limit(SHOWN)
    ).all()
    total = sum(by_type.values())
    return {
        "space": space.slug,
        "total": total,
        "by_type": by_type,
        "pinned": pinned,
        "waiting_for_embedding": waiting,
        "tags": [{"tag": name, "count": count} for name, count in session.execute(tags)],
        "highlights": [
            {"id": str(m.id), "text": m.text[:LONGEST_LINE], "type": m.type, "pinned": m.pinned} for m in highlights
        ],
        "summary": _sentence(space.name, total, by_type, pinned, highlights),
    }


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
