"""People, places and things that conversations and memories mention, and where they do."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import CheckConstraint, Computed, ForeignKeyConstraint, Index, UniqueConstraint
from sqlalchemy import text as sql
from sqlalchemy.dialects.postgresql import TSVECTOR
from sqlalchemy.orm import Mapped, mapped_column

from memory.models.base import Base, Id, Moment, Owner
from memory.models.shelves import PostingsByLexeme, Vectors


class Entity(Base):
    """What is named so, in the space where it was extracted; merged by `name_key`, type and space.

    `notes` are the sentences that mention it, the newest few, one a line: a trigger writes them from the mentions,
    so that what a forgotten memory said of it goes with the memory. What an archived or superseded memory says, or one
    that is to expire, does not stand in them, nor what was said in an archived conversation. `mentions` counts those in
    force. An entity without any is deleted.
    """

    __tablename__ = "entities"
    __table_args__ = (
        ForeignKeyConstraint(["user_id", "space_id"], ["spaces.user_id", "spaces.id"], ondelete="CASCADE"),
        UniqueConstraint("user_id", "space_id", "type", "name_key"),
        Index("ix_entities_waiting", "user_id", "created_at", postgresql_where=sql("needs_embedding")),
        Index("ix_entities_listing", "user_id", "space_id", "mentions", "id"),
    )

    __mapper_args__ = {"eager_defaults": False}  # noqa: RUF012 - SQLAlchemy declares it, as no class variable

    user_id: Mapped[Owner]
    id: Mapped[Id]
    space_id: Mapped[UUID]
    name: Mapped[str]
    name_key: Mapped[str]
    type: Mapped[str]
    notes: Mapped[str] = mapped_column(server_default="", default="")
    mentions: Mapped[int] = mapped_column(server_default=sql("0"), default=0)
    version: Mapped[int] = mapped_column(server_default=sql("1"), default=1)
    needs_embedding: Mapped[bool] = mapped_column(server_default=sql("true"), default=True)
    created_at: Mapped[Moment]
    updated_at: Mapped[Moment]
    tsv: Mapped[str] = mapped_column(
        TSVECTOR,
        Computed("to_tsvector('english'::regconfig, in_words(name || ' ' || type || ' ' || notes))", persisted=True),
        deferred=True,
    )


class EntityMention(Base):
    """One sentence that names an entity, with the episode or memory that it stands in.

    `live` tells whether it is in force, and `expires_at` until when: triggers copy both from the memory, and that a
    conversation is archived from there.
    """

    __tablename__ = "entity_mentions"
    __table_args__ = (
        ForeignKeyConstraint(["user_id", "entity_id"], ["entities.user_id", "entities.id"], ondelete="CASCADE"),
        ForeignKeyConstraint(["user_id", "episode_id"], ["episodes.user_id", "episodes.id"], ondelete="CASCADE"),
        ForeignKeyConstraint(["user_id", "memory_id"], ["memories.user_id", "memories.id"], ondelete="CASCADE"),
        CheckConstraint("num_nonnulls(episode_id, memory_id) = 1", name="one_origin"),
        CheckConstraint("confidence BETWEEN 0 AND 1", name="confidence"),
        Index("ix_entity_mentions_entity", "user_id", "entity_id", "id"),
        Index("ix_entity_mentions_episode", "user_id", "episode_id", postgresql_where=sql("episode_id IS NOT NULL")),
        Index("ix_entity_mentions_memory", "user_id", "memory_id", postgresql_where=sql("memory_id IS NOT NULL")),
    )

    user_id: Mapped[Owner]
    id: Mapped[Id]
    entity_id: Mapped[UUID]
    episode_id: Mapped[UUID | None]
    memory_id: Mapped[UUID | None]
    sentence: Mapped[str]
    confidence: Mapped[float]
    created_at: Mapped[Moment]
    live: Mapped[bool] = mapped_column(server_default=sql("true"), default=True)
    expires_at: Mapped[Moment | None]


class EntityPosting(PostingsByLexeme, Base):
    """One lexeme of one entity; the scope is its space. Kept by a trigger."""

    __tablename__ = "entity_postings"


class EntityEmbedding(Vectors, Base):
    """One vector per entity and model; the scope is its space."""

    __tablename__ = "entity_embeddings"
    __table_args__ = Vectors.arguments("entity")
