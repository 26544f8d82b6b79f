"""What was said at a time, without going through all that ever was."""

from alembic import op

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_episodes_time", "episodes", ["user_id", "created_at"])


def downgrade() -> None:
    op.drop_index("ix_episodes_time", "episodes")
