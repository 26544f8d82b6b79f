"""Who owns memories, and how their notebooks are divided."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, ForeignKeyConstraint, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from memory.models.base import Base, Document, Id, Moment, Owner, Words


class User(Base):
    """The owner of everything else."""

    __tablename__ = "users"
    __table_args__ = (CheckConstraint("role IN ('user', 'admin')", name="role"),)

    id: Mapped[Id]
    email: Mapped[str] = mapped_column(unique=True)
    display_name: Mapped[str]
    password_hash: Mapped[str]
    role: Mapped[str] = mapped_column(server_default="user", default="user")
    created_at: Mapped[Moment]
    disabled_at: Mapped[Moment | None]


# The pool that every user has: whatever names no space is in it.
DEFAULT_SPACE = "default"


class Space(Base):
    """A namespace. `documents` and `tokens` count active memories and their words, kept by a trigger for BM25.

    After `retention_days` memories that nobody wanted are archived (`memory.writing.retention`); 0 keeps them for ever.
    With `roll_up` they are summed up before. With `extract_facts` a language model reads what is said here
    (`memory.extraction`).
    """

    __tablename__ = "spaces"
    __table_args__ = (
        UniqueConstraint("user_id", "slug"),
        Index("ix_spaces_extracting", "user_id", "id", postgresql_where=text("extract_facts")),
    )

    user_id: Mapped[Owner]
    id: Mapped[Id]
    slug: Mapped[str]
    name: Mapped[str]
    memory_enabled: Mapped[bool] = mapped_column(server_default=text("true"), default=True)
    incognito_default: Mapped[bool] = mapped_column(server_default=text("false"), default=False)
    soft_cap: Mapped[int]
    retention_days: Mapped[int] = mapped_column(server_default=text("180"), default=180)
    roll_up: Mapped[bool] = mapped_column(server_default=text("false"), default=False)
    extract_facts: Mapped[bool] = mapped_column(server_default=text("false"), default=False)
    policy: Mapped[Document]
    documents: Mapped[int] = mapped_column(BigInteger, server_default=text("0"), default=0)
    tokens: Mapped[int] = mapped_column(BigInteger, server_default=text("0"), default=0)
    created_at: Mapped[Moment]
    updated_at: Mapped[Moment]

    @property
    def is_full(self) -> bool:
        """Tell whether the next memory makes another go."""
        return self.documents >= self.soft_cap


class Share(Base):
    """Memories of a space that are found in another one as well: the active ones that have a tag."""

    __tablename__ = "shares"
    __table_args__ = (
        ForeignKeyConstraint(["user_id", "space_id"], ["spaces.user_id", "spaces.id"], ondelete="CASCADE"),
        ForeignKeyConstraint(["user_id", "found_in"], ["spaces.user_id", "spaces.id"], ondelete="CASCADE"),
        CheckConstraint("space_id <> found_in", name="apart"),
        Index("ix_shares_found_in", "user_id", "found_in"),
    )

    user_id: Mapped[Owner]
    space_id: Mapped[UUID] = mapped_column(primary_key=True)
    tag: Mapped[str] = mapped_column(primary_key=True)
    found_in: Mapped[UUID] = mapped_column(primary_key=True)
    created_at: Mapped[Moment]


class Theme(Base):
    """An optional grouping of one user's memories."""

    __tablename__ = "themes"
    __table_args__ = (UniqueConstraint("user_id", "slug"),)

    user_id: Mapped[Owner]
    id: Mapped[Id]
    slug: Mapped[str]
    display_name: Mapped[str]
    description: Mapped[str] = mapped_column(server_default="", default="")
    created_at: Mapped[Moment]
    updated_at: Mapped[Moment]


class Token(Base):
    """An agent's credential; only the hash of its secret is kept."""

    __tablename__ = "tokens"
    __table_args__ = (
        ForeignKeyConstraint(["user_id", "space_id"], ["spaces.user_id", "spaces.id"], ondelete="CASCADE"),
        Index("ix_tokens_hash", "hash", unique=True),
    )

    user_id: Mapped[Owner]
    id: Mapped[Id]
    name: Mapped[str]
    prefix: Mapped[str]
    hash: Mapped[bytes]
    scopes: Mapped[Words]
    space_id: Mapped[UUID | None]
    created_at: Mapped[Moment]
    expires_at: Mapped[Moment | None]
    last_used_at: Mapped[Moment | None]
    revoked_at: Mapped[Moment | None]

    def usable(self, now: datetime) -> bool:
        """Tell whether the token still opens anything."""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)
