"""Row-level security, the trigger that keeps the keyword index, and the few functions that look across users."""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

OWNED = (
    "audit_events",
    "embedding_models",
    "embeddings",
    "forgotten",
    "incognito_sessions",
    "last_scores",
    "memories",
    "possible_updates",
    "postings",
    "provider_settings",
    "spaces",
    "themes",
    "tokens",
    "tombstones",
    "tool_calls",
)

APP_USER = """
CREATE FUNCTION app_user() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
RETURN nullif(current_setting('app.user_id', true), '')::uuid
"""

# One statement per change of many rows: a batch of a thousand costs three statements, not thousands.
# The keyword index holds active memories only. A changed row is taken out whole and put in again whole.
INDEX_INSERTED = """
CREATE FUNCTION index_inserted_memories() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    WITH added AS (
        INSERT INTO postings (user_id, space_id, lexeme, memory_id, tf, length)
        SELECT m.user_id, m.space_id, t.lexeme, m.id, cardinality(t.positions),
               sum(cardinality(t.positions)) OVER (PARTITION BY m.user_id, m.id)
        FROM new_rows m, unnest(m.tsv) t
        WHERE m.status = 'active'
        RETURNING user_id, space_id, tf
    ), counted AS (
        SELECT user_id, space_id, sum(tf) AS tokens, 0 AS documents FROM added GROUP BY user_id, space_id
        UNION ALL
        SELECT user_id, space_id, 0, count(*) FROM new_rows WHERE status = 'active' GROUP BY user_id, space_id
    ), summed AS (
        SELECT user_id, space_id, sum(tokens) AS tokens, sum(documents) AS documents
        FROM counted GROUP BY user_id, space_id
    )
    UPDATE spaces s SET documents = s.documents + c.documents, tokens = s.tokens + c.tokens
    FROM summed c WHERE s.user_id = c.user_id AND s.id = c.space_id;
    RETURN NULL;
END $$
"""

INDEX_DELETED = """
CREATE FUNCTION index_deleted_memories() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    WITH removed AS (
        DELETE FROM postings p USING old_rows m, unnest(m.tsv) t
        WHERE m.status = 'active' AND p.user_id = m.user_id AND p.space_id = m.space_id
          AND p.lexeme = t.lexeme AND p.memory_id = m.id
        RETURNING p.user_id, p.space_id, p.tf
    ), counted AS (
        SELECT user_id, space_id, sum(tf) AS tokens, 0 AS documents FROM removed GROUP BY user_id, space_id
        UNION ALL
        SELECT user_id, space_id, 0, count(*) FROM old_rows WHERE status = 'active' GROUP BY user_id, space_id
    ), summed AS (
        SELECT user_id, space_id, sum(tokens) AS tokens, sum(documents) AS documents
        FROM counted GROUP BY user_id, space_id
    )
    UPDATE spaces s SET documents = s.documents - c.documents, tokens = s.tokens - c.tokens
    FROM summed c WHERE s.user_id = c.user_id AND s.id = c.space_id;
    RETURN NULL;
END $$
"""

INDEX_UPDATED = """
CREATE FUNCTION index_updated_memories() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT 1 FROM old_rows o JOIN new_rows n USING (user_id, id)
        WHERE (o.tsv, o.space_id, o.status) IS DISTINCT FROM (n.tsv, n.space_id, n.status)
    ) THEN
        RETURN NULL;
    END IF;
    WITH changed AS (
        SELECT n.user_id, n.id, o.tsv AS old_tsv, n.tsv AS new_tsv, o.space_id AS old_space, n.space_id AS new_space,
               o.status = 'active' AS was_active, n.status = 'active' AS is_active
        FROM old_rows o JOIN new_rows n USING (user_id, id)
        WHERE (o.tsv, o.space_id, o.status) IS DISTINCT FROM (n.tsv, n.space_id, n.status)
    ), removed AS (
        SELECT c.user_id, c.old_space AS space_id, c.id, -sum(cardinality(t.positions)) AS tokens, -1 AS documents
        FROM changed c LEFT JOIN unnest(c.old_tsv) t ON true WHERE c.was_active
        GROUP BY c.user_id, c.old_space, c.id
    ), added AS (
        SELECT c.user_id, c.new_space AS space_id, c.id, sum(cardinality(t.positions)) AS tokens, 1 AS documents
        FROM changed c LEFT JOIN unnest(c.new_tsv) t ON true WHERE c.is_active
        GROUP BY c.user_id, c.new_space, c.id
    ), summed AS (
        SELECT user_id, space_id, coalesce(sum(tokens), 0) AS tokens, sum(documents) AS documents
        FROM (SELECT * FROM removed UNION ALL SELECT * FROM added) both_ways GROUP BY user_id, space_id
    )
    UPDATE spaces s SET documents = s.documents + c.documents, tokens = s.tokens + c.tokens
    FROM summed c WHERE s.user_id = c.user_id AND s.id = c.space_id;

    DELETE FROM postings p USING old_rows o, new_rows n, unnest(o.tsv) t
    WHERE o.user_id = n.user_id AND o.id = n.id AND o.status = 'active'
      AND (o.tsv, o.space_id, o.status) IS DISTINCT FROM (n.tsv, n.space_id, n.status)
      AND p.user_id = o.user_id AND p.space_id = o.space_id AND p.lexeme = t.lexeme AND p.memory_id = o.id;

    INSERT INTO postings (user_id, space_id, lexeme, memory_id, tf, length)
    SELECT n.user_id, n.space_id, t.lexeme, n.id, cardinality(t.positions),
           sum(cardinality(t.positions)) OVER (PARTITION BY n.user_id, n.id)
    FROM old_rows o JOIN new_rows n USING (user_id, id), unnest(n.tsv) t
    WHERE n.status = 'active'
      AND (o.tsv, o.space_id, o.status) IS DISTINCT FROM (n.tsv, n.space_id, n.status);

    UPDATE embeddings e SET live = (n.status = 'active'), space_id = n.space_id
    FROM old_rows o JOIN new_rows n USING (user_id, id)
    WHERE e.user_id = n.user_id AND e.memory_id = n.id
      AND (o.space_id, o.status) IS DISTINCT FROM (n.space_id, n.status);
    RETURN NULL;
END $$
"""

TRIGGERS = (
    """CREATE TRIGGER memories_inserted AFTER INSERT ON memories REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION index_inserted_memories()""",
    """CREATE TRIGGER memories_deleted AFTER DELETE ON memories REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION index_deleted_memories()""",
    """CREATE TRIGGER memories_updated AFTER UPDATE ON memories
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION index_updated_memories()""",
)

# Each of these is the whole of what may be learned across users: an id, a hash to verify, a count.
ACROSS_USERS = (
    """CREATE FUNCTION find_login(p_email text) RETURNS TABLE (id uuid, password_hash text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
        SELECT u.id, u.password_hash FROM users u WHERE u.email = lower(p_email) AND u.disabled_at IS NULL
    $$""",
    """CREATE FUNCTION find_token(p_hash bytea) RETURNS TABLE (user_id uuid, id uuid)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
        SELECT t.user_id, t.id FROM tokens t JOIN users u ON u.id = t.user_id
        WHERE t.hash = p_hash AND u.disabled_at IS NULL
    $$""",
    """CREATE FUNCTION find_user(p_name text) RETURNS uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
        SELECT u.id FROM users u
        WHERE (u.email = lower(p_name) OR u.id::text = lower(p_name)) AND u.disabled_at IS NULL
    $$""",
    """CREATE FUNCTION all_users() RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
        SELECT u.id FROM users u ORDER BY u.id
    $$""",
    """CREATE FUNCTION users_with_due_embeddings(p_now timestamptz, p_limit integer) RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
        SELECT due.user_id FROM (
            SELECT e.user_id, e.due_at FROM embeddings e
            WHERE e.state = 'pending' AND e.due_at <= p_now ORDER BY e.due_at LIMIT 5000
        ) due GROUP BY due.user_id ORDER BY min(due.due_at) LIMIT p_limit
    $$""",
    """CREATE FUNCTION users_with_unqueued_memories() RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
        SELECT DISTINCT m.user_id FROM memories m
        WHERE m.needs_embedding AND NOT EXISTS (
            SELECT 1 FROM embeddings e WHERE e.user_id = m.user_id AND e.memory_id = m.id
        )
    $$""",
    """CREATE FUNCTION next_due_embedding() RETURNS timestamptz
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
        SELECT min(e.due_at) FROM embeddings e WHERE e.state = 'pending'
    $$""",
    """CREATE FUNCTION users_with_expired_rows(p_now timestamptz) RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
        SELECT f.user_id FROM forgotten f WHERE f.purge_at <= p_now
        UNION SELECT t.user_id FROM tombstones t WHERE t.expires_at <= p_now
        UNION SELECT m.user_id FROM memories m WHERE m.expires_at <= p_now
    $$""",
    """CREATE FUNCTION redact_tool_calls(p_ids uuid[], p_texts text[]) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
        WITH redacted AS (
            UPDATE tool_calls c SET arguments = '{"redacted": true}', result = '{"redacted": true}', error = NULL
            WHERE c.user_id = app_user() AND (
                c.affected_ids && p_ids
                OR EXISTS (
                    SELECT 1 FROM unnest(p_texts) t
                    WHERE position(lower(t) IN lower(c.arguments::text)) > 0
                       OR position(lower(t) IN lower(c.result::text)) > 0
                )
            ) AND c.arguments <> '{"redacted": true}'
            RETURNING 1
        ) SELECT count(*) FROM redacted
    $$""",
    """CREATE FUNCTION telemetry(p_now timestamptz) RETURNS jsonb
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
        SELECT jsonb_build_object(
            'embedding_backlog', (SELECT count(*) FROM memories WHERE needs_embedding AND status = 'active'
                AND NOT EXISTS (SELECT 1 FROM embeddings e WHERE e.user_id = memories.user_id
                    AND e.memory_id = memories.id AND e.state = 'error')),
            'embedding_backlog_age', (SELECT coalesce(extract(epoch FROM p_now - min(updated_at)), 0) FROM memories
                WHERE needs_embedding AND status = 'active'
                AND NOT EXISTS (SELECT 1 FROM embeddings e WHERE e.user_id = memories.user_id
                    AND e.memory_id = memories.id AND e.state = 'error')),
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
            'tool_calls', (SELECT count(*) FROM tool_calls),
            'tool_failures', (SELECT count(*) FROM tool_calls WHERE NOT success),
            'actions', (SELECT coalesce(jsonb_object_agg(action, total), '{}') FROM (
                SELECT action, sum(count) AS total FROM audit_events GROUP BY action) counted),
            'users', (SELECT count(*) FROM users),
            'memories', (SELECT count(*) FROM memories)
        )
    $$""",
)

NAMES = (
    "find_login(text)",
    "find_token(bytea)",
    "find_user(text)",
    "all_users()",
    "users_with_due_embeddings(timestamptz, integer)",
    "users_with_unqueued_memories()",
    "next_due_embedding()",
    "users_with_expired_rows(timestamptz)",
    "redact_tool_calls(uuid[], text[])",
    "telemetry(timestamptz)",
)


def upgrade() -> None:
    op.execute(APP_USER)
    for table, column in (*((table, "user_id") for table in OWNED), ("users", "id")):
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(
            f"CREATE POLICY owner_only ON {table} USING ({column} = app_user()) WITH CHECK ({column} = app_user())"
        )
    for function in (INDEX_INSERTED, INDEX_DELETED, INDEX_UPDATED, *TRIGGERS, *ACROSS_USERS):
        op.execute(function)
    for name in NAMES:
        # The application's role is let in by name when it is made; nobody else is.
        op.execute(f"REVOKE EXECUTE ON FUNCTION {name} FROM PUBLIC")


def downgrade() -> None:
    for name in NAMES:
        op.execute(f"DROP FUNCTION {name}")
    for change in ("inserted", "deleted", "updated"):
        op.execute(f"DROP TRIGGER memories_{change} ON memories")
        op.execute(f"DROP FUNCTION index_{change}_memories()")
    for table in (*OWNED, "users"):
        op.execute(f"DROP POLICY owner_only ON {table}")
        op.execute(f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY")
    op.execute("DROP FUNCTION app_user()")
