"""Who has removed notebooks or cells to delete for good."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

REMOVED = sa.text("removed_at IS NOT NULL")
TABLES = ("notebooks", "cells")
NAME = "users_with_removed_cells(timestamptz)"
USERS = """
CREATE FUNCTION users_with_removed_cells(p_closed timestamptz) RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT n.user_id FROM notebooks n WHERE n.removed_at <= p_closed
    UNION SELECT c.user_id FROM cells c WHERE c.removed_at <= p_closed
$$
"""


def upgrade() -> None:
    for table in TABLES:
        op.create_index(f"ix_{table}_removed", table, ["removed_at"], postgresql_where=REMOVED)
    op.execute(USERS)
    op.execute(f"REVOKE EXECUTE ON FUNCTION {NAME} FROM PUBLIC")


def downgrade() -> None:
    op.execute(f"DROP FUNCTION {NAME}")
    for table in TABLES:
        op.drop_index(f"ix_{table}_removed", table_name=table, postgresql_where=REMOVED)
