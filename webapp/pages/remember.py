"""Store a memory by hand, and see what the write path made of it."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from flask import Response, request

from memory.errors import InvalidError
from memory.models import TYPES
from memory.writing.trace import Outcome
from webapp.context import session
from webapp.htmx import render
from webapp.operations import store
from webapp.pages.forms import RememberForm, parse
from webapp.pages.queries import choices, neighbours
from webapp.pages.visitor import guarded
from webapp.plain import in_one_sentence

bp = guarded("remember")

STATUS = {
    "created": HTTPStatus.CREATED,
    "merged": HTTPStatus.OK,
    # Like a field that does not fit: the form comes back with what was written, and with the reason.
    "refused": HTTPStatus.UNPROCESSABLE_ENTITY,
}


@bp.get("/remember")
def index() -> Response:
    """Show an empty form, or one that a link has filled."""
    form = parse(RememberForm, request.args)
    return desk(form.model_copy(update={"saved": True}))


@bp.post("/remember")
def save() -> Response:
    """Store the memory. The trace is kept nowhere, so this answers with it at once instead of sending elsewhere."""
    form = parse(RememberForm, request.form)
    try:
        outcome = store([form.to_draft()], form.space)[0]
    except InvalidError as error:
        session().rollback()
        return desk(form, HTTPStatus.UNPROCESSABLE_ENTITY, error=error)
    if outcome.outcome != "refused":
        # The form keeps what is often the same the next time, such as space, theme and type; how long a memory stays is
        # its own.
        form = form.model_copy(update={"text": "", "last_day": None})
    return desk(form, STATUS[outcome.outcome], outcome=outcome, near=neighbours(outcome))


def desk(
    form: RememberForm,
    status: int = HTTPStatus.OK,
    *,
    outcome: Outcome | None = None,
    error: InvalidError | None = None,
    near: Any = (),
) -> Response:
    """Answer the form as it is filled, with what became of it or the reason why nothing did."""
    return render(
        "remember/index.html",
        "remember/_desk.html",
        status,
        form=form,
        outcome=outcome,
        error=error,
        said=in_one_sentence(error) if error else "",
        near=near,
        choices=choices(form.space),
        types=TYPES,
    )
