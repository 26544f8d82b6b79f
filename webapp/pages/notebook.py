"""Notebooks: the page after the login, the list, and what is done with a notebook as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any
from uuid import UUID

from flask import Response, flash, make_response, render_template, request, url_for
from pydantic import ValidationError

from memory.errors import InvalidError
from memory.models import TYPES, Cell, Notebook
from memory.notebooks import cells, notebooks
from memory.redaction.blanking import title_of
from memory.redaction.redaction import secrets_of
from retrieval.policy import FUSIONS, PolicyError
from retrieval.query import LARGEST_LIMIT
from webapp.context import credential, local_now, session, utc_now
from webapp.htmx import render, see_other, swap_or_go, wants_fragment
from webapp.operations import is_incognito, refuse_notes_in_incognito
from webapp.pages.notebook_charts import NAMES as CHARTS
from webapp.pages.notebook_export import to_html_file, to_markdown
from webapp.pages.notebook_forms import SLIDERS, scale_of
from webapp.pages.notebook_run import INCOGNITO, run_cell
from webapp.pages.notebook_sample import first_notebook
from webapp.pages.notebook_stored import asked_of
from webapp.pages.notebook_view import CellView, NotebookView, view_notebook
from webapp.pages.queries import choices
from webapp.pages.visitor import guarded
from webapp.pages.words import counted
from webapp.providers import failing_endpoints

bp = guarded("notebook")

PAGE = 50

# What the menu offers, and what each kind is for.
OFFERED = {
    "recall": "Recall",
    "remember": "Remember",
    "command": "Command",
    "note": "Note",
    "context": "Context",
    "chart": "Chart",
}


@bp.context_processor
def vocabulary() -> dict[str, object]:
    """Return what the templates of cells offer to choose from."""
    return {
        "offered": OFFERED,
        "sliders": SLIDERS,
        "scale_of": scale_of,
        "fusions": FUSIONS,
        "types": TYPES,
        "charts": CHARTS,
        "most": LARGEST_LIMIT,
    }


@bp.get("/")
def home() -> Response:
    """Show the notebook that was worked in last, on a first visit one to start with."""
    notebook = first_notebook()
    return page_of(notebook, failing=failing_endpoints()) if notebook is not None else _to_list()


@bp.get("/notebooks")
def index() -> Response:
    """List a page of notebooks, and those whose removal can be undone; with a cursor, htmx gets that page alone."""
    who, now, cursor = credential(), utc_now(), request.args.get("cursor") or None
    notebooks.drop_removed(session(), who.user_id, now)
    listing = notebooks.page_notebooks(session(), who.user_id, limit=PAGE, cursor=cursor)
    removed = notebooks.restorable(session(), who.user_id, now)
    secrets = secrets_of(session(), who.user_id, now)
    titles = {each.id: title_of(each, secrets) for each in (*(each.notebook for each in listing.listed), *removed)}
    context: dict[str, Any] = {"listing": listing, "removed": removed, "titles": titles, "cursor": cursor}
    shown = render("notebook/index.html", "notebook/_page.html", **context)
    session().commit()
    return shown


@bp.post("/notebooks")
def create() -> Response:
    """Add an empty notebook."""
    who = credential()
    title = request.form.get("title", "").strip() or f"Notes of {local_now():%d %B %Y}"
    refuse_notes_in_incognito()
    made = notebooks.create_notebook(session(), who.user_id, title, now=utc_now(), actor=who.actor)
    session().commit()
    return _to(made.id)


@bp.get("/notebooks/<uuid:notebook_id>")
def show(notebook_id: UUID) -> Response:
    """Show a notebook."""
    return page_of(notebooks.get_notebook(session(), credential().user_id, notebook_id))


@bp.post("/notebooks/<uuid:notebook_id>/rename")
def rename(notebook_id: UUID) -> Response:
    """Give a notebook another title; an empty one changes nothing."""
    who, title = credential(), request.form.get("title", "")
    found = notebooks.get_notebook(session(), who.user_id, notebook_id)
    secrets = secrets_of(session(), who.user_id, utc_now())
    refuse_notes_in_incognito()
    refused = False
    try:
        # Enter in the field sends a change and a submission, so only the first finds another title. A title that is
        # shown only as a stand-in is none.
        if title != title_of(found, secrets):
            notebooks.rename_notebook(session(), who.user_id, notebook_id, title, now=utc_now(), actor=who.actor)
    except InvalidError as error:
        session().rollback()
        refused = True
        flash(f"The title {error.message}. It stays as it was.", "refused")
    session().commit()
    found = notebooks.get_notebook(session(), who.user_id, notebook_id)
    address = url_for("notebook.show", notebook_id=notebook_id)
    view = NotebookView(found, (), title_of(found, secrets))
    # The field is not swapped where it has this title already, as there may be more in it by now.
    beside = [] if title == view.title else ["notebook/_field.html"]
    if refused:
        # Said at once, and not on the page that is opened next.
        beside.append("_flash.html")
    answer = swap_or_go("notebook/_title.html", address, beside=beside, title=view.title, view=view)
    if refused and wants_fragment():
        answer.status_code = HTTPStatus.UNPROCESSABLE_ENTITY
    return answer


@bp.post("/notebooks/<uuid:notebook_id>/duplicate")
def duplicate(notebook_id: UUID) -> Response:
    """Copy a notebook with its cells."""
    who = credential()
    refuse_notes_in_incognito()
    copy = notebooks.duplicate_notebook(session(), who.user_id, notebook_id, now=utc_now(), actor=who.actor)
    session().commit()
    return _to(copy.id)


@bp.post("/notebooks/<uuid:notebook_id>/delete")
def delete(notebook_id: UUID) -> Response:
    """Remove a notebook, with ten minutes to change one's mind; its memories stay."""
    who = credential()
    notebooks.remove_notebook(session(), who.user_id, notebook_id, now=utc_now(), actor=who.actor)
    session().commit()
    return _to_list()


@bp.post("/notebooks/<uuid:notebook_id>/restore")
def restore(notebook_id: UUID) -> Response:
    """Undo a removal."""
    who = credential()
    notebooks.restore_notebook(session(), who.user_id, notebook_id, now=utc_now(), actor=who.actor)
    session().commit()
    return _to(notebook_id)


@bp.post("/notebooks/<uuid:notebook_id>/run")
def run_all(notebook_id: UUID) -> Response:
    """Run every cell from the top as it is kept; what was remembered once is not said again."""
    user_id = credential().user_id
    notebook = notebooks.get_notebook(session(), user_id, notebook_id)
    stored = [cell.id for cell in cells.list_cells(session(), user_id, notebook_id, utc_now()) if runs(cell)]
    failed = [number for number, cell_id in enumerate(stored, 1) if not _runs_well(notebook.id, cell_id)]
    if is_incognito(None):
        flash(INCOGNITO)
    elif failed:
        flash(f"{len(failed)} of {counted(len(stored), 'cell')} could not run: open them to see why.")
    else:
        flash(f"{counted(len(stored), 'cell')} ran.")
    return _to(notebook_id)


@bp.get("/notebooks/<uuid:notebook_id>/export.<any(md, html):form>")
def export(notebook_id: UUID, form: str) -> Response:
    """Answer the notebook as a file, with the texts as they are at this moment."""
    notebook = notebooks.get_notebook(session(), credential().user_id, notebook_id)
    view = view_notebook(notebook, whole=True)
    written = to_markdown(view, local_now()) if form == "md" else to_html_file(view, local_now())
    response = make_response(written)
    response.mimetype = "text/markdown" if form == "md" else "text/html"
    response.headers["Content-Disposition"] = f'attachment; filename="notebook-{notebook_id}.{form}"'
    return response


def page_of(
    notebook: Notebook, instead: CellView | None = None, status: int = HTTPStatus.OK, *, failing: Sequence[str] = ()
) -> Response:
    """Answer a whole notebook, with a line on each endpoint that is `failing`."""
    at = instead.cell.id if instead is not None else request.args.get("at", type=UUID)
    view = view_notebook(notebook, instead, at=at)
    page = render_template("notebook/notebook.html", view=view, choices=choices(), failing=failing)
    return make_response(page, status)


def runs(cell: Cell) -> bool:
    """Tell whether running all cells runs this one: what was done once is not done again."""
    return cell.removed_at is None and cell.kind != "command" and (cell.kind != "remember" or cell.output is None)


def _runs_well(notebook_id: UUID, cell_id: UUID) -> bool:
    cell = cells.get_cell(session(), credential().user_id, notebook_id, cell_id)
    if (form := asked_of(cell)) is None:
        return False
    try:
        run_cell(cell, form)
    except (InvalidError, PolicyError, ValidationError):
        session().rollback()
        return False
    return True


def _to(notebook_id: UUID) -> Response:
    return see_other(url_for("notebook.show", notebook_id=notebook_id))


def _to_list() -> Response:
    return see_other(url_for("notebook.index"))
