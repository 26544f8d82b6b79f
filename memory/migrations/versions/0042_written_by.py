"""Which token a memory was first written by."""

import sqlalchemy as sa
from alembic import op

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None

# The record says it of each memory that a token made: an event names the token by how it begins. A token of the user,
# of now or of before, or a service that acted for them; where two began alike, nobody can tell.
WRITERS = """
CREATE TEMPORARY TABLE writers ON COMMIT DROP AS
WITH known AS (
    SELECT t.user_id, t.prefix, t.id, 'service' = ANY(t.scopes) AS serves FROM tokens t
    UNION
    SELECT a.user_id, a.details->>'prefix', a.subject_id, a.details->'scopes' @> '["service"]'
    FROM audit_events a WHERE a.action = 'token.created' AND a.subject_id IS NOT NULL
), made AS (
    SELECT a.user_id, substr(a.actor, 7) AS prefix, ids.id
    FROM audit_events a
    CROSS JOIN LATERAL (
        SELECT a.subject_id::text AS id WHERE a.subject_id IS NOT NULL
        UNION ALL SELECT jsonb_array_elements_text(a.details->'ids') WHERE a.subject_id IS NULL AND a.details ? 'ids'
    ) ids
    WHERE a.action = 'memory.created' AND a.actor LIKE 'token:%'
)
SELECT made.user_id, made.id::uuid AS memory_id, min(known.id::text)::uuid AS token_id
FROM made JOIN known ON known.prefix = made.prefix AND (known.user_id = made.user_id OR known.serves)
GROUP BY made.user_id, made.id HAVING count(DISTINCT known.id) = 1
"""
KEPT = """
UPDATE memories m SET token_id = w.token_id FROM writers w WHERE m.user_id = w.user_id AND m.id = w.memory_id
"""
# What can still be brought back comes back with it.
FORGOTTEN = """
UPDATE forgotten f SET row = f.row || jsonb_build_object('token_id', w.token_id)
FROM writers w WHERE f.user_id = w.user_id AND f.id = w.memory_id
"""


def upgrade() -> None:
    op.add_column("memories", sa.Column("token_id", sa.Uuid(), nullable=True))
    for statement in (WRITERS, "ANALYZE writers", KEPT, FORGOTTEN, "DROP TABLE writers"):
        op.execute(statement)
    op.create_index(
        "ix_memories_token_id",
        "memories",
        ["user_id", "token_id", "created_at", "id"],
        postgresql_include=["space_id", "expires_at"],
        postgresql_where=sa.text("token_id IS NOT NULL"),
    )


def downgrade() -> None:
    op.drop_index("ix_memories_token_id", "memories")
    op.drop_column("memories", "token_id")
    op.execute("UPDATE forgotten SET row = row - 'token_id' WHERE row ? 'token_id'")
