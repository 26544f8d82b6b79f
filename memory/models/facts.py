"""What is held to be true of somebody or something, and from when until when."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from memory.models.base import Base, Id, Moment, Owner

_HAS_MESSAGE = text("source_message_id IS NOT NULL")


class Fact(Base):
    """Subject, predicate and object, true from `valid_from` until `valid_until`; without the latter until now.

    The keys are what is compared. Of facts that are `single` one of a subject and predicate is true at a time. What was
    `extracted` a model has read out of a message, and nobody has stated or corrected it since.
    """

    __tablename__ = "facts"
    __table_args__ = (
        ForeignKeyConstraint(["user_id", "space_id"], ["spaces.user_id", "spaces.id"], ondelete="CASCADE"),
        ForeignKeyConstraint(
            ["user_id", "source_message_id"],
            ["messages.user_id", "messages.id"],
            ondelete="SET NULL (source_message_id)",
        ),
        CheckConstraint("confidence BETWEEN 0 AND 1", name="confidence"),
        CheckConstraint("valid_until >= valid_from", name="valid_until"),
        Index("ix_facts_subject", "user_id", "space_id", "subject_key", "predicate_key", "valid_from"),
        Index("ix_facts_recent", "user_id", "valid_from", "id"),
        Index("ix_facts_message", "user_id", "source_message_id", postgresql_where=_HAS_MESSAGE),
    )

    user_id: Mapped[Owner]
    id: Mapped[Id]
    space_id: Mapped[UUID]
    subject: Mapped[str]
    subject_key: Mapped[str]
    predicate: Mapped[str]
    predicate_key: Mapped[str]
    object: Mapped[str]
    object_key: Mapped[str]
    confidence: Mapped[float]
    single: Mapped[bool] = mapped_column(server_default=text("true"), default=True)
    extracted: Mapped[bool] = mapped_column(server_default=text("false"), default=False)
    source_message_id: Mapped[UUID | None]
    valid_from: Mapped[Moment]
    valid_until: Mapped[Moment | None]
    created_at: Mapped[Moment]
