"""Tables of conversations, episodes, entities, preferences and the audit chain."""

import sqlalchemy as sa
from alembic import op
from pgvector.sqlalchemy import HALFVEC
from sqlalchemy.dialects import postgresql

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "audit_links",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("event_id", sa.Uuid(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_audit_links_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "sequence", name=op.f("pk_audit_links")),
    )
    op.create_index("uq_audit_links_event", "audit_links", ["user_id", "event_id"], unique=True)
    op.create_table(
        "cached_embeddings",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("vector", HALFVEC(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_cached_embeddings_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", "model", "digest", name=op.f("pk_cached_embeddings")),
    )
    op.create_index("ix_cached_embeddings_expiry", "cached_embeddings", ["expires_at"], unique=False)
    op.create_table(
        "entity_postings",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("lexeme", sa.Text(collation="C"), nullable=False),
        sa.Column("scope_id", sa.Uuid(), nullable=False),
        sa.Column("item_id", sa.Uuid(), nullable=False),
        sa.Column("tf", sa.SmallInteger(), nullable=False),
        sa.Column("length", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_entity_postings_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint(
            "user_id",
            "lexeme",
            "scope_id",
            "item_id",
            name=op.f("pk_entity_postings"),
            postgresql_include=["tf", "length"],
        ),
    )
    op.create_index(op.f("ix_entity_postings_user_id_item_id"), "entity_postings", ["user_id", "item_id"], unique=False)
    op.create_table(
        "episode_postings",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("lexeme", sa.Text(collation="C"), nullable=False),
        sa.Column("scope_id", sa.Uuid(), nullable=False),
        sa.Column("item_id", sa.Uuid(), nullable=False),
        sa.Column("tf", sa.SmallInteger(), nullable=False),
        sa.Column("length", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_episode_postings_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint(
            "user_id",
            "lexeme",
            "scope_id",
            "item_id",
            name=op.f("pk_episode_postings"),
            postgresql_include=["tf", "length"],
        ),
    )
    op.create_index(
        op.f("ix_episode_postings_user_id_item_id"), "episode_postings", ["user_id", "item_id"], unique=False
    )
    op.create_table(
        "preferences",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column(
            "structured", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False
        ),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("version > 0", name=op.f("ck_preferences_version")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_preferences_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "version", name=op.f("pk_preferences")),
    )
    op.create_table(
        "conversations",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("external_id", sa.Text(), nullable=False),
        sa.Column("space_id", sa.Uuid(), nullable=False),
        sa.Column("title", sa.Text(), server_default="", nullable=False),
        sa.Column("title_source", sa.Text(), server_default="auto", nullable=False),
        sa.Column("message_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("total_tokens", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("episodes", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("tokens_indexed", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("metadata", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("archived_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("title_source IN ('auto', 'user')", name=op.f("ck_conversations_title_source")),
        sa.ForeignKeyConstraint(
            ["user_id", "space_id"], ["spaces.user_id", "spaces.id"], name=op.f("fk_conversations_user_id_space_id")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_conversations_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "id", name=op.f("pk_conversations")),
        sa.UniqueConstraint(
            "user_id", "space_id", "external_id", name=op.f("uq_conversations_user_id_space_id_external_id")
        ),
    )
    op.create_index("ix_conversations_recent", "conversations", ["user_id", "updated_at", "id"], unique=False)
    op.create_index("ix_conversations_scope", "conversations", ["user_id", "space_id"], unique=False)
    op.create_table(
        "entities",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("space_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("name_key", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("notes", sa.Text(), server_default="", nullable=False),
        sa.Column("mentions", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("version", sa.Integer(), server_default=sa.text("1"), nullable=False),
        sa.Column("needs_embedding", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column(
            "tsv",
            postgresql.TSVECTOR(),
            sa.Computed("to_tsvector('english'::regconfig, name || ' ' || type || ' ' || notes)", persisted=True),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["user_id", "space_id"],
            ["spaces.user_id", "spaces.id"],
            name=op.f("fk_entities_user_id_space_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_entities_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "id", name=op.f("pk_entities")),
        sa.UniqueConstraint(
            "user_id", "space_id", "type", "name_key", name=op.f("uq_entities_user_id_space_id_type_name_key")
        ),
    )
    op.create_index("ix_entities_listing", "entities", ["user_id", "space_id", "mentions", "id"], unique=False)
    op.create_index(
        "ix_entities_waiting",
        "entities",
        ["user_id", "created_at"],
        unique=False,
        postgresql_where=sa.text("needs_embedding"),
    )
    op.create_table(
        "entity_embeddings",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("item_id", sa.Uuid(), nullable=False),
        sa.Column("model_id", sa.Uuid(), nullable=False),
        sa.Column("scope_id", sa.Uuid(), nullable=False),
        sa.Column("live", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("vector", HALFVEC(), nullable=True),
        sa.Column("state", sa.Text(), server_default="pending", nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "(state = 'ready') = (vector IS NOT NULL)", name=op.f("ck_entity_embeddings_ready_has_vector")
        ),
        sa.CheckConstraint("state IN ('pending', 'ready', 'error')", name=op.f("ck_entity_embeddings_state")),
        sa.ForeignKeyConstraint(
            ["user_id", "item_id"],
            ["entities.user_id", "entities.id"],
            name=op.f("fk_entity_embeddings_user_id_item_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["user_id", "model_id"],
            ["embedding_models.user_id", "embedding_models.id"],
            name=op.f("fk_entity_embeddings_user_id_model_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_entity_embeddings_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", "item_id", "model_id", name=op.f("pk_entity_embeddings")),
    )
    op.create_index(
        "ix_entity_embeddings_due",
        "entity_embeddings",
        ["user_id", "due_at"],
        unique=False,
        postgresql_where=sa.text("state = 'pending'"),
    )
    op.create_index(
        "ix_entity_embeddings_due_any",
        "entity_embeddings",
        ["due_at"],
        unique=False,
        postgresql_where=sa.text("state = 'pending'"),
    )
    op.create_index("ix_entity_embeddings_model", "entity_embeddings", ["user_id", "model_id"], unique=False)
    op.create_index(
        "ix_entity_embeddings_scan",
        "entity_embeddings",
        ["user_id", "scope_id", "model_id"],
        unique=False,
        postgresql_where=sa.text("vector IS NOT NULL AND live"),
    )
    op.create_table(
        "messages",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("conversation_id", sa.Uuid(), nullable=False),
        sa.Column("sequence", sa.Integer(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("client_id", sa.Text(), nullable=True),
        sa.Column("token_count", sa.Integer(), nullable=False),
        sa.Column("model", sa.Text(), nullable=True),
        sa.Column("correlation_id", sa.Text(), nullable=False),
        sa.Column("partial", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("recalled", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("payload", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("payload_format", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "role IN ('user', 'assistant', 'system', 'tool_call', 'tool_result')", name=op.f("ck_messages_role")
        ),
        sa.CheckConstraint(
            "payload_format IN ('pydantic_ai', 'openai', 'anthropic')", name=op.f("ck_messages_payload_format")
        ),
        sa.CheckConstraint("sequence > 0", name=op.f("ck_messages_sequence")),
        sa.ForeignKeyConstraint(
            ["user_id", "conversation_id"],
            ["conversations.user_id", "conversations.id"],
            name=op.f("fk_messages_user_id_conversation_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_messages_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "id", name=op.f("pk_messages")),
        sa.UniqueConstraint(
            "user_id", "conversation_id", "sequence", name=op.f("uq_messages_user_id_conversation_id_sequence")
        ),
    )
    op.create_index(
        "uq_messages_client_id",
        "messages",
        ["user_id", "conversation_id", "client_id"],
        unique=True,
        postgresql_where=sa.text("client_id IS NOT NULL"),
    )
    op.create_table(
        "session_states",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("conversation_id", sa.Uuid(), nullable=False),
        sa.Column("state", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id", "conversation_id"],
            ["conversations.user_id", "conversations.id"],
            name=op.f("fk_session_states_user_id_conversation_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_session_states_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "conversation_id", name=op.f("pk_session_states")),
        prefixes=["UNLOGGED"],
    )
    op.create_index("ix_session_states_expiry", "session_states", ["expires_at"], unique=False)
    op.create_table(
        "episodes",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("conversation_id", sa.Uuid(), nullable=False),
        sa.Column("message_id", sa.Uuid(), nullable=False),
        sa.Column("reply_id", sa.Uuid(), nullable=False),
        sa.Column("previous_id", sa.Uuid(), nullable=True),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("searched", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), server_default=sa.text("1"), nullable=False),
        sa.Column("needs_embedding", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("needs_enrichment", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column(
            "tsv",
            postgresql.TSVECTOR(),
            sa.Computed("to_tsvector('english'::regconfig, searched)", persisted=True),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["user_id", "conversation_id"],
            ["conversations.user_id", "conversations.id"],
            name=op.f("fk_episodes_user_id_conversation_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["user_id", "message_id"],
            ["messages.user_id", "messages.id"],
            name=op.f("fk_episodes_user_id_message_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["user_id", "reply_id"],
            ["messages.user_id", "messages.id"],
            name=op.f("fk_episodes_user_id_reply_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_episodes_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "id", name=op.f("pk_episodes")),
        sa.UniqueConstraint("user_id", "message_id", name=op.f("uq_episodes_user_id_message_id")),
    )
    op.create_index("ix_episodes_conversation", "episodes", ["user_id", "conversation_id", "id"], unique=False)
    op.create_index("ix_episodes_reply", "episodes", ["user_id", "reply_id"], unique=False)
    op.create_index(
        "ix_episodes_unenriched",
        "episodes",
        ["user_id", "id"],
        unique=False,
        postgresql_where=sa.text("needs_enrichment"),
    )
    op.create_index(
        "ix_episodes_waiting",
        "episodes",
        ["user_id", "created_at"],
        unique=False,
        postgresql_where=sa.text("needs_embedding"),
    )
    op.create_table(
        "entity_mentions",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("entity_id", sa.Uuid(), nullable=False),
        sa.Column("episode_id", sa.Uuid(), nullable=True),
        sa.Column("memory_id", sa.Uuid(), nullable=True),
        sa.Column("sentence", sa.Text(), nullable=False),
        sa.Column("confidence", sa.Double(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("confidence BETWEEN 0 AND 1", name=op.f("ck_entity_mentions_confidence")),
        sa.CheckConstraint("num_nonnulls(episode_id, memory_id) = 1", name=op.f("ck_entity_mentions_one_origin")),
        sa.ForeignKeyConstraint(
            ["user_id", "entity_id"],
            ["entities.user_id", "entities.id"],
            name=op.f("fk_entity_mentions_user_id_entity_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["user_id", "episode_id"],
            ["episodes.user_id", "episodes.id"],
            name=op.f("fk_entity_mentions_user_id_episode_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["user_id", "memory_id"],
            ["memories.user_id", "memories.id"],
            name=op.f("fk_entity_mentions_user_id_memory_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_entity_mentions_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "id", name=op.f("pk_entity_mentions")),
    )
    op.create_index("ix_entity_mentions_entity", "entity_mentions", ["user_id", "entity_id", "id"], unique=False)
    op.create_index(
        "ix_entity_mentions_episode",
        "entity_mentions",
        ["user_id", "episode_id"],
        unique=False,
        postgresql_where=sa.text("episode_id IS NOT NULL"),
    )
    op.create_index(
        "ix_entity_mentions_memory",
        "entity_mentions",
        ["user_id", "memory_id"],
        unique=False,
        postgresql_where=sa.text("memory_id IS NOT NULL"),
    )
    op.create_table(
        "episode_embeddings",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("item_id", sa.Uuid(), nullable=False),
        sa.Column("model_id", sa.Uuid(), nullable=False),
        sa.Column("scope_id", sa.Uuid(), nullable=False),
        sa.Column("live", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("vector", HALFVEC(), nullable=True),
        sa.Column("state", sa.Text(), server_default="pending", nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "(state = 'ready') = (vector IS NOT NULL)", name=op.f("ck_episode_embeddings_ready_has_vector")
        ),
        sa.CheckConstraint("state IN ('pending', 'ready', 'error')", name=op.f("ck_episode_embeddings_state")),
        sa.ForeignKeyConstraint(
            ["user_id", "item_id"],
            ["episodes.user_id", "episodes.id"],
            name=op.f("fk_episode_embeddings_user_id_item_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["user_id", "model_id"],
            ["embedding_models.user_id", "embedding_models.id"],
            name=op.f("fk_episode_embeddings_user_id_model_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_episode_embeddings_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", "item_id", "model_id", name=op.f("pk_episode_embeddings")),
    )
    op.create_index(
        "ix_episode_embeddings_due",
        "episode_embeddings",
        ["user_id", "due_at"],
        unique=False,
        postgresql_where=sa.text("state = 'pending'"),
    )
    op.create_index(
        "ix_episode_embeddings_due_any",
        "episode_embeddings",
        ["due_at"],
        unique=False,
        postgresql_where=sa.text("state = 'pending'"),
    )
    op.create_index("ix_episode_embeddings_model", "episode_embeddings", ["user_id", "model_id"], unique=False)
    op.create_index(
        "ix_episode_embeddings_scan",
        "episode_embeddings",
        ["user_id", "scope_id", "model_id"],
        unique=False,
        postgresql_where=sa.text("vector IS NOT NULL AND live"),
    )
    op.add_column("memories", sa.Column("source_message_id", sa.Uuid(), nullable=True))
    op.add_column(
        "memories", sa.Column("derived_tags", sa.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False)
    )
    op.add_column("memories", sa.Column("enriched_version", sa.Integer(), nullable=True))
    op.create_index(
        "ix_memories_message",
        "memories",
        ["user_id", "source_message_id"],
        unique=False,
        postgresql_where=sa.text("source_message_id IS NOT NULL"),
    )
    op.create_index(
        "ix_memories_unenriched",
        "memories",
        ["user_id", "id"],
        unique=False,
        postgresql_where=sa.text("enriched_version IS DISTINCT FROM version"),
    )
    op.create_foreign_key(
        op.f("fk_memories_user_id_source_message_id"),
        "memories",
        "messages",
        ["user_id", "source_message_id"],
        ["user_id", "id"],
        ondelete="SET NULL (source_message_id)",
    )
    op.add_column("tool_calls", sa.Column("origin", sa.Text(), server_default="server", nullable=False))
    op.create_check_constraint(op.f("ck_tool_calls_origin"), "tool_calls", "origin IN ('server', 'external')")
    op.add_column("tool_calls", sa.Column("operation", sa.Text(), nullable=True))
    op.add_column(
        "tool_calls", sa.Column("affected_paths", sa.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False)
    )
    op.add_column("tool_calls", sa.Column("conversation_id", sa.Uuid(), nullable=True))
    op.add_column("tool_calls", sa.Column("message_id", sa.Uuid(), nullable=True))
    op.add_column("tool_calls", sa.Column("query_hash", sa.Text(), nullable=True))
    op.create_index(
        "ix_tool_calls_conversation",
        "tool_calls",
        ["user_id", "conversation_id", "created_at"],
        unique=False,
        postgresql_where=sa.text("conversation_id IS NOT NULL"),
    )
    op.create_index(
        "ix_tool_calls_message",
        "tool_calls",
        ["user_id", "message_id"],
        unique=False,
        postgresql_where=sa.text("message_id IS NOT NULL"),
    )
    op.create_foreign_key(
        op.f("fk_tool_calls_user_id_message_id"),
        "tool_calls",
        "messages",
        ["user_id", "message_id"],
        ["user_id", "id"],
        ondelete="SET NULL (message_id)",
    )
    op.create_foreign_key(
        op.f("fk_tool_calls_user_id_conversation_id"),
        "tool_calls",
        "conversations",
        ["user_id", "conversation_id"],
        ["user_id", "id"],
        ondelete="SET NULL (conversation_id)",
    )
    # Every index costs each write its share: these are narrowed to the rows that they are for, or go.
    op.drop_index("ix_memories_type", table_name="memories")
    op.drop_index("ix_memories_theme", table_name="memories")
    op.drop_index("ix_memories_supersedes", table_name="memories")
    op.create_index(
        "ix_memories_theme",
        "memories",
        ["user_id", "theme_id", "created_at"],
        postgresql_where=sa.text("theme_id IS NOT NULL"),
    )
    op.create_index(
        "ix_memories_supersedes",
        "memories",
        ["user_id", "supersedes"],
        postgresql_where=sa.text("supersedes IS NOT NULL"),
    )


def downgrade() -> None:
    op.drop_index("ix_memories_supersedes", table_name="memories")
    op.drop_index("ix_memories_theme", table_name="memories")
    op.create_index("ix_memories_supersedes", "memories", ["user_id", "supersedes"])
    op.create_index("ix_memories_theme", "memories", ["user_id", "theme_id", "created_at"])
    op.create_index("ix_memories_type", "memories", ["user_id", "type"])
    op.drop_constraint(op.f("fk_tool_calls_user_id_conversation_id"), "tool_calls", type_="foreignkey")
    op.drop_constraint(op.f("fk_tool_calls_user_id_message_id"), "tool_calls", type_="foreignkey")
    op.drop_index("ix_tool_calls_message", table_name="tool_calls", postgresql_where=sa.text("message_id IS NOT NULL"))
    op.drop_index(
        "ix_tool_calls_conversation", table_name="tool_calls", postgresql_where=sa.text("conversation_id IS NOT NULL")
    )
    op.drop_column("tool_calls", "query_hash")
    op.drop_column("tool_calls", "message_id")
    op.drop_column("tool_calls", "conversation_id")
    op.drop_column("tool_calls", "affected_paths")
    op.drop_column("tool_calls", "operation")
    op.drop_column("tool_calls", "origin")
    op.drop_constraint(op.f("fk_memories_user_id_source_message_id"), "memories", type_="foreignkey")
    op.drop_index(
        "ix_memories_unenriched",
        table_name="memories",
        postgresql_where=sa.text("enriched_version IS DISTINCT FROM version"),
    )
    op.drop_index(
        "ix_memories_message", table_name="memories", postgresql_where=sa.text("source_message_id IS NOT NULL")
    )
    op.drop_column("memories", "enriched_version")
    op.drop_column("memories", "derived_tags")
    op.drop_column("memories", "source_message_id")
    op.drop_table("episode_embeddings")
    op.drop_table("entity_mentions")
    op.drop_table("episodes")
    op.drop_table("session_states")
    op.drop_table("messages")
    op.drop_table("entity_embeddings")
    op.drop_table("entities")
    op.drop_table("conversations")
    op.drop_table("preferences")
    op.drop_table("episode_postings")
    op.drop_table("entity_postings")
    op.drop_table("cached_embeddings")
    op.drop_table("audit_links")
