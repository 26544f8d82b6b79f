"""What is asked every minute, at a cost that does not grow with all that is stored or waits."""

from importlib import import_module

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

# From one user who has something waiting to the next, one look into the index for each: the worker asks before every
# batch, and to read all that waits each time took longer than the batch itself, the more so the more waited.
WAITING = """
    WITH RECURSIVE waiting AS (
        (SELECT w.user_id FROM {table} w WHERE {waits} ORDER BY w.user_id, w.id LIMIT 1)
        UNION ALL
        SELECT further.user_id FROM waiting CROSS JOIN LATERAL (
            SELECT w.user_id FROM {table} w WHERE {waits} AND w.user_id > waiting.user_id
            ORDER BY w.user_id, w.id LIMIT 1) further
    ) SELECT user_id FROM waiting"""
MEMORIES = WAITING.format(
    table="memories",
    waits="w.enriched_version IS DISTINCT FROM w.version AND (w.expires_at IS NULL OR w.expires_at > p_now)",
)
EPISODES = WAITING.format(table="episodes", waits="w.needs_enrichment")
UNENRICHED = f"""
CREATE FUNCTION users_with_unenriched_items(p_now timestamptz) RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    ({MEMORIES}) UNION ({EPISODES})
$$
"""
# What has expired is never read, and waits for nothing. Few have: they are counted apart, so that of the others, which
# may be very many, the index tells enough.
BACKLOG = """
CREATE FUNCTION enrichment_backlog(p_now timestamptz) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT (SELECT count(*) FROM memories m WHERE m.enriched_version IS DISTINCT FROM m.version)
         - (SELECT count(*) FROM memories m
            WHERE m.expires_at <= p_now AND m.enriched_version IS DISTINCT FROM m.version)
         + (SELECT count(*) FROM episodes e WHERE e.needs_enrichment)
$$
"""
# What was done since the start, up to a moment: to count it anew for each look took the longer the more there was.
# What is forgotten or erased later was done all the same.
COUNTED = """
CREATE FUNCTION counted_since(p_since timestamptz, p_until timestamptz) RETURNS TABLE (name text, total bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT a.action, sum(a.count)::bigint FROM audit_events a
    WHERE a.created_at >= p_since AND a.created_at < p_until GROUP BY a.action
    UNION ALL
    SELECT unnest(ARRAY['calls', 'failures']), unnest(ARRAY[count(*), count(*) FILTER (WHERE NOT c.success)])
    FROM tool_calls c WHERE c.created_at >= p_since AND c.created_at < p_until
$$
"""
# One at a time: whoever comes second finds all counted.
ADVANCE = """
CREATE FUNCTION advance_totals(p_until timestamptz) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    since timestamptz;
BEGIN
    SELECT counted_until INTO since FROM totals WHERE name = 'calls' FOR UPDATE;
    IF since < p_until THEN
        INSERT INTO totals AS t SELECT c.name, c.total, p_until FROM counted_since(since, p_until) c
        ON CONFLICT (name) DO UPDATE SET total = t.total + excluded.total;
        UPDATE totals SET counted_until = p_until;
    END IF;
END $$
"""
# As before, with the totals, and with indexes for all that is looked at.
TELEMETRY = """
CREATE OR REPLACE FUNCTION telemetry(p_now timestamptz) RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH waiting AS (
        SELECT count(*) AS number, min(m.updated_at) AS oldest FROM memories m
        WHERE m.needs_embedding AND m.status = 'active' AND NOT EXISTS (
            SELECT 1 FROM embeddings e WHERE e.user_id = m.user_id AND e.memory_id = m.id AND e.state = 'error')
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
        'embedding_errors', (SELECT count(*) FROM embeddings WHERE state = 'error'),
        'embed', (SELECT jsonb_build_object(
            'count', count(*),
            'p50', percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM updated_at - created_at)),
            'p95', percentile_cont(0.95) WITHIN GROUP (ORDER BY extract(epoch FROM updated_at - created_at)))
            FROM embeddings WHERE state = 'ready' AND updated_at > p_now - interval '1 hour'),
        'search', (SELECT jsonb_build_object(
            'count', count(*),
            'p50', percentile_cont(0.5) WITHIN GROUP (ORDER BY duration_ms / 1000),
            'p95', percentile_cont(0.95) WITHIN GROUP (ORDER BY duration_ms / 1000),
            'hit_rate', avg((hits > 0)::int))
            FROM tool_calls WHERE tool IN ('memory_search', 'query_memory') AND success AND hits IS NOT NULL
            AND created_at > p_now - interval '1 hour'),
        'tool_calls', (SELECT coalesce(sum(total), 0) FROM done WHERE name = 'calls'),
        'tool_failures', (SELECT coalesce(sum(total), 0) FROM done WHERE name = 'failures'),
        'actions', (SELECT coalesce(jsonb_object_agg(name, total), '{}') FROM done
            WHERE name NOT IN ('calls', 'failures')),
        'users', (SELECT count(*) FROM users),
        'memories', (SELECT count(*) FROM memories)
    )
$$
"""
# Spaces that may have something to archive: one look into each, by the ids, which tell when a memory came.
AGED = """
CREATE FUNCTION spaces_with_aged(p_now timestamptz) RETURNS TABLE (user_id uuid, space_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT s.user_id, s.id FROM spaces s
    CROSS JOIN LATERAL (SELECT p_now - make_interval(days => s.retention_days) AS since) kept
    CROSS JOIN LATERAL (
        SELECT FROM memories m
        WHERE m.user_id = s.user_id AND m.space_id = s.id AND m.id < (
                lpad(to_hex(greatest(0, extract(epoch FROM kept.since) * 1000)::bigint), 12, '0') || repeat('0', 20)
            )::uuid
          AND m.status = 'active' AND NOT m.pinned AND NOT m.manually_saved AND m.expires_at IS NULL
          AND m.type <> 'summary' AND m.updated_at < kept.since
        ORDER BY m.id LIMIT 1) aged
    WHERE s.retention_days > 0 AND s.memory_enabled
    ORDER BY s.user_id, s.id
$$
"""
# Whose vectors were given up on, are to be tried again, or rest with their model.
FAILED_OF = """
    UNION SELECT e.user_id FROM {vectors} e WHERE e.state = 'error'
    UNION SELECT e.user_id FROM {vectors} e WHERE e.state = 'pending' AND e.error IS NOT NULL"""
VECTORS = ("embeddings", "episode_embeddings", "entity_embeddings")
WITH_FAILED = f"""
CREATE FUNCTION users_with_failed_items() RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT m.user_id FROM embedding_models m WHERE m.rests_until IS NOT NULL
    {"".join(FAILED_OF.format(vectors=vectors) for vectors in VECTORS)}
$$
"""  # noqa: S608 - put together from what is written above alone
FAILED, MADE = sa.text("state = 'error'"), sa.text("state = 'ready'")
HELD = sa.text("status = 'active' AND (pinned OR manually_saved)")
THEME, THEMED = (
    ("ix_memories_theme", "memories", ["user_id", "theme_id", "created_at"]),
    sa.text("theme_id IS NOT NULL"),
)
NEW = (
    "users_with_unenriched_items(timestamptz)",
    "enrichment_backlog(timestamptz)",
    "advance_totals(timestamptz)",
    "spaces_with_aged(timestamptz)",
    "users_with_failed_items()",
)
COUNTING = "counted_since(timestamptz, timestamptz)"
# Of migrations before, and in their words again when this is taken back.
REPLACED = {
    "users_with_unenriched_items()": "0004_conversation_guards",
    "enrichment_backlog()": "0008_notes_in_force",
}


def upgrade() -> None:
    for name in REPLACED:
        op.execute(f"DROP FUNCTION {name}")
    op.create_table(
        "totals",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("total", sa.BigInteger(), nullable=False),
        sa.Column("counted_until", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_totals")),
    )
    op.execute("INSERT INTO totals VALUES ('calls', 0, '-infinity')")
    for table in VECTORS:
        op.create_index(f"ix_{table}_failed", table, ["user_id", "updated_at"], postgresql_where=FAILED)
    op.create_index("ix_embeddings_made", "embeddings", ["updated_at"], postgresql_where=MADE)
    op.create_index("ix_memories_type", "memories", ["user_id", "type", "created_at", "id"])
    op.drop_index("ix_memories_theme", table_name="memories", postgresql_where=THEMED)
    op.create_index(*THEME, postgresql_include=["status", "space_id"], postgresql_where=THEMED)
    op.create_index("ix_memories_held", "memories", ["user_id", "space_id"], postgresql_where=HELD)
    for function in (UNENRICHED, BACKLOG, COUNTED, ADVANCE, TELEMETRY, AGED, WITH_FAILED):
        op.execute(function)
    op.execute("SELECT advance_totals(now() - interval '1 hour')")
    for name in (*NEW, COUNTING):
        op.execute(f"REVOKE EXECUTE ON FUNCTION {name} FROM PUBLIC")


def downgrade() -> None:
    guards = import_module("memory.migrations.versions.0002_guards").ACROSS_USERS
    telemetry = next(each for each in guards if "FUNCTION telemetry(" in each)
    op.execute(telemetry.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"))
    for name in (*NEW, COUNTING):
        op.execute(f"DROP FUNCTION {name}")
    op.drop_index("ix_memories_theme", table_name="memories", postgresql_where=THEMED)
    op.create_index(*THEME, postgresql_where=THEMED)
    op.drop_index("ix_memories_type", table_name="memories")
    op.drop_index("ix_memories_held", table_name="memories", postgresql_where=HELD)
    op.drop_index("ix_embeddings_made", table_name="embeddings", postgresql_where=MADE)
    for table in VECTORS:
        op.drop_index(f"ix_{table}_failed", table_name=table, postgresql_where=FAILED)
    op.drop_table("totals")
    for name, where in REPLACED.items():
        before = import_module(f"memory.migrations.versions.{where}")
        functions = (*getattr(before, "ACROSS_USERS", ()), getattr(before, "BACKLOG", ""))
        op.execute(next(each for each in functions if f"FUNCTION {name}" in each))
        op.execute(f"REVOKE EXECUTE ON FUNCTION {name} FROM PUBLIC")
