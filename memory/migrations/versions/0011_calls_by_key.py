"""Which calls name an id, without what they asked and answered."""

from importlib import import_module

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

NAME = "calls_naming(uuid)"
# All that calls are chosen by. A function like this gives all its rows before the first is looked at: with what they
# answered, those of a memory that is found daily took tens of milliseconds to set down, for the few that are shown.
NARROW = """
CREATE FUNCTION calls_naming(p_id uuid) RETURNS TABLE (
    user_id uuid, id uuid, created_at timestamptz, tool text, operation text, origin text, success boolean,
    hits integer, token_id uuid, conversation_id uuid, message_id uuid, affected_paths text[])
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT c.user_id, c.id, c.created_at, c.tool, c.operation, c.origin, c.success,
           c.hits, c.token_id, c.conversation_id, c.message_id, c.affected_paths
    FROM tool_calls c WHERE c.user_id = (SELECT app_user()) AND c.affected_ids @> ARRAY[p_id]
$$
"""


def upgrade() -> None:
    _replace(NARROW)


def downgrade() -> None:
    before = import_module("memory.migrations.versions.0004_conversation_guards").ACROSS_USERS
    _replace(next(function for function in before if "FUNCTION calls_naming(" in function))


def _replace(function: str) -> None:
    op.execute(f"DROP FUNCTION {NAME}")
    op.execute(function)
    op.execute(f"REVOKE EXECUTE ON FUNCTION {NAME} FROM PUBLIC")
