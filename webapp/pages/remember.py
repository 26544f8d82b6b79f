"""Store a memory by hand, and see what the write path made of it."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from typing import Any

from flask import Response, request

from memory.drafts.drafts import Draft
from memory.errors import InvalidError
from memory.models import TYPES
from memory.writing.trace import Outcome
from webapp.context import session
from webapp.htmx import render
from webapp.operations import store
from webapp.pages.forms import RememberForm, parse
from webapp.pages.queries import choices, neighbours
from webapp.pages.reading import LONGEST_SHOWN, Said, said_in
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
    """Show an empty form, or one that a link has filled, as with what was said in a message."""
    form = parse(RememberForm, request.args)
    filled: dict[str, Any] = {"saved": True}
    said = said_in(form.message) if form.message else None
    if said is not None:
        text = form.text or said.message.content[:LONGEST_SHOWN]
        filled |= {"text": text, "space": form.space or said.thread.space}
    return desk(form.model_copy(update=filled), said=said)


@bp.post("/remember")
def save() -> Response:
    """Store the memory. The trace is kept nowhere, so this answers with it at once instead of sending elsewhere."""
    form = parse(RememberForm, request.form)
    said = said_in(form.message) if form.message else None
    try:
        outcome = store([_draft(form, said)], form.space)[0]
    except InvalidError as error:
        session().rollback()
        return desk(form, HTTPStatus.UNPROCESSABLE_ENTITY, said=said, error=error)
    if outcome.outcome != "refused":
        # The form keeps what is often the same the next time, such as space, theme and type; how long a memory stays,
        # and where it was said, is its own.
        form, said = form.model_copy(update={"text": "", "last_day": None, "message": None}), None
    return desk(form, STATUS[outcome.outcome], said=said, outcome=outcome, near=neighbours(outcome))


def _draft(form: RememberForm, said: Said | None) -> Draft:
    """Return the checked draft, of the day and by the one who said it; raises `InvalidError`."""
    draft = form.to_draft()
    if form.message is None:
        return draft
    if said is None:
        raise InvalidError("message", "is no longer there, or cannot be read now")
    message = said.message
    return replace(draft, role=message.role, created_at=message.created_at, source_message_id=message.id)


def desk(
    form: RememberForm,
    status: int = HTTPStatus.OK,
    *,
    said: Said | None = None,
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
        said=said,
        wrong=in_one_sentence(error) if error else "",
        near=near,
        choices=choices(form.space),
        types=TYPES,
    )
