"""What facts say, and the end of those that say what a forgotten memory said, or that go with where they came from."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Protocol
from uuid import UUID

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from memory.ids import among
from memory.models import Fact, Message
from memory.redaction.redaction import Secrets
from memory.storage.unsynchronised import run_unsynchronised
from memory.texts.needles import Needles

_AT_ONCE = 1000


class _Parts(Protocol):
    @property
    def subject(self) -> str: ...
    @property
    def predicate(self) -> str: ...
    @property
    def object(self) -> str: ...


def sentence(parts: _Parts) -> str:
    """Return a fact in a line, as a memory would say it."""
    return f"{parts.subject} {parts.predicate} {parts.object}"


def facts_saying(
    session: Session, needles: Needles, space_id: UUID | None, conversation_ids: Collection[UUID]
) -> Sequence[UUID]:
    """Return the facts that say one of the texts, those of the space `space_id`, and what conversations alone bear out.

    Works with the user whom the transaction is confined to, as `drop_facts` does.
    """
    return [*_saying(session, needles), *_within(session, space_id), *extracted_from(session, conversation_ids)]


def extracted_from(
    session: Session, conversation_ids: Collection[UUID], *, within: UUID | None = None
) -> Sequence[UUID]:
    """Return the facts that were read out of conversations, and that nobody has stated or corrected since.

    Of the user whom the transaction is confined to, and of the space `within`.
    """
    if not conversation_ids:
        return ()
    said = select(Message.id).where(
        Message.user_id == func.app_user(), among(Message.conversation_id, conversation_ids)
    )
    mine = (Fact.user_id == func.app_user(), Fact.extracted, Fact.source_message_id.in_(said))
    here = () if within is None else (Fact.space_id == within,)
    return session.scalars(select(Fact.id).where(*mine, *here)).all()


def drop_facts(
    session: Session, needles: Needles, space_id: UUID | None, conversation_ids: Collection[UUID]
) -> Sequence[UUID]:
    """Delete what `facts_saying` returns, and return it; the caller commits.

    Whoever states one meanwhile is waited for before, as `memory.redaction.telling` says.
    """
    session.flush()
    said = facts_saying(session, needles, space_id, conversation_ids)
    if said:
        found = (Fact.user_id == func.app_user(), among(Fact.id, said))
        # Locked in the order of their ids: two who forget at once may come to the same facts.
        session.execute(select(Fact.id).where(*found).order_by(Fact.id).with_for_update())
        run_unsynchronised(session, delete(Fact).where(*found))
    return said


def with_facts(session: Session, secrets: Secrets | None) -> Secrets | None:
    """Return secrets with the ids of the facts that say one: a call that stated a fact has its words apart."""
    return replace(secrets, ids=secrets.ids.union(_saying(session, secrets.needles))) if secrets else None


def _within(session: Session, space_id: UUID | None) -> Sequence[UUID]:
    if space_id is None:
        return ()
    return session.scalars(select(Fact.id).where(Fact.user_id == func.app_user(), Fact.space_id == space_id)).all()


def _saying(session: Session, needles: Needles) -> Sequence[UUID]:
    if not needles:
        return ()
    mine = select(Fact.id, Fact.subject, Fact.predicate, Fact.object).where(Fact.user_id == func.app_user())
    rows = session.execute(mine.execution_options(yield_per=_AT_ONCE))
    return [row.id for row in rows if needles.in_text(sentence(row))]
