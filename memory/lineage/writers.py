"""Which tokens wrote memories: by what they are called, and how much each wrote."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from memory.models import Memory, Space, Token


def find_tokens(session: Session, user_id: UUID, ids: Collection[UUID | None]) -> Mapping[UUID | None, Token]:
    """Return by their ids the user's own tokens, closed ones too; what is another's, or gone, is not in it."""
    known = {each for each in ids if each is not None}
    if not known:
        return {}
    mine = select(Token).where(Token.user_id == user_id, Token.id.in_(known))
    return {token.id: token for token in session.scalars(mine)}


def count_written(
    session: Session, user_id: UUID, *, outside: Collection[str], now: datetime
) -> Mapping[UUID | None, int]:
    """Return how many memories, of any status, each token wrote first; those of the spaces `outside` do not count."""
    closed = select(Space.id).where(Space.user_id == user_id, Space.slug.in_(outside))
    # Asks only for columns that the index of tokens has, so that the memories themselves are not read.
    counted = select(Memory.token_id, func.count(Memory.token_id)).where(
        Memory.user_id == user_id, Memory.token_id.is_not(None), Memory.unexpired(now), Memory.space_id.not_in(closed)
    )
    return {row[0]: row[1] for row in session.execute(counted.group_by(Memory.token_id))}
