"""Calls of one operation, or by one token: a filter that few calls pass does not read them all."""

from alembic import op
from sqlalchemy import text

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

COLUMNS = ("operation", "token_id")


def upgrade() -> None:
    for name in COLUMNS:
        columns = ["user_id", name, "created_at"]
        op.create_index(f"ix_tool_calls_{name}", "tool_calls", columns, postgresql_where=text(f"{name} IS NOT NULL"))


def downgrade() -> None:
    for name in COLUMNS:
        op.drop_index(f"ix_tool_calls_{name}", "tool_calls")
