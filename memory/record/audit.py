"""Reading the audit trail, and proving that nobody has changed it.

The database chains the events of a user when a transaction commits: each link holds the SHA-256 of the link before it
and of the event's text. Here the same hashes are worked out again from what the tables hold now.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Row, Select, func, select, text, tuple_
from sqlalchemy.orm import Session

from memory.cursors import check_limit, from_cursor, to_cursor
from memory.errors import InvalidError
from memory.models import AuditEvent, AuditLink

LARGEST_PAGE = 200
HEAD = re.compile(r"([1-9][0-9]{0,17}):([0-9a-f]{64})")

# As text, so that what was changed by hand into something that Python cannot hold is found and not stumbled over.
# Events are looked up by the ids of some links at a time: joined with all of them, while the planner does not know a
# user's rows yet, every link might be compared with every event.
_EVENTS = text("""
SELECT e.user_id::text AS user_id, e.id::text AS id, e.action, e.actor, coalesce(e.subject_id::text, '') AS subject_id,
       e.count::text AS count, e.details::text AS details, extract(epoch FROM e.created_at)::text AS created_at
FROM audit_events e WHERE e.user_id = :user_id AND e.id = ANY(:ids)
""")
_AT_ONCE = 1000
_HASHED = ("user_id", "id", "action", "actor", "subject_id", "count", "details", "created_at")

_UNCHAINED = text("""
SELECT e.id FROM audit_events e WHERE e.user_id = :user_id AND NOT EXISTS (
    SELECT 1 FROM audit_links l WHERE l.user_id = e.user_id AND l.event_id = e.id
) ORDER BY e.id LIMIT 1
""")


@dataclass(frozen=True, slots=True)
class Head:
    """The last link of a chain; noted elsewhere, it shows later that nothing before it was cut off or written anew."""

    sequence: int
    hash: bytes

    def __str__(self) -> str:
        return f"{self.sequence}:{self.hash.hex()}"


@dataclass(frozen=True, slots=True)
class Verification:
    """What became of a check. `events` were sound; `sequence` or `event_id` say where the first is that is not."""

    ok: bool
    events: int
    head: Head | None
    reason: str | None = None
    sequence: int | None = None
    event_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class EventFilters:
    """Which events to list; None means any. `action` is the beginning of a name: `memory.` means all about memories."""

    action: str | None = None
    actor: str | None = None
    subject_id: UUID | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class LinkedEvent:
    """An event with its place in the chain."""

    event: AuditEvent
    sequence: int | None
    hash: bytes | None


@dataclass(frozen=True, slots=True)
class EventPage:
    """Some events, newest first, and the cursor of the next page (None at the end)."""

    events: Sequence[LinkedEvent]
    next_cursor: str | None


def to_head(value: str) -> Head:
    """Return the head that was noted as SEQUENCE:HASH; raises `InvalidError` on the field `expect`."""
    found = HEAD.fullmatch(value.strip().lower())
    if found is None:
        raise InvalidError("expect", "must be a sequence number, a colon and 64 hex digits")
    return Head(int(found[1]), bytes.fromhex(found[2]))


def verify(session: Session, user_id: UUID, expected: Head | None = None) -> Verification:
    """Work out the chain of a user again and tell whether it holds, or where it breaks first.

    Finds an event that was changed, removed or put in beside the chain, and a link that was changed, removed or moved.
    Links cut off the end together with their events, or a whole chain that was written anew, are found by an
    `expected` head that was noted when it was the last, and by nothing else.
    """
    last, met = Head(0, b""), None
    for link, event in _chain(session, user_id):
        broken = _broken(link, event, last)
        if broken is not None:
            return Verification(False, last.sequence, _known(last), broken, last.sequence + 1, link.event_id)
        last = Head(link.sequence, bytes(link.hash))
        met = last if expected is not None and last.sequence == expected.sequence else met
    if expected is not None and met != expected:
        reason = "the chain is shorter than was noted" if met is None else "the chain was written anew"
        return Verification(False, last.sequence, _known(last), reason, expected.sequence)
    if (event_id := _unchained(session, user_id, last.sequence)) is not None:
        return Verification(False, last.sequence, _known(last), "an event is not in the chain", None, event_id)
    return Verification(True, last.sequence, _known(last))


def _known(head: Head) -> Head | None:
    return head if head.sequence else None


def _chain(session: Session, user_id: UUID) -> Iterator[tuple[Row[int, UUID, bytes], Row[Any] | None]]:
    """Yield the links of a user in their order, each with its event as text, None where that is missing."""
    columns = (AuditLink.sequence, AuditLink.event_id, AuditLink.hash)
    some = select(*columns).where(AuditLink.user_id == user_id).order_by(AuditLink.sequence).limit(_AT_ONCE)
    following: Select[int, UUID, bytes] = some
    while True:
        links = session.execute(following).all()
        ids = [link.event_id for link in links]
        events = {event.id: event for event in session.execute(_EVENTS, {"user_id": user_id, "ids": ids})}
        for link in links:
            yield link, events.get(str(link.event_id))
        if len(links) < _AT_ONCE:
            return
        following = some.where(AuditLink.sequence > links[-1].sequence)


def _unchained(session: Session, user_id: UUID, links: int) -> UUID | None:
    """Return the first event that no link names, None if there are as many events as links."""
    events = select(func.count()).select_from(AuditEvent).where(AuditEvent.user_id == user_id)
    # A link names one event and no other link does; more than were counted may have been written meanwhile.
    return session.scalar(_UNCHAINED, {"user_id": user_id}) if session.scalar(events) != links else None


def _broken(link: Row[int, UUID, bytes], event: Row[Any] | None, last: Head) -> str | None:
    """Say what is wrong with a link, None if nothing is."""
    if link.sequence != last.sequence + 1:
        return "the links do not follow one another"
    if event is None:
        return "the event of this link is missing"
    if hashlib.sha256(last.hash + _hashed_text(event)).digest() != bytes(link.hash):
        return "the event or its link was changed"
    return None


def _hashed_text(event: Row[Any]) -> bytes:
    """Return what a link's hash covers; `audit_text` in the migrations is the same in SQL."""
    values = [getattr(event, name) for name in _HASHED]
    return ",".join(f"{len(value)}:{value}" for value in values).encode()


def list_events(
    session: Session, user_id: UUID, filters: EventFilters, *, limit: int = 50, cursor: str | None = None
) -> EventPage:
    """Return a page of events by (created_at, id), newest first; raises `InvalidError` for a bad limit or cursor."""
    check_limit(limit, LARGEST_PAGE)
    statement = _filtered(select(AuditEvent).where(AuditEvent.user_id == user_id), filters)
    if cursor is not None:
        statement = statement.where(tuple_(AuditEvent.created_at, AuditEvent.id) < from_cursor(cursor))
    statement = statement.order_by(AuditEvent.created_at.desc(), AuditEvent.id.desc()).limit(limit + 1)
    events = session.scalars(statement).all()
    shown = list(_linked(session, user_id, events[:limit]))
    last = events[limit - 1] if len(events) > limit else None
    return EventPage(shown, to_cursor(last.created_at, last.id) if last else None)


def done_at(session: Session, user_id: UUID, action: str, at: datetime, *, actor: str) -> dict[UUID, dict[str, Any]]:
    """Return to what an actor did something at one moment, in that order, with the details of each."""
    statement = select(AuditEvent.subject_id, AuditEvent.details).where(
        AuditEvent.user_id == user_id,
        AuditEvent.created_at == at,
        AuditEvent.action == action,
        AuditEvent.actor == actor,
        AuditEvent.subject_id.is_not(None),
    )
    return {row.subject_id: row.details for row in session.execute(statement.order_by(AuditEvent.id))}


def _filtered(statement: Select[AuditEvent], filters: EventFilters) -> Select[AuditEvent]:
    if filters.action is not None:
        statement = statement.where(AuditEvent.action.startswith(filters.action, autoescape=True))
    if filters.actor is not None:
        statement = statement.where(AuditEvent.actor == filters.actor)
    if filters.subject_id is not None:
        statement = statement.where(AuditEvent.subject_id == filters.subject_id)
    if filters.since is not None:
        statement = statement.where(AuditEvent.created_at >= filters.since)
    if filters.until is not None:
        statement = statement.where(AuditEvent.created_at < filters.until)
    return statement


def _linked(session: Session, user_id: UUID, events: Sequence[AuditEvent]) -> Iterator[LinkedEvent]:
    ids = [event.id for event in events]
    statement = select(AuditLink).where(AuditLink.user_id == user_id, AuditLink.event_id.in_(ids))
    links = {link.event_id: link for link in session.scalars(statement)}
    for event in events:
        link = links.get(event.id)
        yield LinkedEvent(event, link.sequence if link else None, link.hash if link else None)
