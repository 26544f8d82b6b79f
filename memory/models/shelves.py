"""The columns that every searchable kind of thing shares: its postings and its vectors."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from pgvector.sqlalchemy import HALFVEC
from sqlalchemy import (
    ARRAY,
    CheckConstraint,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    PrimaryKeyConstraint,
    SmallInteger,
    Text,
)
from sqlalchemy import text as sql
from sqlalchemy.orm import Mapped, declared_attr, mapped_column

from memory.models.base import Moment, Owner

# Addresses, paths and codes, in which a part is looked for.
HAS_SIGN = sql("lexeme ~ '[^[:alnum:]]'")


class PostingsByLexeme:
    """One lexeme of one item, by lexeme first: the scopes of a search are many and are looked up when it runs."""

    __tablename__: str

    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    lexeme: Mapped[str] = mapped_column(Text(collation="C"))
    scope_id: Mapped[UUID]
    item_id: Mapped[UUID]
    tf: Mapped[int] = mapped_column(SmallInteger)
    length: Mapped[int]

    @declared_attr.directive
    def __table_args__(cls) -> tuple[Any, ...]:  # noqa: N805 - SQLAlchemy calls it with the class
        # Covering, in the order of a look-up, so that scoring reads the index alone.
        key = PrimaryKeyConstraint("user_id", "lexeme", "scope_id", "item_id", postgresql_include=["tf", "length"])
        wholes = Index(f"ix_{cls.__tablename__}_wholes", "user_id", "scope_id", "lexeme", postgresql_where=HAS_SIGN)
        return (key, Index(None, "user_id", "item_id"), wholes)


class Vectors:
    """One vector per item and model; the vector follows the fixed columns, so that a scan reads little else.

    A long text also has one for each of its `passages`, in order (`memory.embedding.passages`).
    """

    user_id: Mapped[Owner]
    item_id: Mapped[UUID] = mapped_column(primary_key=True)
    model_id: Mapped[UUID] = mapped_column(primary_key=True)
    scope_id: Mapped[UUID]
    live: Mapped[bool] = mapped_column(server_default=sql("true"), default=True)
    vector: Mapped[Any | None] = mapped_column(HALFVEC(), deferred=True)
    state: Mapped[str] = mapped_column(server_default="pending", default="pending")
    version: Mapped[int]
    attempts: Mapped[int] = mapped_column(server_default=sql("0"), default=0)
    error: Mapped[str | None]
    due_at: Mapped[Moment]
    created_at: Mapped[Moment]
    updated_at: Mapped[Moment]
    passages: Mapped[list[Any] | None] = mapped_column(ARRAY(HALFVEC()), deferred=True)

    @staticmethod
    def arguments(kind: str) -> tuple[Any, ...]:
        """Return constraints and indexes of the vectors of one kind of item."""
        table, items = f"{kind}_embeddings", {"episode": "episodes", "entity": "entities"}[kind]
        waiting = sql("state = 'pending'")
        models = ["embedding_models.user_id", "embedding_models.id"]
        return (
            ForeignKeyConstraint(["user_id", "item_id"], [f"{items}.user_id", f"{items}.id"], ondelete="CASCADE"),
            ForeignKeyConstraint(["user_id", "model_id"], models, ondelete="CASCADE"),
            CheckConstraint("state IN ('pending', 'ready', 'error')", name="state"),
            CheckConstraint("(state = 'ready') = (vector IS NOT NULL)", name="ready_has_vector"),
            CheckConstraint("passages IS NULL OR vector IS NOT NULL", name="passages_follow_vector"),
            Index(
                f"ix_{table}_scan",
                "user_id",
                "scope_id",
                "model_id",
                postgresql_where=sql("vector IS NOT NULL AND live"),
            ),
            Index(
                f"ix_{table}_passages",
                "user_id",
                "scope_id",
                "model_id",
                postgresql_where=sql("passages IS NOT NULL AND live"),
            ),
            Index(f"ix_{table}_due", "model_id", "due_at", postgresql_where=waiting),
            Index(f"ix_{table}_model", "model_id"),
            Index(f"ix_{table}_failed", "user_id", "updated_at", postgresql_where=sql("state = 'error'")),
            # How long those of the last hour took.
            Index(f"ix_{table}_made", "updated_at", postgresql_where=sql("state = 'ready'")),
        )
