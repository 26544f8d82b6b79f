"""Calls by what they name, as fast when they have just come: the index has them at once, and no list of them."""

from alembic import op

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None

INDEX = "ix_tool_calls_affected"


def upgrade() -> None:
    op.execute(f"ALTER INDEX {INDEX} SET (fastupdate = off)")
    op.execute(f"SELECT gin_clean_pending_list('{INDEX}')")


def downgrade() -> None:
    op.execute(f"ALTER INDEX {INDEX} RESET (fastupdate)")
