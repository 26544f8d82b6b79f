"""What 0013 and 0018 make, where they had run before they were amended."""

from importlib import import_module

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

RESTING = import_module("memory.migrations.versions.0013_resting_models")
LISTS = import_module("memory.migrations.versions.0018_lists")
# Where they ran as they stand there is nothing to do.
HAS_FOLDERS = "SELECT to_regprocedure('calls_on(text, integer)') IS NOT NULL"
OF_ANY_MODEL = "SELECT to_regclass('ix_embeddings_due_any') IS NOT NULL"


def upgrade() -> None:
    connection = op.get_bind()
    if connection.scalar(sa.text(OF_ANY_MODEL)):
        for table in RESTING.VECTORS:
            op.execute(f"DROP INDEX ix_{table}_due_any, ix_{table}_due")
            op.create_index(f"ix_{table}_due", table, ["model_id", "due_at"], postgresql_where=RESTING.WAITING)
    for function in (*RESTING.FUNCTIONS, RESTING.SWITCHING.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")):
        op.execute(function)
    op.execute("REVOKE EXECUTE ON FUNCTION users_with_building_models() FROM PUBLIC")
    if not connection.scalar(sa.text(HAS_FOLDERS)):
        LISTS.index_paths()


def downgrade() -> None:
    # The revisions before, as they stand now, have all of it, and take it back themselves.
    pass
