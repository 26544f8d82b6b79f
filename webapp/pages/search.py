"""The search page: every hit with its reasons."""

from __future__ import annotations

from flask import Response, request

from memory.models import TYPES
from retrieval.policy import NAMED
from webapp.context import session
from webapp.htmx import render
from webapp.pages.explain import Answer, explain
from webapp.pages.forms import SearchForm, parse
from webapp.pages.queries import choices
from webapp.pages.visitor import guarded
from webapp.recall import find

bp = guarded("search")


@bp.get("/search")
def index() -> Response:
    """Answer a question, or invite one."""
    form = parse(SearchForm, request.args)
    answer = _ask(form) if form.q else None
    return render(
        "search/index.html",
        "search/_results.html",
        form=form,
        answer=answer,
        choices=choices(),
        types=TYPES,
        policies=tuple(NAMED),
    )


def _ask(form: SearchForm) -> Answer:
    policy = {"name": form.policy} if form.policy else None
    result = find(form.q, space=form.space, limit=form.limit, types=form.types or None, policy=policy)
    session().commit()
    return explain(result)
