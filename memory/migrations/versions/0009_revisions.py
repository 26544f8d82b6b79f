"""What memories said before they were changed, and the spaces that are full of what is held on to."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

# Spaces that are over their soft cap, or at it, with what is pinned or saved by hand alone: whatever comes is trimmed.
FULL_SPACES = """
CREATE FUNCTION full_spaces() RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT count(*) FROM spaces s
    WHERE s.documents >= s.soft_cap AND s.soft_cap <= (
        SELECT count(*) FROM memories m WHERE m.user_id = s.user_id AND m.space_id = s.id
        AND m.status = 'active' AND (m.pinned OR m.manually_saved))
$$
"""


def upgrade() -> None:
    op.create_table(
        "revisions",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("memory_id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("tags", postgresql.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("source_ids", postgresql.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("theme", sa.Text(), nullable=True),
        sa.Column("importance", sa.Float(), nullable=False),
        sa.Column("fields", postgresql.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("restored", sa.Integer(), nullable=True),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("replaced_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("number > 0", name=op.f("ck_revisions_number")),
        sa.ForeignKeyConstraint(
            ["user_id", "memory_id"],
            ["memories.user_id", "memories.id"],
            name=op.f("fk_revisions_user_id_memory_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_revisions_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "memory_id", "number", name=op.f("pk_revisions")),
    )
    op.execute("ALTER TABLE revisions ENABLE ROW LEVEL SECURITY")
    op.execute("CREATE POLICY owner_only ON revisions USING (user_id = app_user()) WITH CHECK (user_id = app_user())")
    op.execute(FULL_SPACES)
    op.execute("REVOKE EXECUTE ON FUNCTION full_spaces() FROM PUBLIC")


def downgrade() -> None:
    op.execute("DROP FUNCTION full_spaces()")
    op.drop_table("revisions")
