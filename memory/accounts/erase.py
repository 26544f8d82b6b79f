"""Erasing a user: every row of theirs, and a signed report of how many there were of each kind."""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.errors import DeadlockDetected
from sqlalchemy import Engine, Table, delete, func, select
from sqlalchemy.engine import CursorResult
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from memory.accounts.roles import hold_to_erase
from memory.conversations.session_state import drop_states
from memory.embedding.cache import drop_cached
from memory.errors import ConflictError
from memory.keys import Keys
from memory.models import Base, Conversation, EmbeddingModel, Forgotten, Memory, RateCount, Revision, Token, User
from memory.spaces.spaces import lock_spaces

FORMAT = "commonplace-erasure"
VERSION = 1
_PURPOSE = "erasure report"
_ATTEMPTS = 5

Report = dict[str, Any]


def erase_user(session: Session, user_id: UUID, *, keys: Keys, now: datetime) -> Report:
    """Delete every row of a user, and return the signed report; needs the owner's connection.

    The report holds the address and id of the user, when it was done, `deleted` (rows per kind) and `left`, which is
    0: if a row were left, `ConflictError` is raised and nothing is deleted. The caller commits. Raises
    `NotFoundError` when there is no such user, `ConflictError` for the last admin while anybody else has an account.
    """
    # In the order of those who write, who would be waited for while they wait: the token, the space, the conversations,
    # the models, the memories, what is forgotten, then the user.
    session.execute(select(Token.id).where(Token.user_id == user_id).order_by(Token.id).with_for_update())
    lock_spaces(session, user_id)
    talks = select(Conversation.id).where(Conversation.user_id == user_id).order_by(Conversation.id)
    session.execute(talks.with_for_update())
    # The embedder holds the model before it comes to the items. Whoever queues items holds them first and the model
    # after, so this takes a lock that theirs does not wait for.
    models = select(EmbeddingModel.id).where(EmbeddingModel.user_id == user_id).order_by(EmbeddingModel.id)
    session.execute(models.with_for_update(key_share=True))
    # Searches hold the memories whose scores they write.
    session.execute(select(Memory.id).where(Memory.user_id == user_id).order_by(Memory.id).with_for_update())
    # A purge holds forgotten rows before it comes to the calls and cached vectors that tell of them.
    session.execute(select(Forgotten.id).where(Forgotten.user_id == user_id).order_by(Forgotten.id).with_for_update())
    email = hold_to_erase(session, user_id).email
    _drop_copies(session, user_id, keys)
    deleted = {table.name: _delete(session, table, user_id) for table in _owned()}
    session.execute(delete(RateCount).where(RateCount.key.endswith(str(user_id), autoescape=True)))
    session.expunge_all()
    session.execute(delete(User).where(User.id == user_id))
    deleted["users"] = 1
    left = sum(_count(session, table, user_id) for table in _owned())
    if left:
        raise ConflictError(f"{left} rows could not be deleted; nothing was changed")
    report = {
        "format": FORMAT,
        "version": VERSION,
        "user_id": str(user_id),
        "email": email,
        "erased_at": now.isoformat(),
        "deleted": {name: number for name, number in sorted(deleted.items()) if number},
        "left": left,
    }
    return {**report, "signature": _signature(report, keys)}


def erase_for_good(owner: Engine, user_id: UUID, *, keys: Keys, now: datetime) -> Report:
    """Do what `erase_user` does in a transaction of its own, and again where that ended in a deadlock."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return _erase(owner, user_id, keys, now)
        except OperationalError as error:
            if not isinstance(error.orig, DeadlockDetected):
                raise
            # The other side of the deadlock goes on now, and the next attempt waits for it.
    return _erase(owner, user_id, keys, now)


def _erase(owner: Engine, user_id: UUID, keys: Keys, now: datetime) -> Report:
    with Session(owner) as session, session.begin():
        return erase_user(session, user_id, keys=keys, now=now)


def is_genuine(report: Mapping[str, Any], keys: Keys) -> bool:
    """Tell whether this installation has signed exactly this report."""
    said = {name: value for name, value in report.items() if name != "signature"}
    signature = report.get("signature")
    if not isinstance(signature, str) or not signature.isascii():
        return False
    return report.get("format") == FORMAT and hmac.compare_digest(_signature(said, keys), signature)


def _signature(report: Mapping[str, Any], keys: Keys) -> str:
    return keys.digest(_PURPOSE, json.dumps(report, sort_keys=True, separators=(",", ":"))).hex()


def _owned() -> list[Table]:
    """Return the user's tables, those that point at others first; keyword indexes before all that they index."""
    owned = [table for table in reversed(Base.metadata.sorted_tables) if "user_id" in table.columns]
    return sorted(owned, key=lambda table: not table.name.endswith("postings"))


def _delete(session: Session, table: Table, user_id: UUID) -> int:
    done = session.execute(delete(table).where(table.c.user_id == user_id))
    assert isinstance(done, CursorResult)
    return done.rowcount


def _count(session: Session, table: Table, user_id: UUID) -> int:
    return session.scalar(select(func.count()).select_from(table).where(table.c.user_id == user_id)) or 0


def _drop_copies(session: Session, user_id: UUID, keys: Keys) -> None:
    """Drop what lies outside the database when the transaction commits."""
    texts = session.scalars(select(Memory.text).where(Memory.user_id == user_id)).all()
    before = session.scalars(select(Revision.text).where(Revision.user_id == user_id).distinct()).all()
    drop_cached(session, user_id, [*texts, *before], keys)
    drop_states(session, user_id, session.scalars(select(Conversation.id).where(Conversation.user_id == user_id)).all())
