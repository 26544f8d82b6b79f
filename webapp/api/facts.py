"""`/v1/facts`: what is true of whom, from when until when."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from uuid import UUID

from flask import Response, jsonify
from pydantic import BaseModel, Field

from memory.errors import RefusedError
from memory.facts import (
    LARGEST_PAGE,
    MOST,
    FactFilters,
    Statement,
    delete_fact,
    end_fact,
    get_fact,
    list_facts,
    state,
)
from memory.models import Fact, Space
from webapp.api.answers import DeletedAnswer, EndedFactAnswer, FactAnswer, FactsAnswer, StatedFactAnswer
from webapp.api.blueprint import api_blueprint
from webapp.api.schemas import NOT_BLANK, Cursor, Line, Moment, Query, Share, Strict, described_as, moment
from webapp.context import credential, session, utc_now
from webapp.guards import needs
from webapp.operations import incognito_spaces, is_incognito, refuse_in_incognito, scope_for, space_for

bp = api_blueprint("facts", "What is true of whom, from when until when", "/v1/facts")


class FactPath(BaseModel):
    """The id of a fact."""

    fact_id: UUID


class FactsQuery(Query):
    """Filters of the list: `at` is the moment at which they are true, now without it; `ended` lists all there were."""

    space: Line | None = None
    subject: Line | None = Field(None, min_length=1, max_length=200)
    predicate: Line | None = Field(None, min_length=1, max_length=200)
    at: Moment | None = None
    ended: bool = False
    limit: int = Field(50, ge=1, le=LARGEST_PAGE)
    cursor: Cursor | None = None


class FactBody(Strict):
    """A fact; unless it is `single`, others of its subject and predicate stay true beside it."""

    subject: Line = described_as(**NOT_BLANK, maxLength=MOST["subject"])
    predicate: Line = described_as(**NOT_BLANK, maxLength=MOST["predicate"])
    object: Line = described_as(**NOT_BLANK, maxLength=MOST["object"])
    confidence: Share = 1.0
    single: bool = True
    valid_from: Moment | None = None
    source_message_id: UUID | None = None
    space: Line | None = None


class EndBody(Strict):
    """Until when a fact was true; now where that is left out."""

    valid_until: Moment | None = None


@bp.get("", summary="List facts, the latest first", responses={"200": FactsAnswer})
@needs("read")
def list_(query: FactsQuery) -> Response:
    """Answer a page of what is true now, of what was at a moment, or of all that ever was; of all spaces or one."""
    scope = scope_for(query.space)
    if is_incognito(scope):
        return jsonify({"facts": [], "next_cursor": None, "skipped": "incognito"})
    hidden = frozenset() if scope else incognito_spaces()
    at = query.at or (None if query.ended else utc_now())
    filters = FactFilters(scope.id if scope else None, query.subject, query.predicate, at, hidden)
    page = list_facts(session(), credential().user_id, filters, limit=query.limit, cursor=query.cursor, now=utc_now())
    shown = [_fact_json(fact, slug) for fact, slug in page.facts]
    return jsonify({"facts": shown, "next_cursor": page.next_cursor})


@bp.post("", summary="State a fact", responses={"201": StatedFactAnswer, "200": StatedFactAnswer})
@needs("write")
def add(body: FactBody) -> tuple[Response, HTTPStatus]:
    """Answer its id, and the facts that it contradicts: those end when it begins, and stay on record.

    201 for a new one, 200 for one that was known.
    """
    who = credential()
    space = space_for(body.space)
    refuse_in_incognito(space.id)
    said = Statement(**body.model_dump(exclude={"space"}))
    stated = state(session(), who.user_id, space.id, said, now=utc_now(), actor=who.actor)
    told = {"id": str(stated.fact.id), "created": stated.created, "ended": [str(each) for each in stated.ended]}
    session().commit()
    return jsonify(told), HTTPStatus.CREATED if told["created"] else HTTPStatus.OK


@bp.get("/<uuid:fact_id>", summary="Read a fact", responses={"200": FactAnswer})
@needs("read")
def read(path: FactPath) -> Response:
    """Answer it as it is kept, whether it is true or has ended."""
    fact, slug = _visible(path.fact_id)
    if is_incognito(session().get_one(Space, (credential().user_id, fact.space_id))):
        raise RefusedError("incognito", "this session is incognito: nothing is recalled")
    return jsonify(_fact_json(fact, slug))


@bp.post("/<uuid:fact_id>/end", summary="End a fact", responses={"200": EndedFactAnswer})
@needs("write")
def end(path: FactPath, body: EndBody) -> Response:
    """Say until when it was true; it stays on record."""
    who = credential()
    refuse_in_incognito(_visible(path.fact_id)[0].space_id)
    until = body.valid_until or utc_now()
    fact = end_fact(session(), who.user_id, path.fact_id, until, now=utc_now(), actor=who.actor)
    told = {"id": str(fact.id), "valid_until": moment(fact.valid_until)}
    session().commit()
    return jsonify(told)


@bp.delete("/<uuid:fact_id>", summary="Delete a fact", responses={"200": DeletedAnswer})
@needs("forget")
def delete(path: FactPath) -> Response:
    """Delete it for good; what it had ended stays ended. As with any forgetting, an incognito session may do so too."""
    who = credential()
    _visible(path.fact_id)
    delete_fact(session(), who.user_id, path.fact_id, now=utc_now(), actor=who.actor)
    session().commit()
    return jsonify({"id": str(path.fact_id), "deleted": True})


def _visible(fact_id: UUID) -> tuple[Fact, str]:
    """Return a fact with its space; raises `NotFoundError` for what this caller may not see."""
    who = credential()
    return get_fact(session(), who.user_id, fact_id, within=who.space_id, now=utc_now())


def _fact_json(fact: Fact, slug: str) -> dict[str, Any]:
    return {
        "id": str(fact.id),
        "space": slug,
        "subject": fact.subject,
        "predicate": fact.predicate,
        "object": fact.object,
        "confidence": fact.confidence,
        "single": fact.single,
        "source_message_id": str(fact.source_message_id) if fact.source_message_id else None,
        "valid_from": moment(fact.valid_from),
        "valid_until": moment(fact.valid_until) if fact.valid_until else None,
        "created_at": moment(fact.created_at),
    }
