"""The messages that memories say they were learned from."""

from __future__ import annotations

from collections.abc import Sequence

from memory.conversations.transcript import known_messages
from memory.drafts.drafts import Draft
from webapp.context import credential, session

NO_SOURCE = "there is no such message"


def unknown_sources(drafts: Sequence[Draft]) -> list[int]:
    """Return the places of drafts that name a message which this caller cannot see."""
    named = {number: d.source_message_id for number, d in enumerate(drafts) if d.source_message_id is not None}
    if not named:
        return []
    who = credential()
    known = known_messages(session(), who.user_id, set(named.values()), within=who.space_id)
    return [number for number, message_id in named.items() if message_id not in known]
