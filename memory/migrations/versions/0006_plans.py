"""Indexes that keep plans right while a table is being filled and the planner knows nothing of it yet."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_VECTORS = ("embeddings", "episode_embeddings", "entity_embeddings")


def upgrade() -> None:
    op.create_index(
        "ix_memories_summaries", "memories", ["user_id", "space_id"], postgresql_where=sa.text("type = 'summary'")
    )
    op.create_index(
        "ix_memories_previous",
        "memories",
        ["user_id", "previous_id"],
        postgresql_where=sa.text("previous_id IS NOT NULL"),
    )
    # By user and model it was taken for looking up single rows: with unknown statistics it promised as few as the key.
    for table in _VECTORS:
        op.drop_index(f"ix_{table}_model", table_name=table)
        op.create_index(f"ix_{table}_model", table, ["model_id"])


def downgrade() -> None:
    for table in _VECTORS:
        op.drop_index(f"ix_{table}_model", table_name=table)
        op.create_index(f"ix_{table}_model", table, ["user_id", "model_id"])
    op.drop_index("ix_memories_previous", table_name="memories", postgresql_where=sa.text("previous_id IS NOT NULL"))
    op.drop_index("ix_memories_summaries", table_name="memories", postgresql_where=sa.text("type = 'summary'"))
