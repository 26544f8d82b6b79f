"""Tables of the core: accounts, memories, vectors, journal."""

import sqlalchemy as sa
from alembic import op
from pgvector.sqlalchemy import HALFVEC
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


# array_to_string is only stable, as it may format any type; for text it is immutable, which a generated column needs.
TAGS_TEXT = """
CREATE FUNCTION tags_text(text[]) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN array_to_string($1, ' ')
"""


def upgrade() -> None:
    op.execute("CREATE EXTENSION IF NOT EXISTS vector")
    op.execute(TAGS_TEXT)
    op.create_table(
        "rate_counts",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("window_start", sa.DateTime(timezone=True), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("key", "window_start", name=op.f("pk_rate_counts")),
        prefixes=["UNLOGGED"],
    )
    op.create_table(
        "users",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("display_name", sa.Text(), nullable=False),
        sa.Column("password_hash", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), server_default="user", nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("disabled_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("role IN ('user', 'admin')", name=op.f("ck_users_role")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
        sa.UniqueConstraint("email", name=op.f("uq_users_email")),
    )
    op.create_table(
        "audit_events",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("subject_id", sa.Uuid(), nullable=True),
        sa.Column("count", sa.Integer(), server_default=sa.text("1"), nullable=False),
        sa.Column("details", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_audit_events_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "id", name=op.f("pk_audit_events")),
    )
    op.create_index("ix_audit_events_action", "audit_events", ["action", "created_at"], unique=False)
    op.create_index("ix_audit_events_time", "audit_events", ["user_id", "created_at"], unique=False)
    op.create_table(
        "embedding_models",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("provider_type", sa.Text(), nullable=False),
        sa.Column("endpoint_url", sa.Text(), nullable=True),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("api_key", sa.Text(), nullable=True),
        sa.Column("dimensions", sa.Integer(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("state IN ('active', 'building')", name=op.f("ck_embedding_models_state")),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_embedding_models_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", "id", name=op.f("pk_embedding_models")),
        sa.UniqueConstraint("user_id", "state", name=op.f("uq_embedding_models_user_id_state")),
    )
    op.create_table(
        "forgotten",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("row", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("purge_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_forgotten_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "id", name=op.f("pk_forgotten")),
    )
    op.create_index("ix_forgotten_purge_at", "forgotten", ["purge_at"], unique=False)
    op.create_table(
        "incognito_sessions",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("session_key", sa.Text(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=True),
        sa.Column("refused_writes", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_incognito_sessions_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", "session_key", name=op.f("pk_incognito_sessions")),
    )
    op.create_table(
        "postings",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("space_id", sa.Uuid(), nullable=False),
        sa.Column("lexeme", sa.Text(collation="C"), nullable=False),
        sa.Column("memory_id", sa.Uuid(), nullable=False),
        sa.Column("tf", sa.SmallInteger(), nullable=False),
        sa.Column("length", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_postings_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint(
            "user_id",
            "space_id",
            "lexeme",
            "memory_id",
            name=op.f("pk_postings"),
            postgresql_include=["tf", "length"],
        ),
    )
    op.create_table(
        "provider_settings",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("enabled", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("provider_type", sa.Text(), nullable=False),
        sa.Column("endpoint_url", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("api_key", sa.Text(), nullable=True),
        sa.Column("dimensions", sa.Integer(), nullable=True),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_provider_settings_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", name=op.f("pk_provider_settings")),
    )
    op.create_table(
        "spaces",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("memory_enabled", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("incognito_default", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("soft_cap", sa.Integer(), nullable=False),
        sa.Column("retention_days", sa.Integer(), server_default=sa.text("180"), nullable=False),
        sa.Column("policy", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("documents", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("tokens", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_spaces_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "id", name=op.f("pk_spaces")),
        sa.UniqueConstraint("user_id", "slug", name=op.f("uq_spaces_user_id_slug")),
    )
    op.create_table(
        "themes",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("display_name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), server_default="", nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_themes_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "id", name=op.f("pk_themes")),
        sa.UniqueConstraint("user_id", "slug", name=op.f("uq_themes_user_id_slug")),
    )
    op.create_table(
        "tool_calls",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("token_id", sa.Uuid(), nullable=True),
        sa.Column("correlation_id", sa.Text(), nullable=False),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column(
            "arguments",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'"),
            nullable=False,
        ),
        sa.Column("result", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("affected_ids", sa.ARRAY(sa.Uuid()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("hits", sa.Integer(), nullable=True),
        sa.Column("duration_ms", sa.Double(), nullable=False),
        sa.Column("success", sa.Boolean(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_tool_calls_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "id", name=op.f("pk_tool_calls")),
    )
    op.create_index("ix_tool_calls_affected", "tool_calls", ["affected_ids"], unique=False, postgresql_using="gin")
    op.create_index(
        "ix_tool_calls_latency",
        "tool_calls",
        ["tool", "created_at"],
        unique=False,
        postgresql_include=["duration_ms", "success", "hits"],
    )
    op.create_index("ix_tool_calls_time", "tool_calls", ["user_id", "created_at"], unique=False)
    op.create_index("ix_tool_calls_tool", "tool_calls", ["user_id", "tool", "created_at"], unique=False)
    op.create_table(
        "memories",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("space_id", sa.Uuid(), nullable=False),
        sa.Column("theme_id", sa.Uuid(), nullable=True),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("text_digest", sa.LargeBinary(), nullable=False),
        sa.Column("template_digest", sa.LargeBinary(), nullable=True),
        sa.Column("version", sa.Integer(), server_default=sa.text("1"), nullable=False),
        sa.Column("tags", sa.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("source_ids", sa.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("source_message", sa.Text(), nullable=True),
        sa.Column("status", sa.Text(), server_default="active", nullable=False),
        sa.Column("supersedes", sa.Uuid(), nullable=True),
        sa.Column("previous_id", sa.Uuid(), nullable=True),
        sa.Column("simhash", sa.BigInteger(), nullable=False),
        sa.Column(
            "band0",
            sa.Integer(),
            sa.Computed("((simhash >> 48) & 65535)::integer", persisted=True),
            nullable=False,
        ),
        sa.Column(
            "band1",
            sa.Integer(),
            sa.Computed("((simhash >> 32) & 65535)::integer", persisted=True),
            nullable=False,
        ),
        sa.Column(
            "band2",
            sa.Integer(),
            sa.Computed("((simhash >> 16) & 65535)::integer", persisted=True),
            nullable=False,
        ),
        sa.Column(
            "band3",
            sa.Integer(),
            sa.Computed("((simhash >> 0) & 65535)::integer", persisted=True),
            nullable=False,
        ),
        sa.Column("repeat_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("importance", sa.Double(), nullable=False),
        sa.Column("metadata_confidence", sa.Double(), nullable=True),
        sa.Column("pinned", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("manually_saved", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("needs_embedding", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column(
            "tsv",
            postgresql.TSVECTOR(),
            sa.Computed(
                "to_tsvector('english'::regconfig, text) || to_tsvector('english'::regconfig, tags_text(tags))",
                persisted=True,
            ),
            nullable=False,
        ),
        sa.CheckConstraint(
            "role IN ('user', 'assistant', 'system', 'tool_call', 'tool_result')",
            name=op.f("ck_memories_role"),
        ),
        sa.CheckConstraint("status IN ('active', 'superseded', 'archived')", name=op.f("ck_memories_status")),
        sa.CheckConstraint(
            "type IN ('preference', 'fact', 'instruction', 'decision', 'note', 'summary', 'other')",
            name=op.f("ck_memories_type"),
        ),
        sa.CheckConstraint("importance BETWEEN 0 AND 1", name=op.f("ck_memories_importance")),
        sa.CheckConstraint("metadata_confidence BETWEEN 0 AND 1", name=op.f("ck_memories_metadata_confidence")),
        sa.ForeignKeyConstraint(
            ["user_id", "space_id"],
            ["spaces.user_id", "spaces.id"],
            name=op.f("fk_memories_user_id_space_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["user_id", "supersedes"],
            ["memories.user_id", "memories.id"],
            name=op.f("fk_memories_user_id_supersedes"),
            ondelete="SET NULL (supersedes)",
        ),
        sa.ForeignKeyConstraint(
            ["user_id", "theme_id"],
            ["themes.user_id", "themes.id"],
            name=op.f("fk_memories_user_id_theme_id"),
            ondelete="SET NULL (theme_id)",
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_memories_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "id", name=op.f("pk_memories")),
    )
    op.create_index(
        "ix_memories_band0",
        "memories",
        ["user_id", "space_id", "band0"],
        unique=False,
        postgresql_where=sa.text("status = 'active'"),
    )
    op.create_index(
        "ix_memories_band1",
        "memories",
        ["user_id", "space_id", "band1"],
        unique=False,
        postgresql_where=sa.text("status = 'active'"),
    )
    op.create_index(
        "ix_memories_band2",
        "memories",
        ["user_id", "space_id", "band2"],
        unique=False,
        postgresql_where=sa.text("status = 'active'"),
    )
    op.create_index(
        "ix_memories_band3",
        "memories",
        ["user_id", "space_id", "band3"],
        unique=False,
        postgresql_where=sa.text("status = 'active'"),
    )
    op.create_index(
        "ix_memories_expiry",
        "memories",
        ["expires_at"],
        unique=False,
        postgresql_where=sa.text("expires_at IS NOT NULL"),
    )
    op.create_index("ix_memories_order", "memories", ["user_id", "space_id", "id"], unique=False)
    op.create_index("ix_memories_recent", "memories", ["user_id", "created_at", "id"], unique=False)
    op.create_index("ix_memories_listing", "memories", ["user_id", "space_id", "created_at", "id"], unique=False)
    op.create_index("ix_memories_supersedes", "memories", ["user_id", "supersedes"], unique=False)
    op.create_index(
        "ix_memories_template",
        "memories",
        ["user_id", "space_id", "template_digest", "id"],
        unique=False,
        postgresql_where=sa.text("status = 'active' AND template_digest IS NOT NULL"),
    )
    op.create_index("ix_memories_theme", "memories", ["user_id", "theme_id", "created_at"], unique=False)
    op.create_index("ix_memories_type", "memories", ["user_id", "type"], unique=False)
    op.create_index(
        "ix_memories_waiting",
        "memories",
        ["user_id", "created_at"],
        unique=False,
        postgresql_where=sa.text("needs_embedding"),
    )
    op.create_index(
        "uq_memories_text",
        "memories",
        ["user_id", "space_id", "text_digest"],
        unique=True,
        postgresql_where=sa.text("status = 'active'"),
    )
    op.create_table(
        "tokens",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("prefix", sa.Text(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("scopes", sa.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("space_id", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["user_id", "space_id"],
            ["spaces.user_id", "spaces.id"],
            name=op.f("fk_tokens_user_id_space_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_tokens_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "id", name=op.f("pk_tokens")),
    )
    op.create_index("ix_tokens_hash", "tokens", ["hash"], unique=True)
    op.create_table(
        "tombstones",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("space_id", sa.Uuid(), nullable=False),
        sa.Column("memory_id", sa.Uuid(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("marks_digest", sa.LargeBinary(), nullable=False),
        sa.Column("simhash", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id", "space_id"],
            ["spaces.user_id", "spaces.id"],
            name=op.f("fk_tombstones_user_id_space_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_tombstones_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "id", name=op.f("pk_tombstones")),
    )
    op.create_index("ix_tombstones_scope", "tombstones", ["user_id", "space_id", "expires_at"], unique=False)
    op.create_table(
        "embeddings",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("memory_id", sa.Uuid(), nullable=False),
        sa.Column("model_id", sa.Uuid(), nullable=False),
        sa.Column("space_id", sa.Uuid(), nullable=False),
        sa.Column("live", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        # After columns of fixed width alone: a scan finds it by one addition instead of walking each row.
        sa.Column("vector", HALFVEC(), nullable=True),
        sa.Column("state", sa.Text(), server_default="pending", nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("(state = 'ready') = (vector IS NOT NULL)", name=op.f("ck_embeddings_ready_has_vector")),
        sa.CheckConstraint("state IN ('pending', 'ready', 'error')", name=op.f("ck_embeddings_state")),
        sa.ForeignKeyConstraint(
            ["user_id", "memory_id"],
            ["memories.user_id", "memories.id"],
            name=op.f("fk_embeddings_user_id_memory_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["user_id", "model_id"],
            ["embedding_models.user_id", "embedding_models.id"],
            name=op.f("fk_embeddings_user_id_model_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_embeddings_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "memory_id", "model_id", name=op.f("pk_embeddings")),
    )
    op.create_index(
        "ix_embeddings_due",
        "embeddings",
        ["user_id", "due_at"],
        unique=False,
        postgresql_where=sa.text("state = 'pending'"),
    )
    op.create_index(
        "ix_embeddings_due_any",
        "embeddings",
        ["due_at"],
        unique=False,
        postgresql_where=sa.text("state = 'pending'"),
    )
    op.create_index("ix_embeddings_model", "embeddings", ["user_id", "model_id"], unique=False)
    op.create_index(
        "ix_embeddings_scan",
        "embeddings",
        ["user_id", "space_id", "model_id"],
        unique=False,
        postgresql_where=sa.text("vector IS NOT NULL AND live"),
    )
    op.create_table(
        "last_scores",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("memory_id", sa.Uuid(), nullable=False),
        sa.Column("relevance", sa.Double(), nullable=False),
        sa.Column("recency", sa.Double(), nullable=False),
        sa.Column("importance", sa.Double(), nullable=False),
        sa.Column("total", sa.Double(), nullable=False),
        sa.Column("computed_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id", "memory_id"],
            ["memories.user_id", "memories.id"],
            name=op.f("fk_last_scores_user_id_memory_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_last_scores_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "memory_id", name=op.f("pk_last_scores")),
    )
    op.create_table(
        "possible_updates",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("memory_id", sa.Uuid(), nullable=False),
        sa.Column("older_id", sa.Uuid(), nullable=False),
        sa.Column("differs_in", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id", "memory_id"],
            ["memories.user_id", "memories.id"],
            name=op.f("fk_possible_updates_user_id_memory_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["user_id", "older_id"],
            ["memories.user_id", "memories.id"],
            name=op.f("fk_possible_updates_user_id_older_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_possible_updates_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", "memory_id", "older_id", name=op.f("pk_possible_updates")),
    )
    op.create_index("ix_possible_updates_older", "possible_updates", ["user_id", "older_id"], unique=False)


def downgrade() -> None:
    op.drop_index("ix_possible_updates_older", table_name="possible_updates")
    op.drop_table("possible_updates")
    op.drop_table("last_scores")
    op.drop_index(
        "ix_embeddings_scan", table_name="embeddings", postgresql_where=sa.text("vector IS NOT NULL AND live")
    )
    op.drop_index("ix_embeddings_model", table_name="embeddings")
    op.drop_index("ix_embeddings_due_any", table_name="embeddings", postgresql_where=sa.text("state = 'pending'"))
    op.drop_index("ix_embeddings_due", table_name="embeddings", postgresql_where=sa.text("state = 'pending'"))
    op.drop_table("embeddings")
    op.drop_index("ix_tombstones_scope", table_name="tombstones")
    op.drop_table("tombstones")
    op.drop_index("ix_tokens_hash", table_name="tokens")
    op.drop_table("tokens")
    op.drop_index("uq_memories_text", table_name="memories", postgresql_where=sa.text("status = 'active'"))
    op.drop_index("ix_memories_waiting", table_name="memories", postgresql_where=sa.text("needs_embedding"))
    op.drop_index("ix_memories_type", table_name="memories")
    op.drop_index(
        "ix_memories_template",
        table_name="memories",
        postgresql_where=sa.text("status = 'active' AND template_digest IS NOT NULL"),
    )
    op.drop_index("ix_memories_theme", table_name="memories")
    op.drop_index("ix_memories_supersedes", table_name="memories")
    op.drop_index("ix_memories_listing", table_name="memories")
    op.drop_index("ix_memories_expiry", table_name="memories", postgresql_where=sa.text("expires_at IS NOT NULL"))
    op.drop_index("ix_memories_band3", table_name="memories", postgresql_where=sa.text("status = 'active'"))
    op.drop_index("ix_memories_band2", table_name="memories", postgresql_where=sa.text("status = 'active'"))
    op.drop_index("ix_memories_band1", table_name="memories", postgresql_where=sa.text("status = 'active'"))
    op.drop_index("ix_memories_band0", table_name="memories", postgresql_where=sa.text("status = 'active'"))
    op.drop_table("memories")
    op.drop_index("ix_tool_calls_tool", table_name="tool_calls")
    op.drop_index("ix_tool_calls_time", table_name="tool_calls")
    op.drop_index(
        "ix_tool_calls_latency",
        table_name="tool_calls",
        postgresql_include=["duration_ms", "success", "hits"],
    )
    op.drop_index("ix_tool_calls_affected", table_name="tool_calls", postgresql_using="gin")
    op.drop_table("tool_calls")
    op.drop_table("themes")
    op.drop_table("spaces")
    op.drop_table("provider_settings")
    op.drop_table("postings")
    op.drop_table("incognito_sessions")
    op.drop_index("ix_forgotten_purge_at", table_name="forgotten")
    op.drop_table("forgotten")
    op.drop_table("embedding_models")
    op.drop_index("ix_audit_events_time", table_name="audit_events")
    op.drop_index("ix_audit_events_action", table_name="audit_events")
    op.drop_table("audit_events")
    op.drop_table("users")
    op.drop_table("rate_counts")
    op.execute("DROP FUNCTION tags_text(text[])")
