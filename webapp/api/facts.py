"""`/v1/facts`: what is true of whom, from when until when."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, ClassVar
from uuid import UUID

from flask import Response, jsonify
from pydantic import BaseModel, Field

from memory.errors import InvalidError
from memory.facts.facts import LARGEST_PAGE, MOST, FactFilters, Statement
from webapp.api.answers import ChangedFactAnswer, DeletedAnswer, FactAnswer, FactsAnswer, StatedFactAnswer
from webapp.api.blueprint import api_blueprint
from webapp.api.schemas import NOT_BLANK, Cursor, Line, Moment, Patch, Query, Share, Slug, Strict, described_as
from webapp.context import utc_now
from webapp.facts import correct_fact, delete_fact, facts_json, find_facts, readable_fact, state_fact
from webapp.guards import needs, placed

bp = api_blueprint("facts", "What is true of whom, from when until when", "/v1/facts")


class FactPath(BaseModel):
    """The id of a fact."""

    fact_id: UUID


class FactsQuery(Query):
    """Filters of the list: `at` is the moment at which they are true, now without it; `ended` lists all there were.

    `q` is a text, as a question: those whose subject or object it names. With `extracted` those that a language model
    read out of conversations, or all others; with `conversation` those of a message there.
    """

    space: Slug | None = None
    q: Line | None = Field(None, min_length=1, max_length=2000)
    subject: Line | None = Field(None, min_length=1, max_length=MOST["subject"])
    predicate: Line | None = Field(None, min_length=1, max_length=MOST["predicate"])
    at: Moment | None = None
    ended: bool = False
    extracted: bool | None = None
    conversation: UUID | None = None
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
    valid_until: Moment | None = None
    source_message_id: UUID | None = None
    space: Slug | None = None


class FactPatch(Patch):
    """What to change; with null for `valid_until` it is true again.

    Whatever is changed, and false for `extracted` alone, says that somebody has looked at what a model read.
    """

    nullable: ClassVar = frozenset({"valid_until"})

    object: Annotated[Line, described_as(**NOT_BLANK, maxLength=MOST["object"])] | None = None
    confidence: Share | None = None
    valid_from: Moment | None = None
    valid_until: Moment | None = None
    extracted: bool | None = None


@bp.get("", summary="List facts, the latest first", responses={"200": FactsAnswer})
@needs("read")
@placed
def list_(query: FactsQuery) -> Response:
    """Answer a page of what is true now, of what was at a moment, or of all that ever was; of all spaces or one."""
    if query.at is not None and query.ended:
        raise InvalidError("ended", "asks for all there were, and at for those of a moment: say one of them")
    at = query.at or (None if query.ended else utc_now())
    filters = FactFilters(
        subject=query.subject,
        predicate=query.predicate,
        naming=query.q,
        at=at,
        extracted=query.extracted,
        conversation=query.conversation,
    )
    page, skipped = find_facts(query.space, filters, limit=query.limit, cursor=query.cursor)
    told = {"skipped": skipped} if skipped else {}
    return jsonify({"facts": facts_json(page.facts), "next_cursor": page.next_cursor, **told})


@bp.post("", summary="State a fact", responses={"201": StatedFactAnswer, "200": StatedFactAnswer})
@needs("write")
@placed
def add(body: FactBody) -> tuple[Response, HTTPStatus]:
    """Answer its id, and the facts that it contradicts: those end when it begins, and stay on record.

    201 for a new one, 200 for one that was known.
    """
    kept = state_fact(Statement(**body.model_dump(exclude={"space"})), body.space)
    answer = jsonify({**kept.json(), "created": kept.created})
    return answer, HTTPStatus.CREATED if kept.created else HTTPStatus.OK


@bp.get("/<uuid:fact_id>", summary="Read a fact", responses={"200": FactAnswer})
@needs("read")
def read(path: FactPath) -> Response:
    """Answer it as it is kept, whether it is true or has ended."""
    (fact,) = facts_json([readable_fact(path.fact_id)])
    return jsonify(fact)


@bp.patch("/<uuid:fact_id>", summary="Correct or end a fact", responses={"200": ChangedFactAnswer})
@needs("write")
def change(path: FactPath, body: FactPatch) -> Response:
    """Say until when it was true, or put right what was said of it; it cannot be true beyond what contradicts it."""
    changes = body.changes()
    if changes.get("extracted"):
        raise InvalidError("extracted", "can be set to false alone, by whoever has looked at it")
    return jsonify(correct_fact(path.fact_id, changes).json())


@bp.delete("/<uuid:fact_id>", summary="Delete a fact", responses={"200": DeletedAnswer})
@needs("forget")
def delete(path: FactPath) -> Response:
    """Delete it for good; what it had ended stays ended, and can be made true again."""
    delete_fact(path.fact_id)
    return jsonify({"id": str(path.fact_id), "deleted": True})
