"""Keeping a record of the calls that this server answers: what was asked, how it went, in which conversation."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any
from uuid import UUID

from flask import g, make_response
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from werkzeug.exceptions import HTTPException

from memory.errors import DomainError, InvalidError
from memory.models import SCORE_PARTS, Space
from memory.record.external_calls import Links
from memory.record.journal import hold, hold_place, record_tool_call, still_there
from memory.record.tool_calls import RECEIVING
from memory.redaction.redaction import REDACTED
from retrieval.policy import PolicyError
from retrieval.query import MAX_QUERY, Hit, Result
from retrieval.search import query_hash
from webapp.context import credential, request_id, session, utc_now
from webapp.headers import CONVERSATION_HEADER, MESSAGE_HEADER, SPACE_HEADER, own_header
from webapp.operations import is_incognito, space_at, space_for, was_incognito
from webapp.ratelimit import LIMITED

logger = logging.getLogger(__name__)

# A memory's text is at most 65,536 bytes and has at most 64 tags or sources.
LONGEST_KEPT = 65_536
MOST_KEPT = 100
LONGEST_ERROR = 500
# Operations whose arguments say what the memories that they name say.
_WRITES = frozenset({"create", "update"})
DEEPEST_KEPT = 4
# Reasons for which a search was not made.
_NOT_MADE = frozenset({"incognito", "memory_off", LIMITED})


@dataclass(frozen=True, slots=True)
class Place:
    """The conversation, the message and the space (a slug) that a call belongs to, where the caller says so."""

    conversation_id: UUID | None = None
    message_id: UUID | None = None
    space: str | None = None


class Recording:
    """One call from its beginning; `done` appends it to the record.

    Making one raises `InvalidError` when a header names a conversation, message or space that the caller does not have.
    """

    def __init__(self, tool: str, operation: str) -> None:
        self._started = time.perf_counter()
        self._tool = tool
        self._operation = operation
        self._place = place_of_request()

    def done(
        self,
        arguments: dict[str, Any],
        *,
        question: str | None = None,
        result: dict[str, Any] | None = None,
        affected: Sequence[str] = (),
        hits: int | None = None,
        success: bool = True,
        error: str | None = None,
    ) -> None:
        """Append the call; what it did stands, whatever becomes of that."""
        fields = {
            "result": result,
            "affected_ids": [UUID(each) for each in affected],
            "hits": hits,
            "success": success,
            # The error may quote a character that no column can hold.
            "error": kept(error[:LONGEST_ERROR]) if error is not None else None,
            "duration_ms": (time.perf_counter() - self._started) * 1000,
        }
        # Tried again without its conversation, which may have been deleted meanwhile: the call was made all the same.
        alone = replace(self._place, conversation_id=None, message_id=None)
        for place in (self._place, alone):
            try:
                self._append(arguments, question, place, fields)
            except SQLAlchemyError as failure:
                session().rollback()
                if not isinstance(failure, IntegrityError) or place == alone:
                    # The kind alone is logged, as the message of the error would quote the arguments.
                    logger.error("a call of %s was not recorded: %s", self._tool, type(failure).__name__)
                    return
            else:
                return

    def searched(self, arguments: dict[str, Any], question: str, result: Result) -> None:
        """Append a search by what it found."""
        told = recalled(result.hits)
        self.done(
            arguments,
            question=question,
            result=told,
            affected=told["ids"],
            hits=hits_of(result, len(result.hits)),
            success=not result.error,
        )

    def _append(self, arguments: dict[str, Any], question: str | None, place: Place, fields: dict[str, Any]) -> None:
        who = credential()
        told = self._told(arguments, question, place, fields["error"])
        if (conversation_id := told.get("conversation_id")) is not None:
            # Committed first: a search holds the memories whose scores it saved, and whoever removes the conversation
            # may wait for these.
            session().commit()
            hold_place(session(), who.user_id, conversation_id)
        if not self._is_there(who.user_id, fields["affected_ids"]):
            # Recorded blank: what was written or found is forgotten by now, and whoever forgot it could not find this
            # call.
            told, fields = {**told, "arguments": REDACTED, "query_hash": None}, {**fields, "result": REDACTED}
        record_tool_call(
            session(),
            who.user_id,
            token_id=who.token_id,
            correlation_id=request_id(),
            tool=self._tool,
            operation=self._operation,
            created_at=utc_now(),
            **{**fields, **told},
        )
        session().commit()

    def _is_there(self, user_id: UUID, ids: Sequence[UUID]) -> bool:
        """Tell whether what the call is about is not forgotten, and cannot be before this is recorded, unseen."""
        if self._operation in _WRITES:
            return hold(session(), user_id, ids)
        # A search does not wait for others; what a call has forgotten itself is gone as it should be.
        return self._operation not in RECEIVING or still_there(session(), user_id, ids)

    def _told(self, arguments: dict[str, Any], question: str | None, place: Place, error: str | None) -> dict[str, Any]:
        """Return what tells of the user's words; incognito leaves nothing of it, and of an error its kind alone."""
        if was_incognito(arguments.get("space")):
            return {"arguments": {}, "error": error and error.partition(":")[0]}
        if place.space is not None and arguments.get("space") is None and arguments.get("conversation") is None:
            # Kept as if the call had named it, so that what a space hides later is hidden of this call, too.
            arguments = {**arguments, "space": place.space}
        return {
            "arguments": kept(arguments),
            "error": error,
            # Of the part that is searched for, so that the log names the question by the same hash.
            "query_hash": query_hash(question[: MAX_QUERY + 1]) if question is not None else None,
            "conversation_id": place.conversation_id,
            "message_id": place.message_id,
        }


def failure(error: Exception) -> str:
    """Return what the record says of a call that failed: the kind of error, and what the caller was told.

    Of errors that are not ours the kind alone, as their words would quote the arguments.
    """
    kind = type(error).__name__
    if isinstance(error, HTTPException) and error.response is not None:
        # Aborted with a response of ours, such as for a missing scope, which says why.
        return str((make_response(error.response).get_json(silent=True) or {}).get("detail", kind))
    return f"{kind}: {error}" if isinstance(error, DomainError | PolicyError) else kind


def place_of_request() -> Place:
    """Return the conversation, message and space that the request's headers name; raises `InvalidError`.

    What the request does from then on without naming a space, it does in that one, or in that of the conversation.
    """
    conversation_id, message_id, space = _named(CONVERSATION_HEADER), _named(MESSAGE_HEADER), _named_space()
    slug = space.slug if space else None
    if space is not None:
        g.made_in = space.id
    if conversation_id is None and message_id is None:
        return Place(space=slug)
    who = credential()
    links = Links(session(), who.user_id, who.space_id)
    links.load([conversation_id] if conversation_id else [], [message_id] if message_id else [])
    own = links.conversation_of(conversation_id, message_id, (CONVERSATION_HEADER, MESSAGE_HEADER))
    if own is not None:
        if space is not None and space.id != links.spaces[own]:
            # Neither goes before the other: whichever it is, something may be stored where it does not belong.
            raise InvalidError(SPACE_HEADER, "is not the space of the conversation in which the call is made")
        g.made_in = links.spaces[own]
        # Asked so that the request remembers it: a call in a conversation that is incognito is recorded without its
        # words.
        is_incognito(space_at(links.spaces[own]))
    return Place(own, message_id, slug)


def _named(header: str) -> UUID | None:
    value = own_header(header)
    if value is None:
        return None
    try:
        return UUID(value.strip())
    except ValueError:
        raise InvalidError(header, "must be an id of ours") from None


def _named_space() -> Space | None:
    slug = own_header(SPACE_HEADER)
    if slug is None:
        return None
    try:
        return space_for(slug)
    except InvalidError as error:
        raise InvalidError(SPACE_HEADER, error.message) from None


def recalled(hits: Sequence[Hit]) -> dict[str, Any]:
    """Return what is recorded of hits: their ids in the order of their ranks, and the parts of the score of each."""
    scores = [[round(float(getattr(hit.ranked.scored.score, part)), 4) for part in SCORE_PARTS] for hit in hits]
    return {"ids": [str(hit.ranked.scored.candidate.id) for hit in hits], "scores": scores}


def hits_of(result: Result, shown: int) -> int | None:
    """Return what is recorded as the number of hits that were shown; None where none was, as nothing was searched."""
    return shown or (None if _NOT_MADE & set(result.degraded) else 0)


def kept(value: Any, depth: int = 0) -> Any:
    """Return arguments as JSONB can hold them: no NUL, no half surrogate pairs, no NaN, nothing deep or endless."""
    if isinstance(value, str):
        return value.replace("\x00", "").encode("utf-8", "replace").decode()[:LONGEST_KEPT]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if not isinstance(value, dict | list):
        return value
    if depth == DEEPEST_KEPT:
        return "…"
    if isinstance(value, dict):
        return {kept(key): kept(inner, depth + 1) for key, inner in islice(value.items(), MOST_KEPT)}
    return [kept(inner, depth + 1) for inner in value[:MOST_KEPT]]
