"""What of conversations waits to be read for facts: a part at a time, once they rest or there is much of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Row
from sqlalchemy import text as sql
from sqlalchemy.orm import Session

from memory.drafts.recalled import authored
from memory.facts.facts import FactFilters, facts_for

# Who goes on talking corrects themselves: a conversation is read when nothing was said for so long, or a part is full.
QUIET = timedelta(minutes=10)
FULL = 40  # messages
LONGEST_PART = 8_000  # characters
# What was said before a part, by which it is understood.
_BEFORE, _LONGEST_BEFORE = 4, 500
MOST_KNOWN = 30

_WANTED = """
SELECT c.id, c.space_id, c.extracted_through FROM conversations c
JOIN spaces s ON s.user_id = c.user_id AND s.id = c.space_id
WHERE c.user_id = :user_id AND s.extract_facts AND s.memory_enabled AND NOT s.incognito_default
  AND c.archived_at IS NULL AND c.message_count > c.extracted_through
"""
_STILL = sql(f"{_WANTED} AND c.id = :id AND c.space_id = :space_id AND c.extracted_through = :after")
_NEXT = sql(f"""
{_WANTED}
  AND (c.updated_at <= :quiet_since OR c.message_count >= c.extracted_through + :full)
  AND c.id <> ALL(CAST(:apart AS uuid[]))
ORDER BY c.updated_at DESC, c.id DESC LIMIT 1
""")
# What was recalled is left out of the whole of a message: what its author said may stand behind it.
_COLUMNS = """
SELECT id, sequence, role, recalled, created_at,
    CASE WHEN recalled THEN content ELSE left(content, :longest) END AS content
FROM messages
"""
_MESSAGES = sql(f"""
{_COLUMNS}
WHERE user_id = :user_id AND conversation_id = :conversation_id AND sequence > :after
ORDER BY sequence LIMIT :most
""")
_EARLIER = sql(f"""
{_COLUMNS}
WHERE user_id = :user_id AND conversation_id = :conversation_id AND sequence <= :after
  AND role IN ('user', 'assistant')
ORDER BY sequence DESC LIMIT :most
""")


@dataclass(frozen=True, slots=True)
class Said:
    """A message of the user or the assistant, without what had been recalled to it."""

    id: UUID
    sequence: int
    role: str
    text: str
    said_at: datetime


@dataclass(frozen=True, slots=True)
class Part:
    """What follows the message `after` of a conversation, up to the message `upto`, and what it is understood by.

    `known` are the facts, as subject, predicate and object, that what is said there names.
    """

    conversation_id: UUID
    space_id: UUID
    after: int
    upto: int
    said: Sequence[Said]
    before: Sequence[Said]
    known: Sequence[tuple[str, str, str]]

    @property
    def length(self) -> int:
        """Return how many messages of the conversation it settles, those of tools among them."""
        return self.upto - self.after

    def half(self) -> Part:
        """Return its first half, of at least one message."""
        kept = self.said[: max(1, len(self.said) // 2)]
        return replace(self, said=kept, upto=kept[-1].sequence)


def next_part(session: Session, user_id: UUID, *, now: datetime, apart: Collection[UUID]) -> Part | None:
    """Return what is to be read next, of the conversation that was changed last; None when nothing waits.

    Left alone are the conversations `apart`, archived ones, and those of spaces that do not want it, whose memory is
    off, or that are incognito by default.
    """
    asked = {"user_id": user_id, "quiet_since": now - QUIET, "full": FULL, "apart": list(apart)}
    row = session.execute(_NEXT, asked).one_or_none()
    if row is None:
        return None
    place = {"user_id": user_id, "conversation_id": row.id, "after": row.extracted_through}
    rows = session.execute(_MESSAGES, {**place, "most": FULL, "longest": LONGEST_PART}).all()
    earlier = session.execute(_EARLIER, {**place, "most": _BEFORE, "longest": _LONGEST_BEFORE}).all()
    said, upto = _stretch(session, user_id, rows, now)
    words = "\n".join(each.text for each in said)
    filters = FactFilters(space_id=row.space_id, naming=words, at=now)
    known = facts_for(session, user_id, filters, most=MOST_KNOWN, now=now)
    return Part(
        row.id,
        row.space_id,
        row.extracted_through,
        upto,
        said,
        [_said(session, user_id, each, _LONGEST_BEFORE, now) for each in reversed(earlier)],
        [(fact.subject, fact.predicate, fact.object) for fact, _ in known],
    )


def still_waits(session: Session, user_id: UUID, part: Part) -> bool:
    """Tell whether a part is to be read as it was when it was taken up."""
    place = {"id": part.conversation_id, "space_id": part.space_id, "after": part.after}
    return session.execute(_STILL, {"user_id": user_id, **place}).first() is not None


def _stretch(session: Session, user_id: UUID, rows: Sequence[Row[Any]], now: datetime) -> tuple[list[Said], int]:
    """Return what people and models said in as many of the messages as are read at once, and the last one's place."""
    said: list[Said] = []
    upto, length = 0, 0
    for row in rows:
        if row.role in {"user", "assistant"}:
            each = _said(session, user_id, row, LONGEST_PART, now)
            length += len(each.text)
            if said and length > LONGEST_PART:
                break
            if each.text.strip():
                said.append(each)
        upto = row.sequence
    return said, upto


def _said(session: Session, user_id: UUID, row: Row[Any], longest: int, now: datetime) -> Said:
    text = authored(session, user_id, row.id, row.content, now=now) if row.recalled else row.content
    return Said(row.id, row.sequence, row.role, text[:longest], row.created_at)
