"""What was said in an archived conversation stands in no notes of entities, until it is taken out again."""

from importlib import import_module

from alembic import op

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None

# As before; what an episode says is in force while its conversation is not archived.
PLACE = """
CREATE OR REPLACE FUNCTION place_mention() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.memory_id IS NOT NULL THEN
        SELECT m.status = 'active', m.expires_at INTO NEW.live, NEW.expires_at
        FROM memories m WHERE m.user_id = NEW.user_id AND m.id = NEW.memory_id;
    ELSE
        SELECT c.archived_at IS NULL INTO NEW.live
        FROM episodes e JOIN conversations c ON c.user_id = e.user_id AND c.id = e.conversation_id
        WHERE e.user_id = NEW.user_id AND e.id = NEW.episode_id;
    END IF;
    -- Of a text that is not there, the foreign key speaks.
    NEW.live := coalesce(NEW.live, true);
    RETURN NEW;
END $$
"""
MIRROR = """
CREATE FUNCTION mirror_conversation_in_mentions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE entity_mentions x SET live = (NEW.archived_at IS NULL)
    FROM episodes e
    WHERE e.user_id = NEW.user_id AND e.conversation_id = NEW.id AND x.user_id = e.user_id AND x.episode_id = e.id;
    RETURN NULL;
END $$
"""
TRIGGER = """
CREATE TRIGGER conversations_mirrored AFTER UPDATE OF archived_at ON conversations FOR EACH ROW
WHEN ((OLD.archived_at IS NULL) IS DISTINCT FROM (NEW.archived_at IS NULL))
EXECUTE FUNCTION mirror_conversation_in_mentions()
"""
MIRROR_ALL = """
UPDATE entity_mentions x SET live = false
FROM episodes e JOIN conversations c ON c.user_id = e.user_id AND c.id = e.conversation_id
WHERE c.archived_at IS NOT NULL AND x.user_id = e.user_id AND x.episode_id = e.id
"""


def upgrade() -> None:
    for statement in (PLACE, MIRROR, TRIGGER, MIRROR_ALL):
        op.execute(statement)


def downgrade() -> None:
    op.execute("DROP TRIGGER conversations_mirrored ON conversations")
    op.execute("DROP FUNCTION mirror_conversation_in_mentions()")
    before = import_module("memory.migrations.versions.0008_notes_in_force").PLACE
    op.execute(before.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"))
    op.execute("UPDATE entity_mentions SET live = true WHERE episode_id IS NOT NULL AND NOT live")
