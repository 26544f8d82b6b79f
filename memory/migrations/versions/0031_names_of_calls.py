"""Calls whose names say what was forgotten lose these: the tool and the operation, the id of the request."""

from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None

NAME = "rename_tool_calls(uuid[], text[])"
# Calls of one request stay calls of one request: its new id is made of the old one and of what nobody ever sees.
RENAME = """
CREATE FUNCTION rename_tool_calls(p_calls uuid[], p_names text[]) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH salt AS MATERIALIZED (
        SELECT gen_random_uuid()::text AS of_now
    ), locked AS (
        SELECT c.id FROM tool_calls c WHERE c.user_id = app_user() AND c.id = ANY(p_calls) ORDER BY c.id FOR UPDATE
    ), renamed AS (
        UPDATE tool_calls c SET
            tool = CASE WHEN c.origin <> 'server' AND c.tool = ANY(p_names) THEN 'redacted' ELSE c.tool END,
            operation = CASE WHEN c.origin <> 'server' AND c.operation = ANY(p_names)
                THEN 'redacted' ELSE c.operation END,
            correlation_id = CASE WHEN c.correlation_id = ANY(p_names)
                THEN md5(s.of_now || c.correlation_id) ELSE c.correlation_id END
        FROM locked l, salt s WHERE c.user_id = app_user() AND c.id = l.id
        RETURNING 1
    ) SELECT count(*) FROM renamed
$$
"""


def upgrade() -> None:
    op.execute(RENAME)
    op.execute(f"REVOKE EXECUTE ON FUNCTION {NAME} FROM PUBLIC")


def downgrade() -> None:
    op.execute(f"DROP FUNCTION {NAME}")
