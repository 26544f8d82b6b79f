"""What is true of whom: stated, looked up as of a day, ended and deleted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from http import HTTPStatus
from typing import Annotated, Any, Literal
from uuid import UUID

from flask import Response, flash, make_response, redirect, render_template, request, url_for
from pydantic import BaseModel, Field, ValidationError

from memory.errors import InvalidError, RefusedError
from memory.facts import FactFilters, FactPage, Statement, delete_fact, end_fact, get_fact, list_facts, state
from memory.spaces import list_spaces
from retrieval.dates import midnight
from webapp.api.schemas import Line
from webapp.context import credential, session, utc_now, zone
from webapp.htmx import render
from webapp.operations import incognito_spaces, is_incognito, refuse_in_incognito, space_for
from webapp.pages.forms import parse
from webapp.pages.visitor import guarded
from webapp.pages.words import counted
from webapp.plain import problems

bp = guarded("facts")

PAGE = 20
# The last midnight but one that there is.
Day = Annotated[date, Field(le=date(9999, 12, 30))]


class FactsForm(BaseModel):
    """Which facts to list: of a subject, and of the end of a day, or all that there ever were."""

    space: Line | None = None
    subject: Annotated[Line, Field(max_length=200)] | None = None
    day: Day | None = None
    ended: Literal["yes"] | None = None
    cursor: Line | None = None

    def chosen(self) -> dict[str, str]:
        """Return what was chosen, as it stands in a link to the next page."""
        given = self.model_dump(exclude_none=True, exclude={"cursor"})
        return {name: str(value) for name, value in given.items()}


class StateForm(BaseModel):
    """A fact to state; what is ticked as `beside` leaves others of its subject and predicate true."""

    subject: Line = ""
    predicate: Line = ""
    object: Line = ""
    since: Day | None = None
    beside: bool = False
    space: Line | None = None

    def said(self) -> Statement:
        """Return the checked statement; raises `InvalidError`."""
        begins = midnight(self.since, zone()) if self.since else None
        return Statement(self.subject, self.predicate, self.object, single=not self.beside, valid_from=begins)


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of facts and the spaces that can be chosen."""

    page: FactPage
    spaces: Sequence[tuple[str, str]]


@bp.get("/facts")
def index() -> Response:
    """List a page of facts, the latest first; with a cursor, htmx gets the further page alone."""
    form = parse(FactsForm, request.args)
    if is_incognito(space_for(form.space) if form.space else None):
        return render("memories/closed.html", "memories/_closed.html")
    return render("facts/index.html", "facts/_page.html", **_context(form))


@bp.post("/facts")
def add() -> Response:
    """State a fact; the form comes back where a field does not fit, and where nothing may be stored."""
    who = credential()
    try:
        form = parse(StateForm, request.form)
        space = space_for(form.space)
        refuse_in_incognito(space.id)
        stated = state(session(), who.user_id, space.id, form.said(), now=utc_now(), actor=who.actor)
    except ValidationError as error:
        return _again(problems(error))
    except InvalidError as error:
        # Its own name in the form, where the moment is a day.
        return _again({error.field: error.message})
    except RefusedError as error:
        return _again({"fact": f"was not kept: {error}"}, HTTPStatus.CONFLICT)
    ended = f" {counted(len(stated.ended), 'fact')} ended for it." if stated.ended else ""
    told = f"It is kept.{ended}" if stated.created else "That was known."
    session().commit()
    return _to(told)


@bp.post("/facts/<uuid:fact_id>/end")
def end(fact_id: UUID) -> Response:
    """Say that a fact is true no longer; it stays on record."""
    who = credential()
    refuse_in_incognito(get_fact(session(), who.user_id, fact_id, now=utc_now())[0].space_id)
    end_fact(session(), who.user_id, fact_id, utc_now(), now=utc_now(), actor=who.actor)
    session().commit()
    return _to("It is true no longer, and stays on record.")


@bp.post("/facts/<uuid:fact_id>/delete")
def delete(fact_id: UUID) -> Response:
    """Delete a fact for good."""
    who = credential()
    delete_fact(session(), who.user_id, fact_id, now=utc_now(), actor=who.actor)
    session().commit()
    return _to("The fact is deleted.")


def _to(said: str) -> Response:
    flash(said)
    return make_response(redirect(url_for("facts.index"), HTTPStatus.SEE_OTHER))


def _again(problem: dict[str, str], status: HTTPStatus = HTTPStatus.UNPROCESSABLE_ENTITY) -> Response:
    """Show once more what was written, and of what is kept nothing while incognito."""
    context = {"form": FactsForm(), "listing": None} if is_incognito(None) else _context(FactsForm())
    page = render_template("facts/index.html", **{**context, "problem": problem, "given": request.form})
    return make_response(page, status)


def _context(form: FactsForm) -> dict[str, Any]:
    user_id, now = credential().user_id, utc_now()
    scope = space_for(form.space) if form.space else None
    hidden = frozenset() if scope else incognito_spaces()
    # A day is over at the next midnight: what was true at its end is what was true then.
    over = midnight(form.day + timedelta(days=1), zone()) - timedelta(microseconds=1) if form.day else now
    filters = FactFilters(scope.id if scope else None, form.subject, None, None if form.ended else over, hidden)
    page = list_facts(session(), user_id, filters, limit=PAGE, cursor=form.cursor, now=now)
    spaces = [(space.slug, space.name) for space in list_spaces(session(), user_id)]
    return {"form": form, "listing": Listing(page, spaces), "now": now, "problem": {}, "given": {}}
