"""Vectors and the models that make them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from pgvector.sqlalchemy import HALFVEC
from sqlalchemy import ARRAY, CheckConstraint, ForeignKeyConstraint, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from memory.models.base import Base, Id, Moment, Owner

PROVIDERS = ("local", "llamacpp", "ollama", "openai", "custom_http")


class ProviderSetting(Base):
    """The HTTP endpoint that a user chose; the key is encrypted."""

    __tablename__ = "provider_settings"

    user_id: Mapped[Owner]
    enabled: Mapped[bool] = mapped_column(server_default=text("true"), default=True)
    provider_type: Mapped[str]
    endpoint_url: Mapped[str]
    model: Mapped[str]
    api_key: Mapped[str | None]
    dimensions: Mapped[int | None]
    updated_at: Mapped[Moment]


class EmbeddingModel(Base):
    """A model that serves (`active`) or is being filled (`building`) for a user; at most one of each.

    `error` is what its provider said when it last failed at everything, `failures` by how many such failures those
    outweigh that went well since, and `rests_until` when it is asked again.
    """

    __tablename__ = "embedding_models"
    __table_args__ = (
        CheckConstraint("state IN ('active', 'building')", name="state"),
        UniqueConstraint("user_id", "state"),
    )

    user_id: Mapped[Owner]
    id: Mapped[Id]
    provider_type: Mapped[str]
    endpoint_url: Mapped[str | None]
    model: Mapped[str]
    api_key: Mapped[str | None]
    dimensions: Mapped[int | None]
    state: Mapped[str]
    created_at: Mapped[Moment]
    failures: Mapped[int] = mapped_column(server_default=text("0"), default=0)
    error: Mapped[str | None]
    rests_until: Mapped[Moment | None]


class Embedding(Base):
    """One vector per memory and model, in a narrow table of its own so that a scan reads little else.

    A long text also has one for each of its `passages`, in order (`memory.embedding.passages`).
    `live` mirrors `status = 'active'` and `space_id` the memory's space; a trigger keeps both.
    """

    __tablename__ = "embeddings"
    __table_args__ = (
        ForeignKeyConstraint(["user_id", "memory_id"], ["memories.user_id", "memories.id"], ondelete="CASCADE"),
        ForeignKeyConstraint(
            ["user_id", "model_id"], ["embedding_models.user_id", "embedding_models.id"], ondelete="CASCADE"
        ),
        CheckConstraint("state IN ('pending', 'ready', 'error')", name="state"),
        CheckConstraint("(state = 'ready') = (vector IS NOT NULL)", name="ready_has_vector"),
        CheckConstraint("passages IS NULL OR vector IS NOT NULL", name="passages_follow_vector"),
        Index(
            "ix_embeddings_scan",
            "user_id",
            "space_id",
            "model_id",
            postgresql_where=text("vector IS NOT NULL AND live"),
        ),
        Index(
            "ix_embeddings_passages",
            "user_id",
            "space_id",
            "model_id",
            postgresql_where=text("passages IS NOT NULL AND live"),
        ),
        Index("ix_embeddings_due", "model_id", "due_at", postgresql_where=text("state = 'pending'")),
        # Without the user, or the planner would take this small index for looking up rows by the whole key while it
        # knows nothing yet of a table that is being filled.
        Index("ix_embeddings_model", "model_id"),
        Index("ix_embeddings_failed", "user_id", "updated_at", postgresql_where=text("state = 'error'")),
        # How long those of the last hour took.
        Index("ix_embeddings_made", "updated_at", postgresql_where=text("state = 'ready'")),
    )

    user_id: Mapped[Owner]
    memory_id: Mapped[UUID] = mapped_column(primary_key=True)
    model_id: Mapped[UUID] = mapped_column(primary_key=True)
    space_id: Mapped[UUID]
    live: Mapped[bool] = mapped_column(server_default=text("true"), default=True)
    vector: Mapped[Any | None] = mapped_column(HALFVEC(), deferred=True)
    state: Mapped[str] = mapped_column(server_default="pending", default="pending")
    version: Mapped[int]
    attempts: Mapped[int] = mapped_column(server_default=text("0"), default=0)
    error: Mapped[str | None]
    due_at: Mapped[Moment]
    created_at: Mapped[Moment]
    updated_at: Mapped[Moment]
    passages: Mapped[list[Any] | None] = mapped_column(ARRAY(HALFVEC()), deferred=True)


class CachedEmbedding(Base):
    """A vector that was made before, by keyed digest of the text and fingerprint of the model, for seven days."""

    __tablename__ = "cached_embeddings"
    __table_args__ = (Index("ix_cached_embeddings_expiry", "expires_at"),)

    user_id: Mapped[Owner]
    model: Mapped[str] = mapped_column(primary_key=True)
    digest: Mapped[bytes] = mapped_column(primary_key=True)
    vector: Mapped[Any] = mapped_column(HALFVEC())
    expires_at: Mapped[Moment]
