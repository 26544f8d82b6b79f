"""Guards of what 0003 added: row-level security, keyword indexes, entity notes, the audit chain."""

from importlib import import_module

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

OWNED = (
    "audit_links",
    "cached_embeddings",
    "conversations",
    "entities",
    "entity_embeddings",
    "entity_mentions",
    "entity_postings",
    "episode_embeddings",
    "episode_postings",
    "episodes",
    "messages",
    "preferences",
    "session_states",
)

# One statement per change of many rows. The first argument is the table of postings, the second the column that
# says in which scope an item is.
INDEX_ITEMS = """
CREATE FUNCTION index_items() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    postings text := TG_ARGV[0];
    scope text := TG_ARGV[1];
    loops text := current_setting('enable_nestloop');
    same boolean;
BEGIN
    -- Within, as the whole of a condition is parsed at once, and an insert has no old rows. A plan made for one row
    -- would compare every row with every other where there are many.
    IF TG_OP = 'UPDATE' THEN
        PERFORM set_config('enable_nestloop', 'off', true);
        SELECT count(*) = 0 INTO same FROM old_rows o JOIN new_rows n USING (user_id, id)
        WHERE o.tsv IS DISTINCT FROM n.tsv;
        PERFORM set_config('enable_nestloop', loops, true);
        IF same THEN
            RETURN NULL;
        END IF;
    END IF;
    IF TG_OP <> 'INSERT' THEN
        EXECUTE format('DELETE FROM %I p USING old_rows o WHERE p.user_id = o.user_id AND p.item_id = o.id', postings);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        EXECUTE format(
            'INSERT INTO %I (user_id, scope_id, lexeme, item_id, tf, length)
             SELECT n.user_id, n.%I, t.lexeme, n.id, cardinality(t.positions),
                    sum(cardinality(t.positions)) OVER (PARTITION BY n.user_id, n.id)
             FROM new_rows n, unnest(n.tsv) t', postings, scope);
    END IF;
    RETURN NULL;
END $$
"""

# What BM25 needs to know of a conversation: how many episodes it has, and how many words they have together.
COUNT_EPISODES = """
CREATE FUNCTION count_episodes() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    loops text := current_setting('enable_nestloop');
    same boolean;
BEGIN
    -- What embeds or enriches an episode must not wait for its conversation, which an append locks first.
    IF TG_OP = 'UPDATE' THEN
        PERFORM set_config('enable_nestloop', 'off', true);
        SELECT count(*) = 0 INTO same FROM old_rows o JOIN new_rows n USING (user_id, id)
        WHERE o.tsv IS DISTINCT FROM n.tsv;
        PERFORM set_config('enable_nestloop', loops, true);
        IF same THEN
            RETURN NULL;
        END IF;
    END IF;
    IF TG_OP <> 'INSERT' THEN
        UPDATE conversations c SET episodes = c.episodes - s.items, tokens_indexed = c.tokens_indexed - s.tokens
        FROM (SELECT o.user_id, o.conversation_id, count(DISTINCT o.id) AS items,
                     coalesce(sum(cardinality(t.positions)), 0) AS tokens
              FROM old_rows o LEFT JOIN unnest(o.tsv) t ON true GROUP BY o.user_id, o.conversation_id) s
        WHERE c.user_id = s.user_id AND c.id = s.conversation_id;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        UPDATE conversations c SET episodes = c.episodes + s.items, tokens_indexed = c.tokens_indexed + s.tokens
        FROM (SELECT n.user_id, n.conversation_id, count(DISTINCT n.id) AS items,
                     coalesce(sum(cardinality(t.positions)), 0) AS tokens
              FROM new_rows n LEFT JOIN unnest(n.tsv) t ON true GROUP BY n.user_id, n.conversation_id) s
        WHERE c.user_id = s.user_id AND c.id = s.conversation_id;
    END IF;
    RETURN NULL;
END $$
"""

# An entity's notes are its newest dozen sentences. Its old vectors go with its old notes: they were made of them.
NOTE_MENTIONS = """
CREATE FUNCTION note_mentions() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    changed_users uuid[];
    changed_entities uuid[];
BEGIN
    IF TG_OP = 'DELETE' THEN
        SELECT array_agg(user_id), array_agg(entity_id) INTO changed_users, changed_entities
        FROM (SELECT DISTINCT user_id, entity_id FROM old_rows) r;
    ELSE
        SELECT array_agg(user_id), array_agg(entity_id) INTO changed_users, changed_entities
        FROM (SELECT DISTINCT user_id, entity_id FROM new_rows) r;
    END IF;
    IF changed_entities IS NULL THEN
        RETURN NULL;
    END IF;
    DELETE FROM entities e USING unnest(changed_users, changed_entities) AS c(user_id, id)
    WHERE e.user_id = c.user_id AND e.id = c.id
      AND NOT EXISTS (SELECT 1 FROM entity_mentions m WHERE m.user_id = e.user_id AND m.entity_id = e.id);
    WITH noted AS (
        SELECT c.user_id, c.id,
               (SELECT count(*) FROM entity_mentions m WHERE m.user_id = c.user_id AND m.entity_id = c.id) AS mentions,
               latest, notes
        FROM unnest(changed_users, changed_entities) AS c(user_id, id)
        -- Who is named in everything has thousands of sentences, and a dozen different ones are among the last.
        CROSS JOIN LATERAL (
            SELECT max(s.latest) AS latest, string_agg(s.sentence, E'\\n' ORDER BY s.newest) AS notes FROM (
                SELECT m.sentence, max(m.id::text) AS newest, max(m.created_at) AS latest FROM (
                    SELECT sentence, id, created_at FROM entity_mentions
                    WHERE user_id = c.user_id AND entity_id = c.id ORDER BY id DESC LIMIT 100) m
                GROUP BY m.sentence ORDER BY newest DESC LIMIT 12) s) last
    ), updated AS (
        UPDATE entities e SET
            notes = coalesce(n.notes, ''),
            mentions = n.mentions,
            version = e.version + (e.notes IS DISTINCT FROM coalesce(n.notes, ''))::integer,
            needs_embedding = e.needs_embedding OR e.notes IS DISTINCT FROM coalesce(n.notes, ''),
            updated_at = greatest(e.updated_at, n.latest)
        FROM noted n WHERE e.user_id = n.user_id AND e.id = n.id AND n.mentions > 0
        RETURNING e.user_id, e.id, e.version
    )
    DELETE FROM entity_embeddings x USING updated u
    WHERE x.user_id = u.user_id AND x.item_id = u.id AND x.version < u.version;
    RETURN NULL;
END $$
"""

# The text of an event that its hash covers; memory.record.audit says it again, to check. Every field is there, each
# with its length before it, so that no two events look alike. No setting of a session changes a word of it: moments are
# seconds since 1970 to the microsecond, and JSONB has one way to be written.
AUDIT_TEXT = """
CREATE FUNCTION audit_text(e audit_events) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
RETURN (
    SELECT string_agg(length(f)::text || ':' || f, ',' ORDER BY n) FROM unnest(ARRAY[
        e.user_id::text, e.id::text, e.action, e.actor, coalesce(e.subject_id::text, ''), e.count::text,
        e.details::text, extract(epoch FROM e.created_at)::text
    ]) WITH ORDINALITY AS fields(f, n)
)
"""

# Run when the transaction commits, as its last act: links of one user are written one after the other, and no
# transaction waits for anything while it holds that lock.
CHAIN = """
CREATE FUNCTION chain_audit_events() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    head audit_links;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(NEW.user_id::text, 1));
    SELECT * INTO head FROM audit_links WHERE user_id = NEW.user_id ORDER BY sequence DESC LIMIT 1;
    INSERT INTO audit_links (user_id, sequence, event_id, hash)
    SELECT NEW.user_id, coalesce(head.sequence, 0) + 1, NEW.id,
           sha256(coalesce(head.hash, ''::bytea) || convert_to(audit_text(e), 'UTF8'))
    FROM audit_events e WHERE e.user_id = NEW.user_id AND e.id = NEW.id;
    RETURN NULL;
END $$
"""

# Events that were there before the chain are its first links.
CHAIN_OLD = """
DO $$
DECLARE
    event audit_events;
    head audit_links;
BEGIN
    FOR event IN SELECT * FROM audit_events ORDER BY user_id, created_at, id LOOP
        head := NULL;
        SELECT * INTO head FROM audit_links WHERE user_id = event.user_id ORDER BY sequence DESC LIMIT 1;
        INSERT INTO audit_links VALUES (event.user_id, coalesce(head.sequence, 0) + 1, event.id,
            sha256(coalesce(head.hash, ''::bytea) || convert_to(audit_text(event), 'UTF8')));
    END LOOP;
END $$
"""

TRIGGERS = (
    *(
        f"""CREATE TRIGGER {table}_{name} AFTER {change} ON {table} REFERENCING {rows}
        FOR EACH STATEMENT EXECUTE FUNCTION index_items('{postings}', '{scope}')"""
        for table, postings, scope in (
            ("episodes", "episode_postings", "conversation_id"),
            ("entities", "entity_postings", "space_id"),
        )
        for name, change, rows in (
            ("inserted", "INSERT", "NEW TABLE AS new_rows"),
            ("deleted", "DELETE", "OLD TABLE AS old_rows"),
            ("updated", "UPDATE", "OLD TABLE AS old_rows NEW TABLE AS new_rows"),
        )
    ),
    """CREATE TRIGGER episodes_counted_in AFTER INSERT ON episodes REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION count_episodes()""",
    """CREATE TRIGGER episodes_counted_out AFTER DELETE ON episodes REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION count_episodes()""",
    """CREATE TRIGGER episodes_counted_again AFTER UPDATE ON episodes
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION count_episodes()""",
    """CREATE TRIGGER mentions_inserted AFTER INSERT ON entity_mentions REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION note_mentions()""",
    """CREATE TRIGGER mentions_deleted AFTER DELETE ON entity_mentions REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION note_mentions()""",
    """CREATE CONSTRAINT TRIGGER audit_events_chained AFTER INSERT ON audit_events
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION chain_audit_events()""",
)
FUNCTIONS = ("index_items()", "count_episodes()", "note_mentions()", "chain_audit_events()", "audit_text(audit_events)")

# A token is opened and its owner set in one round trip: this stands before every request.
ACROSS_USERS = (
    """CREATE FUNCTION open_token(p_hash bytea) RETURNS SETOF tokens
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    DECLARE
        found tokens;
    BEGIN
        SELECT t.* INTO found FROM tokens t JOIN users u ON u.id = t.user_id
        WHERE t.hash = p_hash AND u.disabled_at IS NULL;
        IF found.id IS NOT NULL THEN
            PERFORM set_config('app.user_id', found.user_id::text, true);
            RETURN NEXT found;
        END IF;
    END $$""",
    """CREATE FUNCTION users_with_due_embeddings(p_now timestamptz, p_limit integer) RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
        SELECT due.user_id FROM (
            (SELECT e.user_id, e.due_at FROM embeddings e
             WHERE e.state = 'pending' AND e.due_at <= p_now ORDER BY e.due_at LIMIT 5000)
            UNION ALL
            (SELECT e.user_id, e.due_at FROM episode_embeddings e
             WHERE e.state = 'pending' AND e.due_at <= p_now ORDER BY e.due_at LIMIT 5000)
            UNION ALL
            (SELECT e.user_id, e.due_at FROM entity_embeddings e
             WHERE e.state = 'pending' AND e.due_at <= p_now ORDER BY e.due_at LIMIT 5000)
        ) due GROUP BY due.user_id ORDER BY min(due.due_at) LIMIT p_limit
    $$""",
    """CREATE FUNCTION users_with_unqueued_items() RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
        SELECT m.user_id FROM memories m WHERE m.needs_embedding AND NOT EXISTS (
            SELECT 1 FROM embeddings e WHERE e.user_id = m.user_id AND e.memory_id = m.id)
        UNION SELECT m.user_id FROM episodes m WHERE m.needs_embedding AND NOT EXISTS (
            SELECT 1 FROM episode_embeddings e WHERE e.user_id = m.user_id AND e.item_id = m.id)
        UNION SELECT m.user_id FROM entities m WHERE m.needs_embedding AND NOT EXISTS (
            SELECT 1 FROM entity_embeddings e WHERE e.user_id = m.user_id AND e.item_id = m.id)
    $$""",
    """CREATE FUNCTION next_due_embedding() RETURNS timestamptz
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
        SELECT least(
            (SELECT min(e.due_at) FROM embeddings e WHERE e.state = 'pending'),
            (SELECT min(e.due_at) FROM episode_embeddings e WHERE e.state = 'pending'),
            (SELECT min(e.due_at) FROM entity_embeddings e WHERE e.state = 'pending'))
    $$""",
    """CREATE FUNCTION users_with_unenriched_items() RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
        SELECT m.user_id FROM memories m WHERE m.enriched_version IS DISTINCT FROM m.version
        UNION SELECT e.user_id FROM episodes e WHERE e.needs_enrichment
    $$""",
    # Which calls received a memory: the array index that finds them is closed to row-level security.
    """CREATE FUNCTION calls_naming(p_id uuid) RETURNS SETOF tool_calls
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
        SELECT c.* FROM tool_calls c WHERE c.user_id = app_user() AND c.affected_ids @> ARRAY[p_id]
    $$""",
    # Which calls tell of a forgotten memory, `memory.redaction.redaction` finds out; what they told goes here. Those
    # that said it themselves lose the hash of their question too, and all of them the paths that carry it.
    """CREATE FUNCTION redact_tool_calls(p_calls uuid[], p_saying uuid[], p_paths text[]) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
        WITH redacted AS (
            UPDATE tool_calls c SET arguments = '{"redacted": true}', result = '{"redacted": true}', error = NULL,
                query_hash = CASE WHEN c.id = ANY(p_saying) THEN NULL ELSE c.query_hash END,
                affected_paths = ARRAY(
                    SELECT u.path FROM unnest(c.affected_paths) WITH ORDINALITY u(path, place)
                    WHERE u.path <> ALL(p_paths) ORDER BY u.place)
            WHERE c.user_id = app_user() AND c.id = ANY(p_calls)
            RETURNING 1
        ) SELECT count(*) FROM redacted
    $$""",
    """CREATE FUNCTION purge_caches(p_now timestamptz) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
        WITH vectors AS (DELETE FROM cached_embeddings WHERE expires_at <= p_now RETURNING 1),
             states AS (DELETE FROM session_states WHERE expires_at <= p_now RETURNING 1)
        SELECT (SELECT count(*) FROM vectors) + (SELECT count(*) FROM states)
    $$""",
)
NAMES = (
    "open_token(bytea)",
    "users_with_due_embeddings(timestamptz, integer)",
    "users_with_unqueued_items()",
    "next_due_embedding()",
    "users_with_unenriched_items()",
    "calls_naming(uuid)",
    "redact_tool_calls(uuid[], uuid[], text[])",
    "purge_caches(timestamptz)",
)
# Of 0002, and in its words again when this is taken back.
REPLACED = (
    "find_token(bytea)",
    "users_with_due_embeddings(timestamptz, integer)",
    "users_with_unqueued_memories()",
    "next_due_embedding()",
    "redact_tool_calls(uuid[], text[])",
)
# The tools that there were before calls said what they did.
NAME_OPERATIONS = """
UPDATE tool_calls SET operation = CASE
    WHEN tool IN ('memory_search', 'query_memory') THEN 'search'
    WHEN tool = 'memory_add' THEN 'create'
    WHEN tool = 'memory_update' THEN 'update'
    WHEN tool = 'memory_delete' THEN 'delete'
    ELSE 'read'
END
"""


def upgrade() -> None:
    for table in OWNED:
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(
            f"CREATE POLICY owner_only ON {table} USING (user_id = app_user()) WITH CHECK (user_id = app_user())"
        )
    for name in REPLACED:
        op.execute(f"DROP FUNCTION {name}")
    op.execute(NAME_OPERATIONS)
    for function in (INDEX_ITEMS, COUNT_EPISODES, NOTE_MENTIONS, AUDIT_TEXT, CHAIN, CHAIN_OLD, *TRIGGERS):
        op.execute(function)
    for function in ACROSS_USERS:
        op.execute(function)
    for name in ("chain_audit_events()", *NAMES):
        op.execute(f"REVOKE EXECUTE ON FUNCTION {name} FROM PUBLIC")


def downgrade() -> None:
    for name in NAMES:
        op.execute(f"DROP FUNCTION {name}")
    for trigger in TRIGGERS:
        words = trigger.split()
        name = words[words.index("TRIGGER") + 1]
        table = words[words.index("ON") + 1]
        op.execute(f"DROP TRIGGER {name} ON {table}")
    for name in FUNCTIONS:
        op.execute(f"DROP FUNCTION {name}")
    for table in OWNED:
        op.execute(f"DROP POLICY owner_only ON {table}")
        op.execute(f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY")
    before = import_module("memory.migrations.versions.0002_guards")
    for name in REPLACED:
        word = f"CREATE FUNCTION {name.partition('(')[0]}("
        op.execute(next(function for function in before.ACROSS_USERS if function.strip().startswith(word)))
        op.execute(f"REVOKE EXECUTE ON FUNCTION {name} FROM PUBLIC")
