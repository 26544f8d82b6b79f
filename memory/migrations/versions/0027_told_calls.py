"""Calls that histories tell of, and calls of which nobody said how long they took."""

from importlib import import_module

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

RECALLING = "origin = 'server' AND success AND (hits > 0 OR tool = 'memory_get')"
CHECK = "ck_tool_calls_origin"
BEFORE = str(import_module("memory.migrations.versions.0015_calls_in_order").RELEASE)
RELEASE = BEFORE.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")
# What a history told of its calls was said in the conversation, and goes with it.
BLANKING = RELEASE.replace(
    "UPDATE tool_calls c SET\n",
    """UPDATE tool_calls c SET
            arguments = CASE WHEN c.origin = 'history' THEN '{"redacted": true}' ELSE c.arguments END,
            result = CASE WHEN c.origin = 'history' THEN '{"redacted": true}' ELSE c.result END,
""",
)


def upgrade() -> None:
    op.alter_column("tool_calls", "duration_ms", existing_type=sa.Double(), nullable=True)
    # So it was kept where the agent had not said it.
    op.execute("UPDATE tool_calls SET duration_ms = NULL WHERE origin = 'external' AND duration_ms = 0")
    _allow("origin IN ('server', 'external', 'history')")
    op.execute(BLANKING)
    # Whenever messages are appended it is asked what was recalled lately; histories bring in many calls that recall
    # nothing.
    where = sa.text(RECALLING)
    op.create_index("ix_tool_calls_recalling", "tool_calls", ["user_id", "created_at"], postgresql_where=where)


def downgrade() -> None:
    op.drop_index("ix_tool_calls_recalling", "tool_calls")
    op.execute(RELEASE)
    op.execute("UPDATE tool_calls SET origin = 'external' WHERE origin = 'history'")
    _allow("origin IN ('server', 'external')")
    op.execute("UPDATE tool_calls SET duration_ms = 0 WHERE duration_ms IS NULL")
    op.alter_column("tool_calls", "duration_ms", existing_type=sa.Double(), nullable=False)


def _allow(origins: str) -> None:
    op.drop_constraint(op.f(CHECK), "tool_calls", type_="check")
    op.create_check_constraint(op.f(CHECK), "tool_calls", origins)
