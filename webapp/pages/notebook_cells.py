"""What is done with one cell of a notebook, and with one hit in it."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any
from uuid import UUID

from flask import Response, flash, make_response, render_template, request, url_for
from pydantic import ValidationError

from memory.errors import InvalidError, NotFoundError
from memory.forgetting.forget import UNDO_WINDOW
from memory.models import DEFAULT_SPACE, Cell
from memory.notebooks import cells
from memory.notebooks.marks import mark_right, unmark
from memory.notebooks.notebooks import get_notebook
from memory.spaces.spaces import update_space
from retrieval.policy import PolicyError
from webapp.context import credential, session, utc_now
from webapp.htmx import done_or_go, refresh_or_go, swap_or_go, wants_fragment
from webapp.operations import (
    bring_back,
    is_incognito,
    refuse_in_incognito,
    refuse_notes_in_incognito,
    remove,
    set_pin,
    space_for,
)
from webapp.pages.forms import begun_with, parse
from webapp.pages.letting_go import purge_now
from webapp.pages.notebook import page_of, vocabulary
from webapp.pages.notebook_forms import FORMS, WEIGHTS, CellForm, ContextForm, NoteForm, RecallForm
from webapp.pages.notebook_run import run_cell
from webapp.pages.notebook_stored import asked_of
from webapp.pages.notebook_view import CellView, Place, Recalled, Remembered, digest_of, view_cell
from webapp.pages.queries import choices
from webapp.pages.visitor import guarded
from webapp.plain import in_one_sentence, in_words
from webapp.recall import policy_for

bp = guarded("cells")
bp.context_processor(vocabulary)

OVERTAKEN = (
    "Nothing was saved: this note was changed while you wrote. As it is now it stands below; save again to put what is "
    "written here in its place."
)
_CELL = "/notebooks/<uuid:notebook_id>/cells/<uuid:cell_id>"


@bp.post("/notebooks/<uuid:notebook_id>/cells")
def add(notebook_id: UUID) -> Response:
    """Add an empty cell, at the end or after another."""
    user_id, kind = credential().user_id, request.values.get("kind", "")
    if kind not in FORMS:
        raise InvalidError("kind", f"must be one of {', '.join(FORMS)}")
    after = _uuid(request.values.get("after"))
    cell = cells.add_cell(session(), user_id, notebook_id, kind, {}, after=after, now=utc_now())
    session().commit()
    return _shown(cell, fresh=True)


@bp.get(_CELL)
def show(notebook_id: UUID, cell_id: UUID) -> Response:
    """Show one cell: to htmx by itself, else the page where it is."""
    return _shown(_cell(notebook_id, cell_id))


@bp.post(f"{_CELL}/run")
def run(notebook_id: UUID, cell_id: UUID) -> Response:
    """Run a cell with what its form says; a field that does not fit changes nothing."""
    cell, private = _cell(notebook_id, cell_id), is_incognito(None)
    form: CellForm | None = None
    try:
        form = _form(cell)
        if isinstance(form, NoteForm):
            # Two who save at once follow one another, and the second is told.
            cell = _held(notebook_id, cell_id)
        if _is_overtaken(cell, form):
            return _overtaken(cell, form)
        if _is_kept_blank(cell, form):
            return _shown(cell)
        ran = run_cell(cell, form)
    except (ValidationError, InvalidError, PolicyError) as error:
        session().rollback()
        return _refused(_cell(notebook_id, cell_id), _reason(error), form)
    answer = ran.said.answer if ran.said is not None else ""
    if ran.said is not None and is_incognito(None) != private:
        # The whole page looks different now.
        flash(answer)
        return refresh_or_go(url_for("notebook.show", notebook_id=notebook_id))
    cell = _cell(notebook_id, cell_id)
    typed = form if ran.notice or (cell.output or {}).get("outcome") == "refused" else None
    return _shown(cell, view_cell(cell, notice=ran.notice, form=typed, answer=answer), plain=bool(ran.notice or answer))


@bp.post(f"{_CELL}/weights")
def weights(notebook_id: UUID, cell_id: UUID) -> Response:
    """Save the weights of a recall for its space."""
    cell, who = _cell(notebook_id, cell_id), credential()
    form: RecallForm | None = None
    try:
        form = parse(RecallForm, request.form)
        space = space_for(form.space)
        refuse_in_incognito(space.id)
        kept = {**space.policy, **form.policy()}
        # Refused here: weights that no search can use would end every search of the space.
        policy_for(kept, None)
        update_space(session(), who.user_id, space.slug, {"policy": kept}, now=utc_now(), actor=who.actor)
    except (ValidationError, InvalidError, PolicyError) as error:
        session().rollback()
        return _refused(_cell(notebook_id, cell_id), _reason(error), form)
    name = space.name
    session().commit()
    notice = f"These weights are now those of the space {name}, for every search that names none of its own."
    return _shown(cell, view_cell(cell, notice=notice, form=form), plain=True)


@bp.post(f"{_CELL}/move")
def move(notebook_id: UUID, cell_id: UUID) -> Response:
    """Move a cell by so many places, or before another, or to the end."""
    user_id, now = credential().user_id, utc_now()
    _cell(notebook_id, cell_id)
    seen = [each.id for each in cells.list_cells(session(), user_id, notebook_id, now) if each.removed_at is None]
    before = _uuid(request.values.get("before"))
    if before is not None:
        others = [each for each in seen if each != cell_id]
        to = others.index(before) if before in others else len(others)
    else:
        to = seen.index(cell_id) + max(-len(seen), min(request.values.get("by", len(seen), int), len(seen)))
    cells.move_cell(session(), user_id, notebook_id, cell_id, to, now=now)
    session().commit()
    return done_or_go(_address(notebook_id, cell_id))


@bp.post(f"{_CELL}/fold")
def fold(notebook_id: UUID, cell_id: UUID) -> Response:
    """Fold a cell, or open it; what is typed and does fit is kept on the way."""
    cell = _cell(notebook_id, cell_id)
    if (overtaken := _keep_draft(cell)) is not None:
        return overtaken
    cell = _cell(notebook_id, cell_id)
    cells.collapse_cell(session(), cell.user_id, notebook_id, cell_id, collapsed=not cell.collapsed)
    session().commit()
    return _shown(cell)


def _keep_draft(cell: Cell) -> Response | None:
    """Keep what is typed in a cell and does fit; answers instead where a note was changed meanwhile."""
    if not request.form.get("draft") or cell.collapsed or cell.kind == "remember" or is_incognito(None):
        return None
    user_id, notebook_id, cell_id = cell.user_id, cell.notebook_id, cell.id
    try:
        form, cell = _form(cell), _held(notebook_id, cell_id)
        if _is_overtaken(cell, form) and not _is_untouched(form):
            return _overtaken(cell, form)
        if not _is_kept_blank(cell, form) and not _is_overtaken(cell, form):
            answered = _asks_the_same(form, asked_of(cell))
            cells.edit_cell(session(), user_id, notebook_id, cell_id, form.kept(), now=utc_now(), answered=answered)
    except (ValidationError, InvalidError):
        session().rollback()
    return None


@bp.post(f"{_CELL}/duplicate")
def duplicate(notebook_id: UUID, cell_id: UUID) -> Response:
    """Add a copy after the cell."""
    refuse_notes_in_incognito()
    copy = cells.duplicate_cell(session(), credential().user_id, notebook_id, cell_id, now=utc_now())
    session().commit()
    return _shown(copy)


@bp.post(f"{_CELL}/remove")
def take_away(notebook_id: UUID, cell_id: UUID) -> Response:
    """Remove a cell, with ten minutes to change one's mind; what it remembered stays, and what is typed comes back."""
    if (overtaken := _keep_draft(_cell(notebook_id, cell_id))) is not None:
        return overtaken
    cell = cells.remove_cell(session(), credential().user_id, notebook_id, cell_id, now=utc_now())
    session().commit()
    return swap_or_go("notebook/_removed.html", _address(notebook_id, cell_id), cell=cell)


@bp.post(f"{_CELL}/restore")
def restore(notebook_id: UUID, cell_id: UUID) -> Response:
    """Undo the removal of a cell."""
    cell = cells.restore_cell(session(), credential().user_id, notebook_id, cell_id, now=utc_now())
    session().commit()
    return _shown(cell)


ACTS: dict[str, Callable[[UUID, str], object]] = {
    "pin": lambda memory_id, _: set_pin(memory_id, pinned=True),
    "unpin": lambda memory_id, _: set_pin(memory_id, pinned=False),
    "forget": lambda memory_id, _: remove(memory_id, UNDO_WINDOW),
    "undo": lambda memory_id, _: bring_back(memory_id),
    "let_go": lambda memory_id, _: purge_now(memory_id),
    "mark": lambda memory_id, question: mark_right(session(), credential().user_id, question, memory_id, now=utc_now()),
    "unmark": lambda memory_id, question: unmark(session(), credential().user_id, question, memory_id),
}


@bp.post(f"{_CELL}/hits/<uuid:memory_id>")
def hit(notebook_id: UUID, cell_id: UUID, memory_id: UUID) -> Response:
    """Pin, forget or mark one of the memories that a cell shows, and answer it as it is then."""
    act = request.form.get("act", "undo")
    if act not in ACTS:
        raise InvalidError("act", f"must be one of {', '.join(ACTS)}")
    cell = _cell(notebook_id, cell_id)
    question = str(cell.input.get("q", ""))
    if _place(view_cell(cell), memory_id) is None:
        raise NotFoundError("this cell shows no such memory")
    if act in {"mark", "unmark"}:
        refuse_notes_in_incognito()
    ACTS[act](memory_id, question)
    if act == "mark" and str(_held(notebook_id, cell_id).input.get("q", "")) != question:
        # What it asked may have been forgotten since it was read, and a mark would keep it.
        raise NotFoundError("this cell shows no such memory")
    session().commit()
    cell = _cell(notebook_id, cell_id)
    view = view_cell(cell)
    if cell.kind == "remember" or act == "let_go":
        return _shown(cell, view)
    back = _address(notebook_id, cell_id)
    return swap_or_go("notebook/_hit.html", back, view=view, cell=cell, place=_place(view, memory_id))


def _place(view: CellView, memory_id: UUID) -> Place | None:
    if isinstance(view.shown, Recalled):
        return next((each for each in view.shown.places if each.memory_id == memory_id), None)
    if isinstance(view.shown, Remembered) and view.shown.place and view.shown.place.memory_id == memory_id:
        return view.shown.place
    return None


def _cell(notebook_id: UUID, cell_id: UUID) -> Cell:
    get_notebook(session(), credential().user_id, notebook_id)
    return cells.get_cell(session(), credential().user_id, notebook_id, cell_id)


def _held(notebook_id: UUID, cell_id: UUID) -> Cell:
    return cells.hold_cell(session(), credential().user_id, notebook_id, cell_id)


def _form(cell: Cell) -> CellForm:
    form = parse(FORMS[cell.kind], request.form)
    if request.values.get("reset") and isinstance(form, RecallForm):
        # The weights of the space serve again.
        return form.model_copy(update=dict.fromkeys(WEIGHTS))
    return form


def _is_overtaken(cell: Cell, form: CellForm) -> bool:
    """Tell whether a note says something else by now than when the form that changes it was shown."""
    kept = str(cell.input.get("text", ""))
    shown = begun_with(digest_of(kept)) == digest_of(kept)
    return isinstance(form, NoteForm) and not shown and form.text != kept


def _is_untouched(form: CellForm) -> bool:
    return isinstance(form, NoteForm) and begun_with("") == digest_of(form.text)


def _overtaken(cell: Cell, form: CellForm) -> Response:
    # An untouched note is shown as it is now: "Run all" sends every note of the page as it was once.
    return _shown(cell) if _is_untouched(form) else _refused(cell, OVERTAKEN, form)


def _asks_the_same(form: CellForm, before: CellForm | None) -> bool:
    """Tell whether what came of a cell answers what is typed in it now."""
    if not isinstance(form, RecallForm | ContextForm):
        return True
    return isinstance(before, RecallForm | ContextForm) and _asked(form) == _asked(before)


def _asked(form: RecallForm | ContextForm) -> tuple[object, ...]:
    narrowed = form.types if isinstance(form, RecallForm) else form.budget
    return form.q, form.space or DEFAULT_SPACE, narrowed


def _is_kept_blank(cell: Cell, form: CellForm) -> bool:
    """Tell whether nothing was typed into a blanked cell, whose words come back if the memory does."""
    typed = any(getattr(form, name, None) for name in ("q", "text", "slip"))
    return not typed and view_cell(cell).blanked


def _shown(cell: Cell, view: CellView | None = None, *, plain: bool = False, **more: Any) -> Response:
    """Answer a cell; to a browser without scripts the page that it is in, `plain` at once, else by its address."""
    view = view or view_cell(cell)
    if plain and not wants_fragment():
        return page_of(get_notebook(session(), cell.user_id, cell.notebook_id), view)
    address = _address(cell.notebook_id, cell.id)
    return swap_or_go("notebook/_cell.html", address, view=view, cell=cell, choices=choices(), **more)


def _reason(error: ValidationError | InvalidError | PolicyError) -> str:
    if isinstance(error, ValidationError):
        return f"{in_words(error)}."
    return f"{in_one_sentence(error)}."


def _refused(cell: Cell, error: str, form: CellForm | None) -> Response:
    view = view_cell(cell, error=error, form=form)
    status = HTTPStatus.UNPROCESSABLE_ENTITY
    if not wants_fragment():
        return page_of(get_notebook(session(), cell.user_id, cell.notebook_id), view, status)
    return make_response(render_template("notebook/_cell.html", view=view, cell=cell, choices=choices()), status)


def _address(notebook_id: UUID, cell_id: UUID) -> str:
    return url_for("notebook.show", notebook_id=notebook_id, at=cell_id, _anchor=f"notebook-cell-{cell_id}")


def _uuid(given: str | None) -> UUID | None:
    if not given:
        return None
    try:
        return UUID(given)
    except ValueError:
        raise NotFoundError("there is no such cell") from None
