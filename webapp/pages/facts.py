"""What is true of whom: stated, looked up as of a day, ended, corrected and deleted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from http import HTTPStatus
from typing import Annotated, Any, Literal
from uuid import UUID

from flask import Response, flash, make_response, render_template, request, url_for
from pydantic import BaseModel, Field, ValidationError

from memory.errors import InvalidError, RefusedError
from memory.facts.facts import FactFilters, FactPage, Statement, count_extracted
from memory.reading.browse import Source, find_sources
from retrieval.days.dates import local, midnight
from webapp.api.schemas import Line
from webapp.context import credential, session, utc_now, zone
from webapp.facts import Kept, correct_fact, delete_extracted, delete_fact, find_facts, readable_fact, state_fact
from webapp.htmx import current_page, render, see_other
from webapp.operations import is_incognito, space_for
from webapp.pages.closed import closed_page
from webapp.pages.forms import narrowed_by, parse
from webapp.pages.queries import Offered, offered_spaces
from webapp.pages.visitor import guarded, local_path
from webapp.pages.words import counted
from webapp.plain import problems

bp = guarded("facts")

PAGE = 20
# Those that begin and end within the calendar in every zone.
Day = Annotated[date, Field(ge=date(1, 1, 2), le=date(9999, 12, 30))]


class FactsForm(BaseModel):
    """Which facts to list: of a subject, and of the end of a day, or all that there ever were.

    Those that were read out of conversations, or that stand in a message of one, alone.
    """

    space: Line | None = None
    subject: Annotated[Line, Field(max_length=200)] | None = None
    day: Day | None = None
    ended: Literal["yes"] | None = None
    extracted: Literal["yes"] | None = None
    conversation: UUID | None = None
    cursor: Line | None = None

    def chosen(self) -> dict[str, str]:
        """Return what was chosen, as it stands in a link to the next page."""
        given = self.model_dump(exclude_none=True, exclude={"cursor"})
        return {name: str(value) for name, value in given.items()}

    @property
    def place(self) -> dict[str, Any]:
        """Return what leads back to this page of the list."""
        return self.chosen() | ({"cursor": self.cursor} if self.cursor else {})


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


class FactForm(BaseModel):
    """What is put right of a fact, and what the form showed of it: what was left so stays as it is by now."""

    object: Line = ""
    since: Day
    until: Day | None = None
    shown_object: Line = ""
    shown_since: Day | None = None
    shown_until: Day | None = None

    def changes(self) -> dict[str, Any]:
        """Return what differs from what was shown."""
        changes: dict[str, Any] = {"object": self.object} if self.object != self.shown_object else {}
        if self.since != self.shown_since:
            changes["valid_from"] = midnight(self.since, zone())
        if self.until != self.shown_until:
            changes["valid_until"] = midnight(self.until, zone()) if self.until else None
        return changes


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of facts, the places of the messages that say them, and the spaces that can be chosen.

    Where what a model has read in one space is listed, `unseen` is how many of them nobody has looked at. Where nothing
    is listed, `untrue_then` tells that there are facts, but none that is true at the time.
    """

    page: FactPage
    sources: Mapping[UUID | None, Source]
    spaces: Offered
    unseen: int = 0
    untrue_then: bool = False


@bp.get("/facts")
def index() -> Response:
    """List a page of facts, the latest first; with a cursor, htmx gets the further page alone."""
    form = narrowed_by(FactsForm)
    if is_incognito(space_for(form.space) if form.space else None):
        return closed_page()
    return render("facts/index.html", "facts/_page.html", **_context(form))


@bp.post("/facts")
def add() -> Response:
    """State a fact; the form comes back where a field does not fit, and where nothing may be stored."""
    try:
        form = parse(StateForm, request.form)
        kept = state_fact(form.said(), form.space)
    except (ValidationError, InvalidError, RefusedError) as error:
        return _again(*_wrong(error))
    later = kept.valid_from > utc_now()
    said = f"It is kept, and true from {_day(kept.valid_from)} on." if later else "It is kept."
    return _to(f"{said}{_ended(kept)}" if kept.created else "That was known.")


@bp.get("/facts/<uuid:fact_id>")
def show(fact_id: UUID) -> Response:
    """Show a fact in a form, to put it right."""
    fact, space = readable_fact(fact_id)
    given = {"object": fact.object, "since": _day(fact.valid_from), "until": _day(fact.valid_until)}
    given |= {f"shown_{name}": value for name, value in given.items()}
    shown = {"fact": fact, "space": space, "given": given, "problem": {}, "listed": _listed()}
    return make_response(render_template("facts/fact.html", **shown))


@bp.post("/facts/<uuid:fact_id>")
def change(fact_id: UUID) -> Response:
    """Put a fact right; the form comes back where a field does not fit."""
    fact, space = readable_fact(fact_id)
    try:
        kept = correct_fact(fact_id, parse(FactForm, request.form).changes())
    except (ValidationError, InvalidError, RefusedError) as error:
        problem, status = _wrong(error)
        shown = {"fact": fact, "space": space, "given": request.form, "problem": problem, "listed": _back()}
        return make_response(render_template("facts/fact.html", **shown), status)
    return _to(f"It is put right.{_ended(kept)}")


@bp.post("/facts/<uuid:fact_id>/end")
def end(fact_id: UUID) -> Response:
    """Say that a fact is true no longer; it stays on record. One that has ended stays as it is."""
    now = utc_now()
    fact, _ = readable_fact(fact_id)
    if fact.valid_until is not None and fact.valid_until <= now:
        return _to(f"It had ended already, on {_day(fact.valid_until)}.")
    correct_fact(fact_id, {"valid_until": now})
    return _to("It is true no longer, and stays on record.")


@bp.post("/facts/<uuid:fact_id>/confirm")
def confirm(fact_id: UUID) -> Response:
    """Say that what was read out of a conversation is so: it counts as stated from then on."""
    kept = correct_fact(readable_fact(fact_id)[0].id, {"extracted": False})
    return _to(f"It counts as stated by you.{_ended(kept)}")


@bp.post("/facts/<uuid:fact_id>/delete")
def delete(fact_id: UUID) -> Response:
    """Delete a fact for good."""
    delete_fact(fact_id)
    return _to("The fact is deleted.")


@bp.post("/facts/read/delete")
def delete_read() -> Response:
    """Delete for good what a model has read out of the conversations of a space, and nobody has looked at."""
    form = parse(FactsForm, request.form)
    if not form.space:
        raise InvalidError("space", "must be given")
    gone = delete_extracted(form.space)
    return _to(f"{counted(gone, 'fact')} that a model had read {'is' if gone == 1 else 'are'} deleted.")


def _ended(kept: Kept) -> str:
    return f" {counted(len(kept.ended), 'fact')} ended for it." if kept.ended else ""


def _day(value: datetime | None) -> date | None:
    return local(value, zone()).date() if value else None


def _wrong(error: ValidationError | InvalidError | RefusedError) -> tuple[dict[str, str], HTTPStatus]:
    """Return what is wrong with which field of a form, where the moments are days, and the status that says so."""
    if isinstance(error, ValidationError):
        return problems(error), HTTPStatus.UNPROCESSABLE_ENTITY
    if isinstance(error, InvalidError):
        field = {"valid_from": "since", "valid_until": "until"}.get(error.field, error.field)
        return {field: error.message}, HTTPStatus.UNPROCESSABLE_ENTITY
    return {"fact": f"was not kept: {error}"}, HTTPStatus.CONFLICT


def _to(said: str) -> Response:
    flash(said)
    return see_other(_back())


def _listed() -> str:
    """Return the page of the list that a fact was opened from: its address says so."""
    try:
        return url_for("facts.index", **parse(FactsForm, request.args).place)
    except ValidationError:
        # Somebody wrote it by hand: it leads to the list as it is.
        return url_for("facts.index")


def _back() -> str:
    """Return the page of the list where somebody goes through the facts: a form was on it, or says so."""
    before, listed = current_page(), url_for("facts.index")
    return local_path(request.form.get("next"), before if before.partition("?")[0] == listed else listed)


def _again(problem: dict[str, str], status: HTTPStatus) -> Response:
    """Show once more what was written, and of what is kept nothing while incognito."""
    context = {"form": FactsForm(), "listing": None} if is_incognito(None) else _context(FactsForm())
    page = render_template("facts/index.html", **{**context, "problem": problem, "given": request.form})
    return make_response(page, status)


def _context(form: FactsForm) -> dict[str, Any]:
    now = utc_now()
    # A day is over at the next midnight: what was true at its end is what was true then.
    over = midnight(form.day + timedelta(days=1), zone()) - timedelta(microseconds=1) if form.day else now
    filters = FactFilters(
        subject=form.subject,
        at=None if form.ended else over,
        extracted=True if form.extracted else None,
        conversation=form.conversation,
    )
    page, _ = find_facts(form.space or None, filters, limit=PAGE, cursor=form.cursor)
    sources = find_sources(session(), credential().user_id, {fact.source_message_id for fact, _ in page.facts} - {None})
    is_of_model = form.extracted and form.space
    unseen = count_extracted(session(), credential().user_id, space_for(form.space).id) if is_of_model else 0
    untrue_then = not page.facts and bool(find_facts(form.space or None, replace(filters, at=None), limit=1)[0].facts)
    listing = Listing(page, sources, offered_spaces(form.space), unseen, untrue_then)
    return {"form": form, "listing": listing, "now": now, "problem": {}, "given": {}}
