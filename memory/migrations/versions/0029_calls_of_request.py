"""Calls are asked for by the request that they were made or reported in."""

from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_tool_calls_correlation", "tool_calls", ["user_id", "correlation_id", "created_at"])


def downgrade() -> None:
    op.drop_index("ix_tool_calls_correlation", "tool_calls")
