"""Entity notes of what is in force alone, and how much waits to be read."""

from importlib import import_module

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

# As before, but of what is in force. Time passes without a write: a sentence that is to lapse stands in no notes, and
# whoever reads sentences asks the time.
NOTE_MENTIONS = """
CREATE OR REPLACE FUNCTION note_mentions() RETURNS trigger LANGUAGE plpgsql AS $$
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
               (SELECT count(*) FROM entity_mentions m WHERE m.user_id = c.user_id AND m.entity_id = c.id
                AND m.live) AS mentions,
               latest, notes
        FROM unnest(changed_users, changed_entities) AS c(user_id, id)
        -- Who is named in everything has thousands of sentences, and a dozen different ones are among the last.
        CROSS JOIN LATERAL (
            SELECT max(s.latest) AS latest, string_agg(s.sentence, E'\\n' ORDER BY s.newest) AS notes FROM (
                SELECT m.sentence, max(m.id::text) AS newest, max(m.created_at) AS latest FROM (
                    SELECT sentence, id, created_at FROM entity_mentions
                    WHERE user_id = c.user_id AND entity_id = c.id AND live AND expires_at IS NULL
                    ORDER BY id DESC LIMIT 100) m
                GROUP BY m.sentence ORDER BY newest DESC LIMIT 12) s) last
    ), updated AS (
        UPDATE entities e SET
            notes = coalesce(n.notes, ''),
            mentions = n.mentions,
            version = e.version + (e.notes IS DISTINCT FROM coalesce(n.notes, ''))::integer,
            needs_embedding = e.needs_embedding OR e.notes IS DISTINCT FROM coalesce(n.notes, ''),
            updated_at = greatest(e.updated_at, n.latest)
        -- One whose sentences are all out of force stays, without notes, until they are back or gone.
        FROM noted n WHERE e.user_id = n.user_id AND e.id = n.id
        RETURNING e.user_id, e.id, e.version
    )
    DELETE FROM entity_embeddings x USING updated u
    WHERE x.user_id = u.user_id AND x.item_id = u.id AND x.version < u.version;
    RETURN NULL;
END $$
"""

# A mention says of itself whether its memory is in force, so that nobody who reads many looks up as many memories.
PLACE = """
CREATE FUNCTION place_mention() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.memory_id IS NOT NULL THEN
        SELECT m.status = 'active', m.expires_at INTO NEW.live, NEW.expires_at
        FROM memories m WHERE m.user_id = NEW.user_id AND m.id = NEW.memory_id;
        -- Of a memory that is not there, the foreign key speaks.
        NEW.live := coalesce(NEW.live, true);
    END IF;
    RETURN NEW;
END $$
"""
MIRROR = """
CREATE FUNCTION mirror_memory_in_mentions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE entity_mentions SET live = (NEW.status = 'active'), expires_at = NEW.expires_at
    WHERE user_id = NEW.user_id AND memory_id = NEW.id;
    RETURN NULL;
END $$
"""
TRIGGERS = (
    """CREATE TRIGGER mentions_placed BEFORE INSERT ON entity_mentions
    FOR EACH ROW EXECUTE FUNCTION place_mention()""",
    """CREATE TRIGGER mentions_updated AFTER UPDATE ON entity_mentions REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION note_mentions()""",
    """CREATE TRIGGER memories_mirrored AFTER UPDATE OF status, expires_at ON memories FOR EACH ROW
    WHEN ((OLD.status, OLD.expires_at) IS DISTINCT FROM (NEW.status, NEW.expires_at))
    EXECUTE FUNCTION mirror_memory_in_mentions()""",
)
MIRROR_ALL = """
UPDATE entity_mentions x SET live = (m.status = 'active'), expires_at = m.expires_at
FROM memories m
WHERE m.user_id = x.user_id AND m.id = x.memory_id AND (m.status <> 'active' OR m.expires_at IS NOT NULL)
"""
BACKLOG = """
CREATE FUNCTION enrichment_backlog() RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT (SELECT count(*) FROM memories m WHERE m.enriched_version IS DISTINCT FROM m.version)
         + (SELECT count(*) FROM episodes e WHERE e.needs_enrichment)
$$
"""


def upgrade() -> None:
    op.add_column("entity_mentions", sa.Column("live", sa.Boolean(), server_default=sa.text("true"), nullable=False))
    op.add_column("entity_mentions", sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True))
    for statement in (NOTE_MENTIONS, PLACE, MIRROR, *TRIGGERS, MIRROR_ALL, BACKLOG):
        op.execute(statement)
    op.execute("REVOKE EXECUTE ON FUNCTION enrichment_backlog() FROM PUBLIC")


def downgrade() -> None:
    op.execute("DROP FUNCTION enrichment_backlog()")
    op.execute("DROP TRIGGER memories_mirrored ON memories")
    op.execute("DROP TRIGGER mentions_updated ON entity_mentions")
    op.execute("DROP TRIGGER mentions_placed ON entity_mentions")
    op.execute("DROP FUNCTION mirror_memory_in_mentions()")
    op.execute("DROP FUNCTION place_mention()")
    before = import_module("memory.migrations.versions.0004_conversation_guards").NOTE_MENTIONS
    op.execute(before.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"))
    op.drop_column("entity_mentions", "expires_at")
    op.drop_column("entity_mentions", "live")
