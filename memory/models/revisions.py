"""What memories said before they were changed, and what was merged into them."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKeyConstraint
from sqlalchemy.orm import Mapped, mapped_column

from memory.models.base import Base, Moment, Owner, Words


class Revision(Base):
    """A version of a memory that another has replaced; `fields` are those in which the next one differs.

    `restored` is the number of the version that the next one brought back, where it is a restored one. A row goes
    with its memory.
    """

    __tablename__ = "revisions"
    __table_args__ = (
        ForeignKeyConstraint(["user_id", "memory_id"], ["memories.user_id", "memories.id"], ondelete="CASCADE"),
        CheckConstraint("number > 0", name="number"),
    )

    user_id: Mapped[Owner]
    memory_id: Mapped[UUID] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    text: Mapped[str]
    type: Mapped[str]
    tags: Mapped[Words]
    source_ids: Mapped[Words]
    theme: Mapped[str | None]
    importance: Mapped[float]
    fields: Mapped[Words]
    restored: Mapped[int | None]
    actor: Mapped[str]
    replaced_at: Mapped[Moment]


class Wording(Base):
    """A text that was merged into a memory as a near-duplicate, and when last. A row goes with its memory.

    `text_digest` is the same for texts that an exact repeat may be.
    """

    __tablename__ = "wordings"
    __table_args__ = (
        ForeignKeyConstraint(["user_id", "memory_id"], ["memories.user_id", "memories.id"], ondelete="CASCADE"),
    )

    user_id: Mapped[Owner]
    memory_id: Mapped[UUID] = mapped_column(primary_key=True)
    text_digest: Mapped[bytes] = mapped_column(primary_key=True)
    text: Mapped[str]
    said_at: Mapped[Moment]
