"""What every recall asks first, in one round trip: the space, the switch, the model."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import ColumnElement, Select, bindparam, select
from sqlalchemy.orm import Session

from memory.errors import InvalidError
from memory.models import EmbeddingModel, IncognitoSession, Space


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a session recalls: the space, whether the session is incognito there, and the model that serves."""

    space: Space
    incognito: bool
    model: EmbeddingModel | None


def _statement(place: ColumnElement[bool]) -> Select[Space, bool | None, EmbeddingModel]:
    return (
        select(Space, IncognitoSession.active, EmbeddingModel)
        .outerjoin(
            IncognitoSession,
            (IncognitoSession.user_id == Space.user_id) & (IncognitoSession.session_key == bindparam("session_key")),
        )
        .outerjoin(EmbeddingModel, (EmbeddingModel.user_id == Space.user_id) & (EmbeddingModel.state == "active"))
        .where(Space.user_id == bindparam("user_id"), place)
        .execution_options(populate_existing=True)
    )


# Put together once: every search runs one of them, and building it takes longer than running it.
_BY_SLUG = _statement(Space.slug == bindparam("place"))
_BY_ID = _statement(Space.id == bindparam("place"))


def read_scope(
    session: Session, user_id: UUID, session_key: str, *, slug: str | None = None, space_id: UUID | None = None
) -> Scope:
    """Return the scope of a space by its slug or its id; raises `InvalidError` on `space` when there is none."""
    statement, place = (_BY_SLUG, slug) if space_id is None else (_BY_ID, space_id)
    values = {"user_id": user_id, "session_key": session_key, "place": place}
    row = session.execute(statement, values).one_or_none()
    if row is None:
        raise InvalidError("space", f"there is no space {slug!r}")
    space, active, model = row
    return Scope(space, space.incognito_default if active is None else active, model)
