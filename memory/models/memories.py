"""Memories, what is derived from them, and what remains when they are forgotten."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ColumnElement,
    Computed,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    PrimaryKeyConstraint,
    SmallInteger,
    Text,
    or_,
)
from sqlalchemy import (
    text as sql,
)
from sqlalchemy.dialects.postgresql import JSONB, TSVECTOR
from sqlalchemy.orm import Mapped, mapped_column

from memory.ids import new_id
from memory.models.base import Base, Id, Moment, Owner, Words
from memory.models.shelves import HAS_SIGN

TYPES = ("preference", "fact", "instruction", "decision", "note", "summary", "other")
ROLES = ("user", "assistant", "system", "tool_call", "tool_result")
STATUSES = ("active", "superseded", "archived")


def one_of(column: str, allowed: tuple[str, ...]) -> CheckConstraint:
    """Return the constraint that a column holds one of a few words."""
    values = ", ".join(f"'{value}'" for value in allowed)
    return CheckConstraint(f"{column} IN ({values})", name=column)


def _band(number: int) -> Computed:
    # As `memory.texts.fingerprints.bands`: the most significant 16 bits first.
    # Stored columns rather than expression indexes: under row-level security a function that is not leakproof
    # may not be evaluated by an index.
    return Computed(f"((simhash >> {48 - 16 * number}) & 65535)::integer", persisted=True)


_HAS_MESSAGE = sql("source_message_id IS NOT NULL")
_BY_A_TOKEN = sql("token_id IS NOT NULL")
_HELD = sql("status = 'active' AND (pinned OR manually_saved)")
_UNENRICHED = sql("enriched_version IS DISTINCT FROM version")


class Memory(Base):
    """The atomic unit. `simhash` is unsigned 64-bit stored as a signed bigint; `version` counts text changes."""

    __tablename__ = "memories"
    __table_args__ = (
        ForeignKeyConstraint(["user_id", "space_id"], ["spaces.user_id", "spaces.id"], ondelete="CASCADE"),
        ForeignKeyConstraint(["user_id", "theme_id"], ["themes.user_id", "themes.id"], ondelete="SET NULL (theme_id)"),
        ForeignKeyConstraint(
            ["user_id", "supersedes"], ["memories.user_id", "memories.id"], ondelete="SET NULL (supersedes)"
        ),
        ForeignKeyConstraint(
            ["user_id", "source_message_id"],
            ["messages.user_id", "messages.id"],
            ondelete="SET NULL (source_message_id)",
        ),
        one_of("type", TYPES),
        one_of("role", ROLES),
        one_of("status", STATUSES),
        CheckConstraint("importance BETWEEN 0 AND 1", name="importance"),
        CheckConstraint("metadata_confidence BETWEEN 0 AND 1", name="metadata_confidence"),
        # The last line of defence against two writers of the same text; the space lock is the first.
        Index(
            "uq_memories_text",
            "user_id",
            "space_id",
            "text_digest",
            unique=True,
            postgresql_where=sql("status = 'active'"),
        ),
        *(
            Index(
                f"ix_memories_band{n}",
                "user_id",
                "space_id",
                f"band{n}",
                postgresql_where=sql("status = 'active'"),
            )
            for n in range(4)
        ),
        # The newest of those that share a template come first, so that a look-up stops after a few.
        Index(
            "ix_memories_template",
            "user_id",
            "space_id",
            "template_digest",
            "id",
            postgresql_where=sql("status = 'active' AND template_digest IS NOT NULL"),
        ),
        # What a space has is counted by the index alone. None of these changes without another index changing, too.
        Index(
            "ix_memories_order",
            "user_id",
            "space_id",
            "id",
            postgresql_include=[
                "status",
                "type",
                "version",
                "pinned",
                "manually_saved",
                "needs_embedding",
                "expires_at",
            ],
        ),
        Index("ix_memories_recent", "user_id", "created_at", "id"),
        Index("ix_memories_listing", "user_id", "space_id", "created_at", "id"),
        # A type that few memories have is not looked for in all of them.
        Index("ix_memories_type", "user_id", "type", "created_at", "id"),
        # Partial, as most memories have neither, and every index costs each write its share.
        Index(
            "ix_memories_theme",
            "user_id",
            "theme_id",
            "created_at",
            # Themes are shown with the number of active memories in each: counted by the index alone.
            postgresql_include=["status", "space_id"],
            postgresql_where=sql("theme_id IS NOT NULL"),
        ),
        Index("ix_memories_supersedes", "user_id", "supersedes", postgresql_where=sql("supersedes IS NOT NULL")),
        # A search looks here for what stands in for a long hit; every row is read otherwise, once for each long hit.
        Index("ix_memories_summaries", "user_id", "space_id", postgresql_where=sql("type = 'summary'")),
        # And here for the turn after one that it found.
        Index("ix_memories_previous", "user_id", "previous_id", postgresql_where=sql("previous_id IS NOT NULL")),
        Index("ix_memories_held", "user_id", "space_id", postgresql_where=_HELD),
        Index("ix_memories_waiting", "user_id", "created_at", postgresql_where=sql("needs_embedding")),
        # In the order of the list, and with what its pages leave out: what a token wrote is counted by the index alone.
        Index(
            "ix_memories_token_id",
            "user_id",
            "token_id",
            "created_at",
            "id",
            postgresql_include=["space_id", "expires_at"],
            postgresql_where=_BY_A_TOKEN,
        ),
        Index("ix_memories_message", "user_id", "source_message_id", postgresql_where=_HAS_MESSAGE),
        # Only a new text is new to the detectors: what they found stands until then.
        Index("ix_memories_unenriched", "user_id", "id", postgresql_where=_UNENRICHED),
        Index("ix_memories_expiry", "expires_at", postgresql_where=sql("expires_at IS NOT NULL")),
        # What has a tag, or was learned from a source: `memories_tagged` and `memories_from` ask here.
        *(
            Index(
                f"ix_memories_{column}",
                sql(f"user_words(user_id, {column})"),
                postgresql_using="gin",
                postgresql_where=sql(f"{column} <> '{{}}'"),
            )
            for column in ("tags", "source_ids")
        ),
    )

    # Reading the generated columns back would send every row's tsvector over the wire.
    __mapper_args__ = {"eager_defaults": False}  # noqa: RUF012 - SQLAlchemy declares it, as no class variable

    user_id: Mapped[Owner]
    id: Mapped[Id]
    space_id: Mapped[UUID]
    theme_id: Mapped[UUID | None]
    type: Mapped[str]
    role: Mapped[str]
    text: Mapped[str]
    text_digest: Mapped[bytes]
    template_digest: Mapped[bytes | None]
    version: Mapped[int] = mapped_column(server_default=sql("1"), default=1)
    tags: Mapped[Words]
    source_ids: Mapped[Words]
    source_message: Mapped[str | None]
    status: Mapped[str] = mapped_column(server_default="active", default="active")
    supersedes: Mapped[UUID | None]
    # What was stored just before it in the same sitting; no foreign key, as it may be forgotten at any time.
    previous_id: Mapped[UUID | None]
    simhash: Mapped[int] = mapped_column(BigInteger)
    band0: Mapped[int] = mapped_column(Integer, _band(0))
    band1: Mapped[int] = mapped_column(Integer, _band(1))
    band2: Mapped[int] = mapped_column(Integer, _band(2))
    band3: Mapped[int] = mapped_column(Integer, _band(3))
    repeat_count: Mapped[int] = mapped_column(server_default=sql("0"), default=0)
    importance: Mapped[float]
    metadata_confidence: Mapped[float | None]
    pinned: Mapped[bool] = mapped_column(server_default=sql("false"), default=False)
    manually_saved: Mapped[bool] = mapped_column(server_default=sql("false"), default=False)
    needs_embedding: Mapped[bool] = mapped_column(server_default=sql("true"), default=True)
    created_at: Mapped[Moment]
    updated_at: Mapped[Moment]
    expires_at: Mapped[Moment | None]
    tsv: Mapped[str] = mapped_column(
        TSVECTOR,
        Computed(
            "to_tsvector('english'::regconfig, in_words(text)) || "
            "to_tsvector('english'::regconfig, in_words(tags_text(tags)))",
            persisted=True,
        ),
        deferred=True,
    )
    # The message that it was said in, where that is kept here; `source_message` is the caller's own name for one.
    source_message_id: Mapped[UUID | None]
    # What detectors found, beside the tags that were given; `enriched_version` is the version that they saw.
    derived_tags: Mapped[Words]
    enriched_version: Mapped[int | None]
    # The token that it was first written by, None for whatever came otherwise; no foreign key, as with calls of tools:
    # it may be of another account, as that of a service, or of the account that an export was made of.
    token_id: Mapped[UUID | None]

    @classmethod
    def unexpired(cls, now: datetime) -> ColumnElement[bool]:
        """Return the condition that a memory has not expired: one that has is out of sight, purged or not."""
        return or_(cls.expires_at.is_(None), cls.expires_at > now)

    def has_expired(self, now: datetime) -> bool:
        """Tell whether this memory has expired, as `unexpired` asks of rows."""
        return self.expires_at is not None and self.expires_at <= now


class Posting(Base):
    """One lexeme of one active memory; `length` is the memory's number of lexeme occurrences. Kept by a trigger."""

    __tablename__ = "postings"
    __table_args__ = (
        # Covering, in the order of a lookup, so that scoring reads the index alone.
        PrimaryKeyConstraint("user_id", "space_id", "lexeme", "memory_id", postgresql_include=["tf", "length"]),
        Index("ix_postings_wholes", "user_id", "space_id", "lexeme", postgresql_where=HAS_SIGN),
    )

    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    space_id: Mapped[UUID]
    lexeme: Mapped[str] = mapped_column(Text(collation="C"))
    memory_id: Mapped[UUID]
    tf: Mapped[int] = mapped_column(SmallInteger)
    length: Mapped[int]


# What a score is made of, and their weighted sum.
SCORE_PARTS = ("relevance", "recency", "importance", "total")


class LastScore(Base):
    """The last tri-score of a memory, apart from the wide row because every search rewrites it."""

    __tablename__ = "last_scores"
    __table_args__ = (
        ForeignKeyConstraint(["user_id", "memory_id"], ["memories.user_id", "memories.id"], ondelete="CASCADE"),
    )

    user_id: Mapped[Owner]
    memory_id: Mapped[UUID] = mapped_column(primary_key=True)
    relevance: Mapped[float]
    recency: Mapped[float]
    importance: Mapped[float]
    total: Mapped[float]
    computed_at: Mapped[Moment]


class PossibleUpdate(Base):
    """Two near-duplicates that differ in something that matters, for the user to decide."""

    __tablename__ = "possible_updates"
    __table_args__ = (
        ForeignKeyConstraint(["user_id", "memory_id"], ["memories.user_id", "memories.id"], ondelete="CASCADE"),
        ForeignKeyConstraint(["user_id", "older_id"], ["memories.user_id", "memories.id"], ondelete="CASCADE"),
        Index("ix_possible_updates_older", "user_id", "older_id"),
    )

    user_id: Mapped[Owner]
    memory_id: Mapped[UUID] = mapped_column(primary_key=True)
    older_id: Mapped[UUID] = mapped_column(primary_key=True)
    differs_in: Mapped[str]
    created_at: Mapped[Moment]


class Tombstone(Base):
    """What forgetting leaves for 24 hours: keyed digests and the simhash, never the text."""

    __tablename__ = "tombstones"
    __table_args__ = (
        ForeignKeyConstraint(["user_id", "space_id"], ["spaces.user_id", "spaces.id"], ondelete="CASCADE"),
        Index("ix_tombstones_scope", "user_id", "space_id", "expires_at"),
    )

    user_id: Mapped[Owner]
    id: Mapped[Id]
    space_id: Mapped[UUID]
    memory_id: Mapped[UUID]
    digest: Mapped[bytes]
    marks_digest: Mapped[bytes]
    simhash: Mapped[int] = mapped_column(BigInteger)
    created_at: Mapped[Moment]
    expires_at: Mapped[Moment]


class Forgotten(Base):
    """A forgotten memory inside its undo window, outside every read path; gone for good at `purge_at`."""

    __tablename__ = "forgotten"
    __table_args__ = (Index("ix_forgotten_purge_at", "purge_at"),)

    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    id: Mapped[UUID] = mapped_column(primary_key=True, default=new_id)
    row: Mapped[dict[str, Any]] = mapped_column(JSONB)
    purge_at: Mapped[Moment]
