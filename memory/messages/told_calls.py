"""Calls of tools that a history tells of, put into the record of calls with what they gave.

One is recorded when its result is stored: before that nobody knows what it did. How long it took no history says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session, undefer

from memory.drafts.payloads import check_json
from memory.errors import InvalidError
from memory.keys import Keys
from memory.messages.formats import Gist, Given, Made, gist_of
from memory.models import Message, ToolCall
from memory.redaction.retold import without_forgotten

# A result belongs to a call at most so many messages before it.
FARTHEST = 64
# Of arguments and of a result; longer ones stand in their messages alone.
LARGEST_JSON = 65_536
LEFT_OUT = {"left_out": "it stands in the message alone"}
# What one request may tell of, all its messages together: whoever writes to the same account waits meanwhile.
MOST_TOLD = 20_000
NAMELESS = "tool"
_TICK = timedelta(microseconds=1)
_NAME = re.compile(r"[A-Za-z0-9_./:-]{1,100}")


@dataclass(frozen=True, slots=True)
class Teller:
    """Whose calls these are, and the names of tools whose calls are in the record already."""

    token_id: UUID | None = None
    recorded: Collection[str] = ()


def record_told(session: Session, stored: Iterable[Message], teller: Teller, keys: Keys, now: datetime) -> None:
    """Record the calls whose results are in these messages of one conversation, in their order.

    What was forgotten is not recorded of them. The caller commits.
    """
    told = [(message, gist) for message, gist in _told(stored) if gist.made or gist.given]
    asked = _asked_earlier(gist for _, gist in told)
    before = _made_before(session, told[0][0], asked) if asked else ()
    rows = [
        # The record is in the order of moments, and all of them were told in one.
        {**row, "created_at": row["created_at"] + number * _TICK}
        for number, row in enumerate(_rows([*before, *told], teller))
        if row["tool"] not in teller.recorded
    ]
    if rows:
        kept = without_forgotten(session, rows[0]["user_id"], rows, keys, now)
        session.execute(insert(ToolCall).on_conflict_do_nothing(), kept)


def _told(messages: Iterable[Message]) -> Iterator[tuple[Message, Gist]]:
    for message in messages:
        # An export may bring in elements that no version here reads.
        gist = gist_of(message.payload_format, message.payload) if message.payload_format else None
        if gist is not None:
            yield message, gist


def _asked_earlier(gists: Iterable[Gist]) -> set[str]:
    """Return the ids of results that come before any call of their id: that call was told before, if it was."""
    made: set[str] = set()
    asked: set[str] = set()
    for gist in gists:
        made.update(each.id for each in gist.made)
        asked.update(each.id for each in gist.given if each.id not in made)
    return asked


def _made_before(session: Session, message: Message, asked: Collection[str]) -> Iterator[tuple[Message, Gist]]:
    """Yield the last message before one that makes a call of each of these ids, with the calls of them alone."""
    statement = select(Message).where(
        Message.user_id == message.user_id,
        Message.conversation_id == message.conversation_id,
        Message.sequence.between(message.sequence - FARTHEST, message.sequence - 1),
        Message.role.in_(("assistant", "tool_call")),
    )
    newest = statement.order_by(Message.sequence.desc()).options(undefer(Message.payload))
    missing = set(asked)
    # One at a time, as far as need be: each may have 16 MiB.
    with session.scalars(newest.execution_options(yield_per=1)) as said:
        for each, gist in _told(said):
            made = tuple(call for call in gist.made if call.id in missing)
            if made:
                yield each, replace(gist, made=made, given=())
                missing.difference_update(call.id for call in made)
            if not missing:
                return


def _rows(told: Iterable[tuple[Message, Gist]], teller: Teller) -> Iterator[dict[str, Any]]:
    # An id may come again: some programs count the calls of each message anew.
    open_calls: dict[str, tuple[Message, Made]] = {}
    for message, gist in told:
        open_calls |= {made.id: (message, made) for made in gist.made}
        for given in gist.given:
            if given.id in open_calls:
                yield _row(*open_calls.pop(given.id), message, given, teller)


def _row(said_in: Message, made: Made, answered_in: Message, given: Given, teller: Teller) -> dict[str, Any]:
    return {
        "user_id": said_in.user_id,
        # Of what was told before, the same. JSON may have half a surrogate pair in a text.
        "id": uuid5(said_in.id, made.id.encode(errors="backslashreplace").decode()),
        "token_id": teller.token_id,
        "correlation_id": answered_in.correlation_id,
        "origin": "history",
        # A name that is none may be a sentence, and would hide it from who takes out what is forgotten.
        "tool": made.tool if _NAME.fullmatch(made.tool) else NAMELESS,
        "arguments": _keepable(_as_object(made.arguments)),
        "result": _keepable(given.result),
        "error": None,
        "affected_paths": [],
        "conversation_id": said_in.conversation_id,
        "message_id": said_in.id,
        "success": given.success,
        "created_at": answered_in.created_at,
    }


def _as_object(arguments: Any) -> dict[str, Any]:
    """Return arguments by their names, also where they come as JSON in a text; else as the one thing that was given."""
    given = arguments
    if isinstance(arguments, str):
        try:
            given = json.loads(arguments)
        except (ValueError, RecursionError):
            given = arguments
    if isinstance(given, dict):
        return given
    return {} if given in (None, "") else {"input": given}


def _keepable(value: Any) -> Any:
    try:
        check_json(value, "payload", most=LARGEST_JSON, for_index=True)
    except InvalidError:
        return LEFT_OUT
    return value
