"""The record of what was done: audit events and tool calls."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from memory.ids import new_id
from memory.models import AuditEvent, ToolCall
from memory.redaction.blanking import blank
from memory.redaction.fact_texts import drop_facts, facts_saying
from memory.redaction.redaction import Calls
from memory.redaction.telling import may_tell, wait_for_tellers
from memory.storage.driver import Ids, fetch
from memory.texts.needles import Needles

_DOCUMENTS = ("arguments", "result")

# Locks memories and facts, so that whoever forgets one of them waits for the caller's transaction, and then finds what
# that has recorded.
_HELD = " UNION ALL ".join(
    f"SELECT id FROM (SELECT id FROM {table} WHERE user_id = %(user_id)s AND id = ANY(%(ids)b::uuid[])"  # noqa: S608 - names of ours
    f" ORDER BY id FOR KEY SHARE) {table}"
    for table in ("memories", "facts")
)

# Locks those of them that nobody else holds, without waiting, and reads which of the ids are episodes and entities. A
# search of memories has locked nearly all that it found already, to write their scores.
_HELD_AT_ONCE = f"""{_HELD.replace("FOR KEY SHARE", "FOR KEY SHARE SKIP LOCKED")}
UNION ALL SELECT id FROM episodes WHERE user_id = %(user_id)s AND id = ANY(%(ids)b::uuid[])
UNION ALL SELECT id FROM entities WHERE user_id = %(user_id)s AND id = ANY(%(ids)b::uuid[])
"""  # noqa: S608 - all of it is written here
_STORED = """
SELECT id FROM memories WHERE user_id = %(user_id)s AND id = ANY(%(ids)b::uuid[])
UNION SELECT id FROM forgotten WHERE user_id = %(user_id)s AND id = ANY(%(ids)b::uuid[])
"""
_PLACE = "SELECT FROM conversations WHERE user_id = %(user_id)s AND id = %(id)s FOR KEY SHARE"

__all__ = ["hold", "hold_place", "record", "record_tool_call", "redact", "release_calls", "still_there"]


def redact(
    session: Session,
    memory_ids: Sequence[UUID],
    needles: Needles,
    conversation_ids: Sequence[UUID] = (),
    *,
    facts_of: UUID | None = None,
) -> int:
    """Blank every tool call that tells of one of the memories, and every cell of a notebook that says a text.

    Facts that say a text are deleted, with what calls tell of them, and so are all facts of the space `facts_of`. The
    conversations are those that the caller is about to delete: facts that were extracted from them are deleted too, and
    their calls are locked for `release_calls`. Returns how many calls were blanked.

    Works with the user whom the transaction is confined to; the caller commits. If there is a text to be found, this
    waits for everybody who is telling (`memory.redaction.telling`), and keeps others from it until then.
    """
    session.flush()
    calls = Calls(session, needles)
    if needles:
        calls.look([*memory_ids, *facts_saying(session, needles, facts_of, conversation_ids)])
        # Only after the first look: that goes through the whole record and may take long, and what was told meanwhile
        # is soon looked through. No call, notebook or fact is locked before: a teller may be waiting for one.
        wait_for_tellers(session)
        blank(session, needles)
    calls.look([*memory_ids, *drop_facts(session, needles, facts_of, conversation_ids)])
    return calls.blank(conversation_ids)


def release_calls(session: Session, conversation_ids: Sequence[UUID]) -> None:
    """Untie calls from conversations, and their messages, that are about to be deleted.

    The foreign keys would do so message by message, in an order of their own. Who blanks calls as well in the same
    transaction does that before, with the conversations.
    """
    session.execute(select(func.release_tool_calls(conversation_ids)))


def record(
    session: Session,
    user_id: UUID,
    action: str,
    *,
    actor: str,
    now: datetime,
    subject_id: UUID | None = None,
    count: int = 1,
    details: dict[str, Any] | None = None,
) -> None:
    """Append an audit event; `details` must hold ids and numbers, never a memory's text."""
    session.add(
        AuditEvent(
            user_id=user_id,
            action=action,
            actor=actor,
            subject_id=subject_id,
            count=count,
            details=details or {},
            created_at=now,
        )
    )


def hold_place(session: Session, user_id: UUID, conversation_id: UUID) -> None:
    """Keep a conversation, if it is there, from being removed until the transaction ends.

    To be called before `hold` and `still_there`: whoever removes a conversation locks it before memories, and a call
    that is recorded in it needs a lock of it.
    """
    fetch(session, _PLACE, {"user_id": user_id, "id": conversation_id})


def hold(session: Session, user_id: UUID, ids: Sequence[UUID]) -> bool:
    """Lock memories and facts so that none can be forgotten until the transaction ends; tell whether all are there."""
    held = fetch(session, _HELD, {"user_id": user_id, "ids": Ids(ids)}) if ids else ()
    return len(held) == len(set(ids))


def still_there(session: Session, user_id: UUID, ids: Sequence[UUID]) -> bool:
    """Tell whether all that a search found may still be told of, without waiting for whoever changes or forgets it.

    If so, whoever forgets any of it for good from now on finds what this transaction records. False where something is
    gone, and where it may be going at this moment.
    """
    held = fetch(session, _HELD_AT_ONCE, {"user_id": user_id, "ids": Ids(ids)}) if ids else ()
    left = set(ids).difference(each for (each,) in held)
    if not left:
        return True
    # What could not be locked is being changed, or was forgotten and can be brought back. It is looked for in a second
    # statement, after `may_tell`, so that it sees a forgetting which ended before this got the lock.
    return may_tell(session) and len(fetch(session, _STORED, {"user_id": user_id, "ids": Ids(left)})) == len(left)


def record_tool_call(session: Session, user_id: UUID, **fields: Any) -> UUID:
    """Append a tool call, `fields` being columns of it, and return its id. Its place in a conversation must exist."""
    call_id = new_id()
    values = {"user_id": user_id, "id": call_id, **fields}
    values |= {name: Jsonb(fields[name]) for name in _DOCUMENTS if name in fields}
    fetch(session, _append(tuple(values)), values)
    return call_id


@cache
def _append(columns: tuple[str, ...]) -> str:
    known = ", ".join(ToolCall.__table__.columns[name].name for name in columns)
    return f"INSERT INTO tool_calls ({known}) VALUES ({', '.join(f'%({name})s' for name in columns)})"  # noqa: S608 - names of ours
