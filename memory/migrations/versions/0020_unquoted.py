"""Statistics of the planner without what people wrote."""

from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

# ANALYZE copies the most common values of a column, and a hundred others, to where they stay until it comes by again:
# in a table that changes little, for months after the row was purged. All that people wrote, and what is made of it,
# but for what rows are found by: that is sampled anew.
WRITTEN = {
    "users": ("email", "display_name"),
    "tokens": ("name",),
    "spaces": ("slug", "name"),
    "themes": ("slug", "display_name", "description"),
    "preferences": ("document", "structured"),
    "memories": ("text", "source_message", "derived_tags", "tsv", "simhash"),
    "forgotten": ("row",),
    "revisions": ("text", "tags", "source_ids", "theme"),
    "embeddings": ("vector", "passages", "error"),
    "cached_embeddings": ("vector",),
    "conversations": ("external_id", "title", "metadata"),
    "messages": ("content", "payload", "client_id", "correlation_id"),
    "session_states": ("state",),
    "episodes": ("text", "searched", "tsv"),
    "episode_embeddings": ("vector", "passages", "error"),
    "entities": ("name", "name_key", "type", "notes", "tsv"),
    "entity_mentions": ("sentence",),
    "entity_embeddings": ("vector", "passages", "error"),
    "notebooks": ("title",),
    "cells": ("input", "output"),
    "recall_marks": ("question",),
    "tool_calls": ("arguments", "result", "error", "affected_paths", "correlation_id"),
}


def upgrade() -> None:
    _keep(0)
    for table, columns in WRITTEN.items():
        for column in columns:
            op.execute(f"SELECT pg_clear_attribute_stats('public', '{table}', '{column}', false)")


def downgrade() -> None:
    _keep(-1)


def _keep(target: int) -> None:
    for table, columns in WRITTEN.items():
        settings = ", ".join(f"ALTER COLUMN {column} SET STATISTICS {target}" for column in columns)
        op.execute(f"ALTER TABLE {table} {settings}")
