"""The record: what agents did with their tools, what was done to the memory, and the proof that nobody rewrote it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from http import HTTPStatus
from typing import Annotated, Any
from uuid import UUID

from flask import Response, request, url_for
from pydantic import BaseModel, BeforeValidator, Field

from memory.errors import InvalidError
from memory.models import ToolCall
from memory.record.audit import EventFilters, Verification, list_events, to_head, verify
from memory.record.tool_calls import (
    OPERATIONS,
    CallFilters,
    Origin,
    UsePage,
    affected_paths,
    get_call,
    list_calls,
    uses,
)
from memory.redaction.shown_calls import ShownCall
from retrieval.days.dates import midnight
from webapp.api.schemas import Line
from webapp.context import credential, local_now, session, utc_now, zone
from webapp.htmx import render
from webapp.operations import incognito_spaces, is_incognito, space_for, visible_entry
from webapp.pages.closed import closed_page
from webapp.pages.forms import narrowed_by, parse
from webapp.pages.places import Places
from webapp.pages.visitor import guarded
from webapp.tools import TOOLS
from webapp.tools.entities import ENTITY_TOOLS
from webapp.tools.memory import MEMORY_TOOLS

bp = guarded("record")

PAGE = 20
PATHS_PAGE = 100
USES_PAGE = 10
CHANGES = ("create", "update", "delete")
ORIGINS = (("server", "this server"), ("external", "an agent's own"), ("history", "told of in a history"))
MEMORY_TOOL_NAMES = frozenset(tool.name for tool in MEMORY_TOOLS)
ENTITY_TOOL_NAMES = frozenset(tool.name for tool in ENTITY_TOOLS)
# What a call said, in a list; the call's own page shows all of it.
SHORTENED = 1200


def _today(value: Any) -> Any:
    """Let `today` stand for the day that it is, so that a link can be kept."""
    return local_now().date() if value == "today" else value


# The last day of the calendar is left out, as the day after is needed too.
Day = Annotated[date, Field(ge=date(1, 1, 1), le=date(9999, 12, 30)), BeforeValidator(_today)]


class Period(BaseModel):
    """Days of the reader's zone, both included."""

    since: Day | None = None
    until: Day | None = None

    def chosen(self) -> dict[str, Any]:
        """Return what was chosen, as it stands in a link."""
        given = self.model_dump(mode="json", exclude_none=True, exclude_defaults=True, exclude={"cursor", "after"})
        return {name: str(value).lower() if isinstance(value, bool) else value for name, value in given.items()}


class CallsForm(Period):
    """Which calls; `what` is an id, a path, or the beginning of paths where it ends in a slash."""

    tool: Annotated[Line, Field(max_length=100)] | None = None
    operation: Annotated[list[Annotated[Line, Field(max_length=50)]], Field(max_length=20)] = []
    what: Annotated[Line, Field(max_length=1024)] | None = None
    success: bool | None = None
    origin: Origin | None = None
    request: Annotated[Line, Field(max_length=64)] | None = None
    cursor: Line | None = None
    after: Line | None = None

    def to_filters(self) -> CallFilters:
        """Return the filters of the domain."""
        affected_id = _as_id(self.what)
        return CallFilters(
            tools=[self.tool] if self.tool else [],
            operations=self.operation,
            path=self.what if affected_id is None else None,
            affected_id=affected_id,
            success=self.success,
            origin=self.origin,
            correlation_id=self.request or None,
            since=_midnight(self.since),
            until=_behind(self.until),
        )


class EventsForm(Period):
    """Which audit events; `action` is the beginning of a name. `expect` is a head of the chain that was noted."""

    action: Annotated[Line, Field(max_length=100)] | None = None
    actor: Annotated[Line, Field(max_length=100)] | None = None
    subject: UUID | None = None
    cursor: Line | None = None


class ChainForm(BaseModel):
    """Whether to check the chain, and the head that it must still run through."""

    verify: bool = False
    expect: Line | None = None


class UsesForm(BaseModel):
    """Where in the uses of a memory a page begins."""

    cursor: Line | None = None


@dataclass(frozen=True, slots=True)
class Chain:
    """What became of a check of the chain, if there was one, and what was wrong with the question."""

    found: Verification | None = None
    expect: str = ""
    error: InvalidError | None = None


@dataclass(frozen=True, slots=True)
class Used:
    """A page of uses of a memory, and the places of the conversations in which it was."""

    page: UsePage
    places: Places


@bp.app_template_filter("as_json")
def as_json(value: Any) -> str:
    """Return a JSON value as people read it."""
    return json.dumps(value, indent=2, ensure_ascii=False)


@bp.app_template_filter("pairs")
def pairs(details: Mapping[str, Any]) -> str:
    """Return the details of an event in one line: without what is empty, and the ids of many, which are folded.

    >>> pairs({"space": "home", "ended": [], "count": 0})
    'space home, count 0'
    """
    told = {name: value for name, value in details.items() if name != "ids" and value not in ([], "", None)}
    return ", ".join(f"{name.replace('_', ' ')} {_word(value)}" for name, value in told.items())


@bp.app_template_global("thing_url")
def thing_url(row: ToolCall, thing_id: UUID) -> str:
    """Return the page of what a call affected; of a tool that is not ours, all calls that affected the same."""
    if row.origin == "server" and row.tool in MEMORY_TOOL_NAMES:
        return url_for("memory.show", memory_id=thing_id)
    if row.origin == "server" and row.tool in ENTITY_TOOL_NAMES:
        return url_for("entities.show", entity_id=thing_id)
    return url_for("record.index", what=thing_id)


@bp.get("/record")
def index() -> Response:
    """List tool calls, newest first; with a cursor, htmx gets the further page alone."""
    form = narrowed_by(CallsForm)
    if is_incognito(None):
        return closed_page()
    page = list_calls(
        session(),
        credential().user_id,
        form.to_filters(),
        now=utc_now(),
        limit=PAGE,
        cursor=form.cursor,
        outside=incognito_spaces(),
    )
    fragment = "record/_page.html" if form.cursor else "record/_calls.html"
    return render("record/index.html", fragment, listing=page, places=_places(page.calls), **_frame(form))


@bp.get("/record/paths")
def paths() -> Response:
    """List every path that the calls affected, once and in order."""
    form = narrowed_by(CallsForm)
    if is_incognito(None):
        return closed_page()
    found = affected_paths(
        session(),
        credential().user_id,
        form.to_filters(),
        now=utc_now(),
        limit=PATHS_PAGE + 1,
        after=form.after,
        outside=incognito_spaces(),
    )
    shown, further = found[:PATHS_PAGE], len(found) > PATHS_PAGE
    fragment = "record/_files.html" if form.after else "record/_paths.html"
    return render("record/paths.html", fragment, paths=shown, further=further, **_frame(form))


@bp.get("/record/calls/<uuid:call_id>")
def call(call_id: UUID) -> Response:
    """Show one call with all that it said."""
    if is_incognito(None):
        return closed_page()
    found = get_call(session(), credential().user_id, call_id, now=utc_now(), outside=incognito_spaces())
    places = _places([found])
    return render("record/call.html", "record/_call.html", call=found, places=places, whole=True, shortened=SHORTENED)


@bp.get("/record/audit")
def audit() -> Response:
    """List audit events, newest first: ids and numbers only. `?verify=1` checks the chain."""
    chain_form, form = parse(ChainForm, request.args), narrowed_by(EventsForm, *ChainForm.model_fields)
    chain = _checked(chain_form)
    filters = EventFilters(form.action, form.actor, form.subject, _midnight(form.since), _behind(form.until))
    page = list_events(session(), credential().user_id, filters, limit=PAGE, cursor=form.cursor)
    fragment = "record/_trail.html" if form.cursor else "record/_events.html"
    if chain_form.verify:
        fragment = "record/_chain.html"
    status = HTTPStatus.UNPROCESSABLE_ENTITY if chain.error else HTTPStatus.OK
    return render("record/audit.html", fragment, status, form=form, listing=page, chain=chain)


@bp.get("/memories/<uuid:memory_id>/uses")
def memory_uses(memory_id: UUID) -> Response:
    """List the calls that handed out a memory."""
    form = parse(UsesForm, request.args)
    entry = visible_entry(memory_id)
    if is_incognito(space_for(entry.space)):
        return closed_page()
    used = used_in(memory_id, form.cursor)
    return render("record/uses.html", "record/_uses.html", entry=entry, memory_id=memory_id, used=used, form=form)


def used_in(memory_id: UUID, cursor: str | None = None) -> Used:
    """Return where a memory was used; the caller has made sure that the memory is the user's."""
    page = uses(
        session(),
        credential().user_id,
        memory_id,
        now=utc_now(),
        limit=USES_PAGE,
        cursor=cursor,
        outside=incognito_spaces(),
    )
    calls = [use.call for use in page.uses]
    return Used(page, Places([each.conversation_id for each in calls], [each.message_id for each in calls]))


def _frame(form: CallsForm) -> dict[str, Any]:
    """Return what the pages about tool calls share."""
    others = [each for each in form.operation if each not in OPERATIONS]
    return {
        "form": form,
        "tools": sorted(TOOLS),
        "operations": (*OPERATIONS, *others),
        "changes": CHANGES,
        "origins": ORIGINS,
        "whole": False,
        "shortened": SHORTENED,
    }


def _places(calls: Sequence[ShownCall]) -> Places:
    return Places([each.call.conversation_id for each in calls], [each.call.message_id for each in calls])


def _checked(form: ChainForm) -> Chain:
    if not form.verify:
        return Chain()
    expect = form.expect or ""
    try:
        expected = to_head(expect) if expect else None
    except InvalidError as error:
        return Chain(expect=expect, error=error)
    return Chain(verify(session(), credential().user_id, expected), expect)


def _midnight(day: date | None) -> datetime | None:
    """Return the moment at which a day begins; the first day of the calendar begins in no zone east of UTC."""
    if day is None:
        return None
    try:
        return midnight(day, zone())
    except OverflowError:
        return midnight(day, UTC)


def _behind(day: date | None) -> datetime | None:
    """Return the first moment behind a day."""
    return _midnight(day + timedelta(days=1)) if day is not None else None


def _as_id(value: str | None) -> UUID | None:
    try:
        return UUID(value or "")
    except ValueError:
        return None


def _word(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(_word(each) for each in value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
