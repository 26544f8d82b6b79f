"""Taking what a forgotten memory said out of notebooks."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from memory.models import Cell, Notebook, RecallMark
from memory.redaction.redaction import REDACTED, Secrets
from memory.texts.needles import Needles

UNTITLED = "Untitled"
BLANK_CELL: dict[str, Any] = {"input": REDACTED, "output": None, "duration_ms": None, "ran_at": None}
_AT_ONCE = 1000


def title_of(notebook: Notebook, secrets: Secrets | None) -> str:
    """Return the title as it may be shown while what it names can still be brought back."""
    return UNTITLED if secrets is not None and secrets.needles.in_text(notebook.title) else notebook.title


def blank(session: Session, needles: Needles) -> int:
    """Blank every cell whose input or output says one of the texts, and titles and marked questions that do.

    Returns how many cells. Works with the user whom the transaction is confined to; the caller commits. Everything
    is read: a person types a few hundred cells, not millions. Whoever writes meanwhile is waited for before, as
    `memory.redaction.telling` says.
    """
    if not needles:
        return 0
    session.flush()
    cells, named = _saying(session, needles), _named(session, needles)
    if cells or named:
        # As whoever removes one for good, in one order.
        mine = select(Notebook.id).where(Notebook.user_id == func.app_user())
        session.execute(mine.order_by(Notebook.id).with_for_update())
    if cells:
        blanked = update(Cell).where(Cell.user_id == func.app_user(), Cell.id.in_(cells))
        session.execute(blanked.values(**BLANK_CELL))
    if named:
        renamed = update(Notebook).where(Notebook.user_id == func.app_user(), Notebook.id.in_(named))
        session.execute(renamed.values(title=UNTITLED))
    _drop_marks(session, needles)
    return len(cells)


def _saying(session: Session, needles: Needles) -> list[UUID]:
    mine = select(Cell.id, Cell.input, Cell.output).where(Cell.user_id == func.app_user())
    rows = session.execute(mine.execution_options(yield_per=_AT_ONCE))
    return [cell_id for cell_id, given, output in rows if needles.in_value([given, output])]


def _named(session: Session, needles: Needles) -> list[UUID]:
    titled = select(Notebook.id, Notebook.title).where(Notebook.user_id == func.app_user())
    return [notebook_id for notebook_id, title in session.execute(titled) if needles.in_text(title)]


def _drop_marks(session: Session, needles: Needles) -> None:
    mine = select(RecallMark.question).where(RecallMark.user_id == func.app_user()).distinct()
    said = [question for question in session.scalars(mine) if needles.in_text(question)]
    if said:
        session.execute(delete(RecallMark).where(RecallMark.user_id == func.app_user(), RecallMark.question.in_(said)))
