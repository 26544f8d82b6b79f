"""Calls are changed in one order by everyone who changes several."""

from importlib import import_module

from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

NAME = "release_tool_calls(uuid[])"
# In the order of their ids: a conversation that was deleted let go of its calls message by message, and whoever blanked
# the same calls at that moment was waited for in a circle.
REDACT = """
CREATE OR REPLACE FUNCTION redact_tool_calls(p_calls uuid[], p_saying uuid[], p_paths text[]) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH locked AS (
        SELECT c.id FROM tool_calls c WHERE c.user_id = app_user() AND c.id = ANY(p_calls) ORDER BY c.id FOR UPDATE
    ), redacted AS (
        UPDATE tool_calls c SET arguments = '{"redacted": true}', result = '{"redacted": true}', error = NULL,
            query_hash = CASE WHEN c.id = ANY(p_saying) THEN NULL ELSE c.query_hash END,
            affected_paths = ARRAY(
                SELECT u.path FROM unnest(c.affected_paths) WITH ORDINALITY u(path, place)
                WHERE u.path <> ALL(p_paths) ORDER BY u.place)
        FROM locked l WHERE c.user_id = app_user() AND c.id = l.id
        RETURNING 1
    ) SELECT count(*) FROM redacted
$$
"""
RELEASE = """
CREATE FUNCTION release_tool_calls(p_conversations uuid[]) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH said AS (
        SELECT m.id FROM messages m WHERE m.user_id = app_user() AND m.conversation_id = ANY(p_conversations)
    ), tied AS (
        SELECT c.id FROM tool_calls c WHERE c.user_id = app_user() AND c.conversation_id = ANY(p_conversations)
        UNION SELECT c.id FROM tool_calls c JOIN said s ON s.id = c.message_id WHERE c.user_id = app_user()
    ), locked AS (
        SELECT c.id FROM tool_calls c WHERE c.user_id = app_user() AND c.id IN (SELECT t.id FROM tied t)
        ORDER BY c.id FOR UPDATE
    ), released AS (
        UPDATE tool_calls c SET
            conversation_id = CASE WHEN c.conversation_id = ANY(p_conversations) THEN NULL ELSE c.conversation_id END,
            message_id = CASE WHEN c.message_id IN (SELECT s.id FROM said s) THEN NULL ELSE c.message_id END
        FROM locked l WHERE c.user_id = app_user() AND c.id = l.id
        RETURNING 1
    ) SELECT count(*) FROM released
$$
"""


def upgrade() -> None:
    op.execute(REDACT)
    op.execute(RELEASE)
    op.execute(f"REVOKE EXECUTE ON FUNCTION {NAME} FROM PUBLIC")


def downgrade() -> None:
    op.execute(f"DROP FUNCTION {NAME}")
    before = import_module("memory.migrations.versions.0004_conversation_guards").ACROSS_USERS
    function = next(each for each in before if "FUNCTION redact_tool_calls(" in each)
    op.execute(function.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"))
