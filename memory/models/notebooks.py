"""Notebooks: working pages of cells, and the marks that their reader gave to answers."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy import ForeignKeyConstraint, Index
from sqlalchemy import text as sql
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from memory.models.base import Base, Document, Id, Moment, Owner
from memory.models.memories import one_of

KINDS = ("recall", "remember", "command", "note", "chart", "context")
# Asked for every minute: who has something to delete for good.
_REMOVED = sql("removed_at IS NOT NULL")


class Notebook(Base):
    """An ordered list of cells. While `removed_at` is set it is out of sight, and comes back until its undo ends."""

    __tablename__ = "notebooks"
    __table_args__ = (
        Index("ix_notebooks_recent", "user_id", "updated_at", "id"),
        Index("ix_notebooks_removed", "removed_at", postgresql_where=_REMOVED),
    )

    user_id: Mapped[Owner]
    id: Mapped[Id]
    title: Mapped[str]
    created_at: Mapped[Moment]
    updated_at: Mapped[Moment]
    removed_at: Mapped[Moment | None]


class Cell(Base):
    """One cell: what is asked (`input`) and what came of it last (`output`).

    The output holds ids, scores and numbers, never a memory's text: that is read when it is shown.
    """

    __tablename__ = "cells"
    __table_args__ = (
        ForeignKeyConstraint(["user_id", "notebook_id"], ["notebooks.user_id", "notebooks.id"], ondelete="CASCADE"),
        one_of("kind", KINDS),
        Index("ix_cells_order", "user_id", "notebook_id", "place"),
        Index("ix_cells_removed", "removed_at", postgresql_where=_REMOVED),
    )

    user_id: Mapped[Owner]
    id: Mapped[Id]
    notebook_id: Mapped[UUID]
    place: Mapped[int]
    kind: Mapped[str]
    input: Mapped[Document]
    output: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    duration_ms: Mapped[float | None]
    ran_at: Mapped[Moment | None]
    collapsed: Mapped[bool] = mapped_column(server_default=sql("false"), default=False)
    created_at: Mapped[Moment]
    updated_at: Mapped[Moment]
    removed_at: Mapped[Moment | None]


class RecallMark(Base):
    """The reader's word that this memory was the right answer to this question; evaluations may use it."""

    __tablename__ = "recall_marks"
    __table_args__ = (
        ForeignKeyConstraint(["user_id", "memory_id"], ["memories.user_id", "memories.id"], ondelete="CASCADE"),
    )

    user_id: Mapped[Owner]
    memory_id: Mapped[UUID] = mapped_column(primary_key=True)
    # SHA-256 of the question: a question may be longer than an index row.
    question_digest: Mapped[bytes] = mapped_column(primary_key=True)
    question: Mapped[str]
    created_at: Mapped[Moment]
