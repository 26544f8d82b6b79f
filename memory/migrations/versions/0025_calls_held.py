"""Calls that are blanked and calls of conversations that go, locked in one order by who does both."""

from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

NAME = "hold_tool_calls(uuid[], uuid[])"
# In one statement: who locked those of conversations first, and came later to what it must blank, waited for whoever
# blanked the same calls in the order of their ids, and that one waited for it.
HOLD = """
CREATE FUNCTION hold_tool_calls(p_calls uuid[], p_conversations uuid[]) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH said AS (
        SELECT m.id FROM messages m WHERE m.user_id = app_user() AND m.conversation_id = ANY(p_conversations)
    ), meant AS (
        SELECT unnest(p_calls) AS id
        UNION SELECT c.id FROM tool_calls c WHERE c.user_id = app_user() AND c.conversation_id = ANY(p_conversations)
        UNION SELECT c.id FROM tool_calls c JOIN said s ON s.id = c.message_id WHERE c.user_id = app_user()
    ), locked AS (
        SELECT c.id FROM tool_calls c WHERE c.user_id = app_user() AND c.id IN (SELECT t.id FROM meant t)
        ORDER BY c.id FOR UPDATE
    ) SELECT count(*) FROM locked
$$
"""


def upgrade() -> None:
    op.execute(HOLD)
    op.execute(f"REVOKE EXECUTE ON FUNCTION {NAME} FROM PUBLIC")


def downgrade() -> None:
    op.execute(f"DROP FUNCTION {NAME}")
