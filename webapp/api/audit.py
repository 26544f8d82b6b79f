"""`/v1/audit`: what was done to a user's memory, by whom, and the proof that nobody has rewritten it."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from flask import Response, jsonify
from pydantic import Field

from memory.record.audit import HEAD, LARGEST_PAGE, EventFilters, LinkedEvent, list_events, to_head, verify
from webapp.api.blueprint import api_blueprint
from webapp.api.record_answers import EventsAnswer, VerifiedAnswer
from webapp.api.schemas import Cursor, Line, Moment, Query, moment
from webapp.context import credential, session
from webapp.guards import needs, refuse_confined

bp = api_blueprint("audit", "What was done, by whom, chained by hash", "/v1/audit")


class EventsQuery(Query):
    """Which events; `action` is the beginning of a name: `memory.` means all about memories."""

    action: Line | None = Field(None, max_length=100)
    actor: Line | None = Field(None, max_length=100)
    subject: UUID | None = None
    since: Moment | None = None
    until: Moment | None = None
    limit: int = Field(50, ge=1, le=LARGEST_PAGE)
    cursor: Cursor | None = None


class VerifyQuery(Query):
    """`expect` is a `head` that an earlier answer gave: the chain must still run through it."""

    expect: Annotated[Line, Field(json_schema_extra={"pattern": f"^{HEAD.pattern}$"})] | None = None


@bp.get("", summary="List audit events, newest first", responses={"200": EventsAnswer})
@needs("read")
def list_(query: EventsQuery) -> Response:
    """Answer a page of events, ids and numbers only; a token confined to a space sees what it did itself."""
    who = credential()
    if who.space_id is not None and query.actor not in {None, who.actor}:
        return jsonify({"events": [], "next_cursor": None})
    filters = EventFilters(
        action=query.action,
        actor=who.actor if who.space_id is not None else query.actor,
        subject_id=query.subject,
        since=query.since,
        until=query.until,
    )
    page = list_events(session(), who.user_id, filters, limit=query.limit, cursor=query.cursor)
    return jsonify({"events": [_event_json(each) for each in page.events], "next_cursor": page.next_cursor})


def _event_json(linked: LinkedEvent) -> dict[str, Any]:
    event = linked.event
    return {
        "id": str(event.id),
        "action": event.action,
        "actor": event.actor,
        "subject_id": str(event.subject_id) if event.subject_id else None,
        "count": event.count,
        "details": event.details,
        "created_at": moment(event.created_at),
        "sequence": linked.sequence,
        "hash": linked.hash.hex() if linked.hash else None,
    }


@bp.get("/verify", summary="Check the chain of audit events", responses={"200": VerifiedAnswer})
@needs("read")
def check(query: VerifyQuery) -> Response:
    """Answer whether the chain holds, or where it breaks first; note `head` elsewhere to find a cut end later."""
    refuse_confined("check what was done in others")
    found = verify(session(), credential().user_id, to_head(query.expect) if query.expect is not None else None)
    return jsonify(
        {
            "ok": found.ok,
            "events": found.events,
            "head": str(found.head) if found.head else None,
            "reason": found.reason,
            "sequence": found.sequence,
            "event_id": str(found.event_id) if found.event_id else None,
        }
    )
