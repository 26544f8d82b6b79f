"""Vectors of the passages of long texts, beside the one of the whole."""

import sqlalchemy as sa
from alembic import op
from pgvector.sqlalchemy import HALFVEC

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

# Vectors, the column of their items and of their scope; the items and what is embedded of each.
TABLES = (
    ("embeddings", "memory_id", "space_id", "memories", "m.text"),
    ("episode_embeddings", "item_id", "scope_id", "episodes", "m.searched"),
    ("entity_embeddings", "item_id", "scope_id", "entities", "concat_ws(': ', m.name, nullif(m.notes, ''))"),
)
# Long texts wait for vectors of their passages, and for all of them: a row either has its vectors or waits.
QUEUE = """
WITH long AS (
    UPDATE {items} m SET needs_embedding = true WHERE octet_length({text}) > 600 RETURNING m.user_id, m.id
)
UPDATE {vectors} x SET state = 'pending', vector = NULL, attempts = 0, error = NULL, due_at = now(), updated_at = now()
FROM long WHERE x.user_id = long.user_id AND x.{item} = long.id AND x.state = 'ready'
"""
PRESENT = sa.text("passages IS NOT NULL AND live")


def upgrade() -> None:
    for vectors, item, scope, items, text in TABLES:
        op.add_column(vectors, sa.Column("passages", sa.ARRAY(HALFVEC()), nullable=True))
        op.create_check_constraint("passages_follow_vector", vectors, "passages IS NULL OR vector IS NOT NULL")
        op.create_index(f"ix_{vectors}_passages", vectors, ["user_id", scope, "model_id"], postgresql_where=PRESENT)
        op.execute(QUEUE.format(vectors=vectors, item=item, items=items, text=text))


def downgrade() -> None:
    for vectors, *_ in TABLES:
        op.drop_index(f"ix_{vectors}_passages", table_name=vectors, postgresql_where=PRESENT)
        op.drop_constraint(op.f(f"ck_{vectors}_passages_follow_vector"), vectors)
        op.drop_column(vectors, "passages")
