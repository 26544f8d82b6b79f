"""Cells of a notebook: added, moved, edited, run, removed with an undo."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from memory.errors import ConflictError, NotFoundError
from memory.ids import new_id
from memory.models import Cell, Notebook
from memory.notebooks.checks import MOST_CELLS, check_content, check_kind
from memory.notebooks.notebooks import UNDO_WINDOW, copied, lock_notebook


def list_cells(session: Session, user_id: UUID, notebook_id: UUID, now: datetime) -> Sequence[Cell]:
    """Return the cells in their order, among them those whose removal can still be undone."""
    statement = select(Cell).where(
        Cell.user_id == user_id,
        Cell.notebook_id == notebook_id,
        or_(Cell.removed_at.is_(None), Cell.removed_at > now - UNDO_WINDOW),
    )
    return session.scalars(statement.order_by(Cell.place, Cell.id)).all()


def get_cell(session: Session, user_id: UUID, notebook_id: UUID, cell_id: UUID) -> Cell:
    """Return a cell of the user's notebook; raises `NotFoundError` for one that is removed as for none."""
    return _in_sight(session.get(Cell, (user_id, cell_id)), notebook_id)


def add_cell(
    session: Session,
    user_id: UUID,
    notebook_id: UUID,
    kind: str,
    given: dict[str, Any],
    *,
    now: datetime,
    after: UUID | None = None,
) -> Cell:
    """Add a cell after another, or at the end; raises `InvalidError`, `NotFoundError` and `ConflictError`."""
    check_kind(kind)
    check_content(given, "input")
    cells = _locked(session, user_id, notebook_id, now)
    _check_room(cells)
    cell = Cell(
        user_id=user_id,
        id=new_id(),
        notebook_id=notebook_id,
        place=0,
        kind=kind,
        input=given,
        created_at=now,
        updated_at=now,
    )
    session.add(cell)
    _insert(cells, cell, after)
    session.flush()
    return cell


def move_cell(session: Session, user_id: UUID, notebook_id: UUID, cell_id: UUID, to: int, *, now: datetime) -> None:
    """Put a cell at place `to` of the cells that are in sight, 0 being the first; beyond the end is the end."""
    cells = _locked(session, user_id, notebook_id, now)
    cell = _of(cells, cell_id)
    seen = [each for each in cells if each.removed_at is None and each.id != cell_id]
    to = max(0, min(to, len(seen)))
    cells.remove(cell)
    cells.insert(cells.index(seen[to]) if to < len(seen) else len(cells), cell)
    _number(cells)
    session.flush()


def edit_cell(
    session: Session,
    user_id: UUID,
    notebook_id: UUID,
    cell_id: UUID,
    given: dict[str, Any],
    *,
    now: datetime,
    answered: bool = True,
) -> Cell:
    """Replace a cell's input; the output goes where it does not answer that."""
    check_content(given, "input")
    cell = hold_cell(session, user_id, notebook_id, cell_id)
    session.get_one(Notebook, (user_id, notebook_id)).updated_at = cell.updated_at = now
    cell.input = given
    if not answered:
        cell.output, cell.duration_ms, cell.ran_at = None, None, None
    session.flush()
    return cell


def keep_run(
    session: Session,
    user_id: UUID,
    notebook_id: UUID,
    cell_id: UUID,
    given: dict[str, Any],
    output: dict[str, Any],
    *,
    duration_ms: float,
    now: datetime,
) -> Cell:
    """Keep what a cell was asked and what came of it: ids, scores and numbers, no text of a memory."""
    check_content(output, "output")
    cell = edit_cell(session, user_id, notebook_id, cell_id, given, now=now)
    cell.output, cell.duration_ms, cell.ran_at = output, duration_ms, now
    session.flush()
    return cell


def hold_cell(session: Session, user_id: UUID, notebook_id: UUID, cell_id: UUID) -> Cell:
    """Return a cell as it is now, which nobody else changes until the transaction ends; raises `NotFoundError`."""
    lock_notebook(session, user_id, notebook_id)
    return _in_sight(session.get(Cell, (user_id, cell_id), populate_existing=True), notebook_id)


def collapse_cell(session: Session, user_id: UUID, notebook_id: UUID, cell_id: UUID, *, collapsed: bool) -> Cell:
    """Fold a cell, or open it."""
    cell = hold_cell(session, user_id, notebook_id, cell_id)
    cell.collapsed = collapsed
    session.flush()
    return cell


def duplicate_cell(session: Session, user_id: UUID, notebook_id: UUID, cell_id: UUID, *, now: datetime) -> Cell:
    """Add a copy right after the cell, with its output."""
    cells = _locked(session, user_id, notebook_id, now)
    _check_room(cells)
    copy = copied(_of(cells, cell_id), notebook_id, 0, now)
    session.add(copy)
    _insert(cells, copy, cell_id)
    session.flush()
    return copy


def remove_cell(session: Session, user_id: UUID, notebook_id: UUID, cell_id: UUID, *, now: datetime) -> Cell:
    """Take a cell out of sight; it is deleted for good when ten minutes have passed."""
    cell = _of(_locked(session, user_id, notebook_id, now), cell_id)
    cell.removed_at = now
    session.flush()
    return cell


def restore_cell(session: Session, user_id: UUID, notebook_id: UUID, cell_id: UUID, *, now: datetime) -> Cell:
    """Undo a removal inside its window; a cell that is there is answered as it is, as to whoever asks twice.

    Raises `NotFoundError` when the window has closed, and `ConflictError` when the notebook was filled since.
    """
    cells = _locked(session, user_id, notebook_id, now)
    cell = next((each for each in cells if each.id == cell_id), None)
    if cell is None:
        raise NotFoundError("there is nothing to restore: the undo window has closed")
    if cell.removed_at is not None:
        _check_room(cells)
        cell.removed_at = None
        session.flush()
    return cell


def _locked(session: Session, user_id: UUID, notebook_id: UUID, now: datetime) -> list[Cell]:
    """Return the cells of a notebook that is about to change."""
    lock_notebook(session, user_id, notebook_id).updated_at = now
    return list(list_cells(session, user_id, notebook_id, now))


def _in_sight(cell: Cell | None, notebook_id: UUID) -> Cell:
    if cell is None or cell.notebook_id != notebook_id or cell.removed_at is not None:
        raise NotFoundError("there is no such cell")
    return cell


def _of(cells: Sequence[Cell], cell_id: UUID) -> Cell:
    cell = next((each for each in cells if each.id == cell_id and each.removed_at is None), None)
    if cell is None:
        raise NotFoundError("there is no such cell")
    return cell


def _insert(cells: list[Cell], cell: Cell, after: UUID | None) -> None:
    place = len(cells) if after is None else cells.index(_of(cells, after)) + 1
    cells.insert(place, cell)
    _number(cells)


def _number(cells: Sequence[Cell]) -> None:
    for place, cell in enumerate(cells):
        if cell.place != place:
            cell.place = place


def _check_room(cells: Sequence[Cell]) -> None:
    if sum(cell.removed_at is None for cell in cells) >= MOST_CELLS:
        raise ConflictError(f"a notebook has at most {MOST_CELLS} cells; remove one first")
