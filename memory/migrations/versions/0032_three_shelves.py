"""What waits for a vector, was given up on or has got one: memories, episodes and entities alike."""

from importlib import import_module

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None

# Items, the column that tells since when one waits, which are searched, and their vectors.
SHELVES = (
    ("memories", "m.updated_at", "m.status = 'active'", "embeddings", "memory_id"),
    ("episodes", "m.created_at", "true", "episode_embeddings", "item_id"),
    ("entities", "m.updated_at", "true", "entity_embeddings", "item_id"),
)
WAITING = " UNION ALL ".join(
    f"""
        SELECT {since} AS since FROM {items} m WHERE m.needs_embedding AND {live} AND NOT EXISTS (
            SELECT 1 FROM {vectors} e WHERE e.user_id = m.user_id AND e.{item} = m.id AND e.state = 'error')"""  # noqa: S608 - put together from what is written above alone
    for items, since, live, vectors, item in SHELVES
)
MADE = " UNION ALL ".join(
    f"""
        SELECT extract(epoch FROM updated_at - created_at) AS seconds FROM {vectors}
        WHERE state = 'ready' AND updated_at > p_now - interval '1 hour'"""  # noqa: S608 - as above
    for _, _, _, vectors, _ in SHELVES
)
GIVEN_UP = " + ".join(
    f"(SELECT count(*) FROM {vectors} WHERE state = 'error'{{when}})"  # noqa: S608 - as above
    for _, _, _, vectors, _ in SHELVES
)
LATELY = " AND updated_at > p_now - interval '1 hour'"
FAILED = f"""
CREATE OR REPLACE FUNCTION vectors_given_up(p_now timestamptz) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT {GIVEN_UP.format(when=LATELY)}
$$
"""
TELEMETRY = f"""
CREATE OR REPLACE FUNCTION telemetry(p_now timestamptz) RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH waiting AS (
        SELECT count(*) AS number, min(w.since) AS oldest FROM ({WAITING}) w
    ), done AS (
        SELECT d.name, sum(d.total) AS total FROM (
            SELECT t.name, t.total FROM totals t
            UNION ALL SELECT * FROM counted_since(
                (SELECT t.counted_until FROM totals t WHERE t.name = 'calls'), 'infinity')
        ) d GROUP BY d.name
    )
    SELECT jsonb_build_object(
        'embedding_backlog', (SELECT number FROM waiting),
        'embedding_backlog_age', (SELECT coalesce(extract(epoch FROM p_now - oldest), 0) FROM waiting),
        'embedding_errors', {GIVEN_UP.format(when="")},
        'embed', (SELECT jsonb_build_object(
            'count', count(*),
            'p50', percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds),
            'p95', percentile_cont(0.95) WITHIN GROUP (ORDER BY seconds))
            FROM ({MADE}) made),
        'search', (SELECT jsonb_build_object(
            'count', count(*),
            'p50', percentile_cont(0.5) WITHIN GROUP (ORDER BY duration_ms / 1000),
            'p95', percentile_cont(0.95) WITHIN GROUP (ORDER BY duration_ms / 1000),
            'hit_rate', avg((hits > 0)::int))
            FROM tool_calls WHERE tool IN ('memory_search', 'query_memory', 'memory_context') AND success
            AND hits IS NOT NULL AND created_at > p_now - interval '1 hour'),
        'tool_calls', (SELECT coalesce(sum(total), 0) FROM done WHERE name = 'calls'),
        'tool_failures', (SELECT coalesce(sum(total), 0) FROM done WHERE name = 'failures'),
        'actions', (SELECT coalesce(jsonb_object_agg(name, total), '{{}}') FROM done
            WHERE name NOT IN ('calls', 'failures')),
        'users', (SELECT count(*) FROM users),
        'memories', (SELECT count(*) FROM memories)
    )
$$
"""  # noqa: S608 - as above
# As `ix_embeddings_made`: how long those of the last hour took.
NEW_INDEXES = ("episode_embeddings", "entity_embeddings")


def upgrade() -> None:
    for table in NEW_INDEXES:
        op.create_index(f"ix_{table}_made", table, ["updated_at"], postgresql_where=sa.text("state = 'ready'"))
    op.execute(FAILED)
    op.execute(TELEMETRY)


def downgrade() -> None:
    op.execute(import_module("memory.migrations.versions.0016_growth").TELEMETRY)
    failed = import_module("memory.migrations.versions.0030_failed_vectors").FAILED
    op.execute(failed.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"))
    for table in NEW_INDEXES:
        op.drop_index(f"ix_{table}_made", table_name=table)
