"""Notebooks as wholes: listed, made, renamed, copied, removed with an undo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import delete, func, select, tuple_
from sqlalchemy.orm import Session

from memory.cursors import from_cursor, to_cursor
from memory.errors import ConflictError, NotFoundError
from memory.ids import new_id
from memory.locks import Purpose, lock_name
from memory.models import Cell, Notebook
from memory.notebooks.checks import MOST_NOTEBOOKS, check_title
from memory.record.journal import record
from memory.redaction.telling import begin_to_tell

UNDO_WINDOW = timedelta(minutes=10)

# What a first visit finds: three steps that run as they stand.
Step = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Listed:
    """A notebook and how many cells it has."""

    notebook: Notebook
    cells: int


@dataclass(frozen=True, slots=True)
class NotebookPage:
    """Some notebooks, the one that was changed last first, and the cursor of the next page (None at the end)."""

    listed: Sequence[Listed]
    next_cursor: str | None


def page_notebooks(session: Session, user_id: UUID, *, limit: int, cursor: str | None = None) -> NotebookPage:
    """Return a page of the user's notebooks; raises `InvalidError` for a bad cursor."""
    cells = select(func.count()).where(
        Cell.user_id == Notebook.user_id, Cell.notebook_id == Notebook.id, Cell.removed_at.is_(None)
    )
    statement = select(Notebook, cells.scalar_subquery())
    statement = statement.where(Notebook.user_id == user_id, Notebook.removed_at.is_(None))
    if cursor is not None:
        statement = statement.where(tuple_(Notebook.updated_at, Notebook.id) < from_cursor(cursor))
    statement = statement.order_by(Notebook.updated_at.desc(), Notebook.id.desc()).limit(limit + 1)
    found = [Listed(notebook, number) for notebook, number in session.execute(statement)]
    last = found[limit - 1].notebook if len(found) > limit else None
    return NotebookPage(found[:limit], to_cursor(last.updated_at, last.id) if last else None)


def latest_notebook(session: Session, user_id: UUID) -> Notebook | None:
    """Return the notebook that was changed last; None when there is none."""
    statement = select(Notebook).where(Notebook.user_id == user_id, Notebook.removed_at.is_(None))
    return session.scalar(statement.order_by(Notebook.updated_at.desc(), Notebook.id.desc()).limit(1))


def get_notebook(session: Session, user_id: UUID, notebook_id: UUID) -> Notebook:
    """Return the user's notebook; raises `NotFoundError` for one that is removed as for none."""
    notebook = session.get(Notebook, (user_id, notebook_id))
    if notebook is None or notebook.removed_at is not None:
        raise NotFoundError("there is no such notebook")
    return notebook


def lock_notebook(session: Session, user_id: UUID, notebook_id: UUID) -> Notebook:
    """Return the notebook, locked: whoever changes its cells takes this first, so that places never clash.

    Whoever purges a text at this moment has done so before this returns, or waits until the transaction ends.
    """
    begin_to_tell(session)
    statement = select(Notebook).where(Notebook.user_id == user_id, Notebook.id == notebook_id).with_for_update()
    notebook = session.scalar(statement.execution_options(populate_existing=True))
    if notebook is None or notebook.removed_at is not None:
        raise NotFoundError("there is no such notebook")
    return notebook


def create_notebook(
    session: Session, user_id: UUID, title: str, *, now: datetime, actor: str, steps: Sequence[Step] = ()
) -> Notebook:
    """Add a notebook with a cell for each of `steps`, (kind, input); raises `InvalidError` and `ConflictError`."""
    title = check_title(title)
    begin_to_tell(session)
    _check_room(session, user_id)
    notebook = Notebook(user_id=user_id, id=new_id(), title=title, created_at=now, updated_at=now)
    session.add(notebook)
    session.flush()
    for place, (kind, given) in enumerate(steps):
        session.add(_cell(notebook, place, kind, given, now))
    session.flush()
    record(session, user_id, "notebook.created", actor=actor, now=now, subject_id=notebook.id)
    return notebook


def rename_notebook(
    session: Session, user_id: UUID, notebook_id: UUID, title: str, *, now: datetime, actor: str
) -> Notebook:
    """Give the notebook another title."""
    title = check_title(title)
    notebook = lock_notebook(session, user_id, notebook_id)
    notebook.title, notebook.updated_at = title, now
    record(session, user_id, "notebook.renamed", actor=actor, now=now, subject_id=notebook_id)
    return notebook


def duplicate_notebook(session: Session, user_id: UUID, notebook_id: UUID, *, now: datetime, actor: str) -> Notebook:
    """Add a copy with the same cells and outputs."""
    # Before the notebook is read, so that what somebody blanks meanwhile is not copied.
    begin_to_tell(session)
    notebook = get_notebook(session, user_id, notebook_id)
    copy = create_notebook(session, user_id, check_title(f"Copy of {notebook.title}"[:200]), now=now, actor=actor)
    cells = select(Cell).where(Cell.user_id == user_id, Cell.notebook_id == notebook_id, Cell.removed_at.is_(None))
    for cell in session.scalars(cells.order_by(Cell.place, Cell.id)).all():
        session.add(copied(cell, copy.id, cell.place, now))
    session.flush()
    return copy


def remove_notebook(session: Session, user_id: UUID, notebook_id: UUID, *, now: datetime, actor: str) -> None:
    """Take a notebook out of sight; it is deleted for good when ten minutes have passed."""
    notebook = lock_notebook(session, user_id, notebook_id)
    notebook.removed_at = now
    record(session, user_id, "notebook.removed", actor=actor, now=now, subject_id=notebook_id)
    session.flush()


def restore_notebook(session: Session, user_id: UUID, notebook_id: UUID, *, now: datetime, actor: str) -> Notebook:
    """Undo a removal inside its window; a notebook that is there is answered as it is, as to whoever asks twice.

    Raises `NotFoundError` when the window has closed, and `ConflictError` when others took its room since.
    """
    notebook = session.get(Notebook, (user_id, notebook_id), with_for_update=True, populate_existing=True)
    if notebook is None or (notebook.removed_at is not None and notebook.removed_at + UNDO_WINDOW <= now):
        raise NotFoundError("there is nothing to restore: the undo window has closed")
    if notebook.removed_at is None:
        return notebook
    _check_room(session, user_id)
    notebook.removed_at, notebook.updated_at = None, now
    record(session, user_id, "notebook.restored", actor=actor, now=now, subject_id=notebook_id)
    session.flush()
    return notebook


def restorable(session: Session, user_id: UUID, now: datetime) -> Sequence[Notebook]:
    """Return the notebooks whose removal can be undone, the last removed first."""
    statement = select(Notebook).where(Notebook.user_id == user_id, Notebook.removed_at > now - UNDO_WINDOW)
    return session.scalars(statement.order_by(Notebook.removed_at.desc())).all()


def drop_removed(session: Session, user_id: UUID, now: datetime) -> None:
    """Delete for good what was removed more than ten minutes ago."""
    closed = now - UNDO_WINDOW
    gone = (Notebook.user_id == user_id, Notebook.removed_at <= closed)
    # In one order for everyone who needs several.
    session.execute(select(Notebook.id).where(*gone).order_by(Notebook.id).with_for_update())
    session.execute(delete(Notebook).where(*gone))
    session.execute(delete(Cell).where(Cell.user_id == user_id, Cell.removed_at <= closed))


def copied(cell: Cell, notebook_id: UUID, place: int, now: datetime) -> Cell:
    """Return a new cell with the same input and output."""
    return Cell(
        user_id=cell.user_id,
        id=new_id(),
        notebook_id=notebook_id,
        place=place,
        kind=cell.kind,
        input=dict(cell.input),
        output=dict(cell.output) if cell.output is not None else None,
        duration_ms=cell.duration_ms,
        ran_at=cell.ran_at,
        collapsed=cell.collapsed,
        created_at=now,
        updated_at=now,
    )


def _cell(notebook: Notebook, place: int, kind: str, given: dict[str, Any], now: datetime) -> Cell:
    return Cell(
        user_id=notebook.user_id,
        id=new_id(),
        notebook_id=notebook.id,
        place=place,
        kind=kind,
        input=given,
        created_at=now,
        updated_at=now,
    )


def _check_room(session: Session, user_id: UUID) -> None:
    # Of two who make notebooks at the same moment the second waits here, and counts the one that the first made.
    lock_name(session, str(user_id), Purpose.NOTEBOOKS)
    # A notebook that is removed makes room at once, though it can still be brought back.
    mine = select(func.count()).where(Notebook.user_id == user_id, Notebook.removed_at.is_(None))
    if (session.scalar(mine) or 0) >= MOST_NOTEBOOKS:
        raise ConflictError(f"there are {MOST_NOTEBOOKS} notebooks already; delete one first")
