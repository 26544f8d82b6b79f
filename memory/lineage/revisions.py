"""The versions of a memory: what each said, who replaced it, and when."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import delete, func, select
from sqlalchemy.inspection import inspect
from sqlalchemy.orm import Session

from memory.cursors import check_limit
from memory.errors import NotFoundError
from memory.ids import among
from memory.lineage.wordings import hand_wordings_over, wordings
from memory.models import Memory, Revision, Theme
from memory.storage.unsynchronised import run_unsynchronised

# An agent that rewrites a memory every minute must not fill the disk.
MOST_KEPT = 100
LARGEST_PAGE = 100


@dataclass(frozen=True, slots=True)
class Content:
    """What a version keeps: what the memory says and how it is filed, not whether it is pinned, active or to expire."""

    text: str
    type: str
    tags: list[str]
    source_ids: list[str]
    theme: str | None
    importance: float


VERSIONED = tuple(field.name for field in fields(Content))


@dataclass(frozen=True, slots=True)
class History:
    """Some versions that were replaced, newest first; `next_before` asks for the rest, None at the end.

    `current` is the number of the version in force, which is the memory itself.
    """

    versions: Sequence[Revision]
    next_before: int | None
    current: int


def content_of(session: Session, memory: Memory) -> Content:
    """Return what a version of the memory as it stands would keep."""
    theme = session.get(Theme, (memory.user_id, memory.theme_id)) if memory.theme_id else None
    return Content(
        memory.text,
        memory.type,
        list(memory.tags),
        list(memory.source_ids),
        theme.slug if theme else None,
        memory.importance,
    )


def keep(
    session: Session,
    user_id: UUID,
    changed: Sequence[tuple[Memory, Content]],
    *,
    now: datetime,
    actor: str,
    restored: int | None = None,
) -> None:
    """Keep what memories said before they were changed, where they do not say the same now.

    The caller has locked the memories. Of more than 100 versions of one the oldest go.
    """
    kept = []
    numbers = _numbers(session, user_id, [memory.id for memory, _ in changed])
    for memory, before in changed:
        was, now_is = asdict(before), asdict(content_of(session, memory))
        differing = [name for name, value in was.items() if now_is[name] != value]
        if not differing:
            continue
        number = numbers[memory.id]
        revision = Revision(
            user_id=user_id,
            memory_id=memory.id,
            number=number,
            **was,
            fields=differing,
            restored=restored,
            actor=actor,
            replaced_at=now,
        )
        kept.append(revision)
        if number > MOST_KEPT:
            old = (*_of(user_id, [memory.id]), Revision.number <= number - MOST_KEPT)
            run_unsynchronised(session, delete(Revision).where(*old))
    session.add_all(kept)


def _numbers(session: Session, user_id: UUID, memory_ids: Collection[UUID]) -> Mapping[UUID, int]:
    """Return the numbers of the versions of memories that are in force."""
    last = select(Revision.memory_id, func.max(Revision.number).label("last")).where(*_of(user_id, memory_ids))
    found = {row.memory_id: row.last for row in session.execute(last.group_by(Revision.memory_id))}
    return {memory_id: found.get(memory_id, 0) + 1 for memory_id in memory_ids}


def _of(user_id: UUID, memory_ids: Collection[UUID]) -> tuple[Any, ...]:
    return Revision.user_id == user_id, among(Revision.memory_id, memory_ids)


def list_revisions(
    session: Session, user_id: UUID, memory_id: UUID, *, limit: int = 20, before: int | None = None
) -> History:
    """Return versions of a memory from the one before `before` on; the caller has found the memory.

    Raises `InvalidError` for a limit beyond 100.
    """
    check_limit(limit, LARGEST_PAGE)
    statement = select(Revision).where(*_of(user_id, [memory_id]))
    if before is not None:
        statement = statement.where(Revision.number < before)
    found = session.scalars(statement.order_by(Revision.number.desc()).limit(limit + 1)).all()
    shown = found[:limit]
    further = shown[-1].number if len(found) > limit else None
    return History(shown, further, _numbers(session, user_id, [memory_id])[memory_id])


def get_revision(session: Session, user_id: UUID, memory_id: UUID, number: int) -> Revision:
    """Return one version that was replaced; raises `NotFoundError`."""
    # A larger number than a column holds is of no version.
    found = session.get(Revision, (user_id, memory_id, number)) if 0 < number < 1 << 31 else None
    if found is None:
        raise NotFoundError("there is no such version of this memory")
    return found


def to_bring_back(session: Session, revision: Revision) -> dict[str, Any]:
    """Return the fields that make a memory say again what this version said.

    Importance is among them only where somebody has set it since: by itself it grows with each repeat, which is not
    undone.
    """
    since = select(Revision.fields).where(
        *_of(revision.user_id, [revision.memory_id]), Revision.number >= revision.number
    )
    is_set = any("importance" in fields for fields in session.scalars(since))
    return {name: getattr(revision, name) for name in VERSIONED if name != "importance" or is_set}


def hand_over(session: Session, user_id: UUID, twins: Mapping[UUID, UUID]) -> None:
    """Give the versions of each memory, and the texts merged into it, to its twin, behind the twin's own.

    So what either of them said goes when the twin is forgotten.
    """
    hand_wordings_over(session, user_id, twins)
    rows = session.scalars(
        select(Revision).where(*_of(user_id, twins)).order_by(Revision.memory_id, Revision.number)
    ).all()
    numbers = dict(_numbers(session, user_id, {twins[row.memory_id] for row in rows}))
    for row in rows:
        twin = twins[row.memory_id]
        values = {name: getattr(row, name) for name in _columns() if name not in {"user_id", "memory_id", "number"}}
        session.add(Revision(user_id=user_id, memory_id=twin, number=numbers[twin], **{**values, "restored": None}))
        numbers[twin] += 1
    session.flush()


def texts_of(session: Session, user_id: UUID, memory_ids: Collection[UUID]) -> list[str]:
    """Return every text that these memories had before, and those that were merged into them."""
    before = session.scalars(select(Revision.text).where(*_of(user_id, memory_ids)).distinct())
    merged = wordings(session, user_id, memory_ids).values()
    return list(dict.fromkeys([*before, *(text for texts in merged for text in texts)]))


def packed_by_memory(
    session: Session, user_id: UUID, memory_ids: Collection[UUID]
) -> Mapping[UUID, list[dict[str, Any]]]:
    """Return the versions of memories as JSON holds them, so that they can go and come back with these.

    Those that have none are left out.
    """
    found: dict[UUID, list[dict[str, Any]]] = defaultdict(list)
    rows = select(Revision).where(*_of(user_id, memory_ids)).order_by(Revision.memory_id, Revision.number)
    names = [name for name in _columns() if name not in {"user_id", "memory_id"}]
    for row in session.scalars(rows) if memory_ids else ():
        found[row.memory_id].append({name: _plain(getattr(row, name)) for name in names})
    return found


def unpacked(user_id: UUID, memory_id: UUID, rows: Sequence[Mapping[str, Any]]) -> list[Revision]:
    """Return versions that were packed."""
    return [
        Revision(
            user_id=user_id,
            memory_id=memory_id,
            **{**row, "replaced_at": datetime.fromisoformat(row["replaced_at"])},
        )
        for row in rows
    ]


def _columns() -> list[str]:
    return [column.key for column in inspect(Revision).columns]


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value
