"""Calls that failed, and calls with paths: whoever asks for few of many does not read them all."""

from alembic import op
from sqlalchemy import text

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

# The condition of each index, by its name.
GIVEN = {"ix_tool_calls_failed": "NOT success", "ix_tool_calls_with_paths": "affected_paths <> '{}'"}


def upgrade() -> None:
    for name, condition in GIVEN.items():
        op.create_index(name, "tool_calls", ["user_id", "created_at"], postgresql_where=text(condition))


def downgrade() -> None:
    for name in GIVEN:
        op.drop_index(name, "tool_calls")
