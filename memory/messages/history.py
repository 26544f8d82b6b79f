"""Merging a client's history with ours: ours stays first and as it is, what is new in theirs comes after it.

A message of theirs is ours if it carries the id that we gave it, or the id that they gave it; else if its role and
text stand at the place where ours do. A place is one in the order of both: a client may have kept the end of a
conversation alone, or may have missed what another client said in the middle.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from memory.conversations.conversations import lock_conversation, lock_with_space
from memory.messages.alignment import stretches
from memory.messages.drafts import MessageDraft
from memory.messages.messages import Appended, Scribe, Stored, append_locked
from memory.models import Conversation, Message
from memory.record.journal import record


@dataclass(frozen=True, slots=True)
class Offered:
    """A message of a client's history; `id` is the one that we gave it, where the client kept it."""

    draft: MessageDraft
    id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """A message that both have. `position` counts from 0 in the client's history.

    `differs` tells that the same id has another role or text there: ours stays.
    """

    position: int
    message_id: UUID
    by: Literal["id", "client_id", "text"]
    differs: bool = False


@dataclass(frozen=True, slots=True)
class Merged:
    """What was kept from each side.

    `only_here` are ids of messages that the client did not have; `matches` are theirs that ours stand for; `added`
    are those of theirs that are new, or that completed a partial message of ours.
    """

    appended: Appended
    kept: int
    only_here: tuple[UUID, ...]
    matches: tuple[Match, ...]
    added: tuple[tuple[int, Stored], ...]


def merge(session: Session, user_id: UUID, conversation_id: UUID, offered: Sequence[Offered], scribe: Scribe) -> Merged:
    """Append what is new in a client's history, in its order; as `append`, raises what that raises."""
    if any(item.draft.remember for item in offered):
        conversation, space = lock_with_space(session, user_id, conversation_id, within=scribe.within)
        slug = space.slug
    else:
        conversation, slug = lock_conversation(session, user_id, conversation_id, within=scribe.within), None
    ours = _ours(session, conversation)
    matches = _matched(ours, offered)
    new = [place for place in range(len(offered)) if place not in matches]
    appended = append_locked(session, conversation, [offered[place].draft for place in new], scribe, slug)
    met = {match.message_id for match in matches.values()} | {item.message.id for item in appended.stored}
    merged = Merged(
        appended=appended,
        kept=len(ours),
        only_here=tuple(row.id for row in ours if row.id not in met),
        matches=tuple(matches[place] for place in sorted(matches)),
        added=tuple(zip(new, appended.stored, strict=True)),
    )
    details = {"kept": merged.kept, "matched": len(merged.matches), "added": len(merged.added)}
    subject = conversation.id
    record(
        session, user_id, "conversation.merged", actor=scribe.actor, now=scribe.now, subject_id=subject, details=details
    )
    return merged


def _ours(session: Session, conversation: Conversation) -> Sequence[Any]:
    # Digests in place of texts: of a long conversation only these travel.
    columns = (Message.id, Message.client_id, Message.role, Message.partial, func.md5(Message.content).label("digest"))
    mine = (Message.user_id == conversation.user_id, Message.conversation_id == conversation.id)
    return session.execute(select(*columns).where(*mine).order_by(Message.sequence)).all()


def _matched(ours: Sequence[Any], offered: Sequence[Offered]) -> dict[int, Match]:
    """Return which of the offered messages are ours, by their places."""
    theirs = [(item.draft.role, _digest(item.draft.content)) for item in offered]
    rows, completing = _by_ids(ours, offered, theirs)
    # A message that is known by an id stands for itself alone, and fixes where the others can be.
    known = {row.id: place for place, (row, _) in rows.items()}
    our_words = [("", str(row.id)) if row.id in known else (row.role, row.digest) for row in ours]
    their_words = [("", str(rows[place][0].id)) if place in rows else words for place, words in enumerate(theirs)]
    matches = {
        place: Match(place, row.id, by, differs=(row.role, row.digest) != theirs[place])
        for place, (row, by) in rows.items()
        if place not in completing
    }
    for our_start, their_start, size in stretches(our_words, their_words):
        for step in range(size):
            row, place = ours[our_start + step], their_start + step
            both_named = row.client_id is not None and offered[place].draft.client_id is not None
            if place not in rows and not both_named:
                matches[place] = Match(place, row.id, "text")
    return matches


def _by_ids(
    ours: Sequence[Any], offered: Sequence[Offered], theirs: Sequence[tuple[str, str]]
) -> tuple[dict[int, tuple[Any, Literal["id", "client_id"]]], set[int]]:
    """Return our row for each place that names one, and the places that complete a partial message of ours."""
    by_id = {row.id: row for row in ours}
    by_client_id = {row.client_id: row for row in ours if row.client_id is not None}
    rows: dict[int, tuple[Any, Literal["id", "client_id"]]] = {}
    completing: set[int] = set()
    for place, item in enumerate(offered):
        if item.id in by_id:
            rows[place] = (by_id[item.id], "id")
        elif item.draft.client_id in by_client_id:
            row = by_client_id[item.draft.client_id]
            rows[place] = (row, "client_id")
            if row.partial and not item.draft.partial and row.role == theirs[place][0]:
                completing.add(place)
    return rows, completing


def _digest(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
