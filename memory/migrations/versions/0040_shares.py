"""Memories with a tag that are found in another space as well."""

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None


def upgrade() -> None:
    spaces = ["spaces.user_id", "spaces.id"]
    op.create_table(
        "shares",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("space_id", sa.Uuid(), nullable=False),
        sa.Column("tag", sa.Text(), nullable=False),
        sa.Column("found_in", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_shares_user_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["user_id", "space_id"], spaces, name=op.f("fk_shares_user_id_space_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["user_id", "found_in"], spaces, name=op.f("fk_shares_user_id_found_in"), ondelete="CASCADE"
        ),
        sa.CheckConstraint("space_id <> found_in", name=op.f("ck_shares_apart")),
        sa.PrimaryKeyConstraint("user_id", "space_id", "tag", "found_in", name=op.f("pk_shares")),
    )
    op.create_index("ix_shares_found_in", "shares", ["user_id", "found_in"])
    # No plan asks for samples of what people wrote.
    op.execute("ALTER TABLE shares ALTER COLUMN tag SET STATISTICS 0")
    op.execute("ALTER TABLE shares ENABLE ROW LEVEL SECURITY")
    op.execute("CREATE POLICY owner_only ON shares USING (user_id = app_user()) WITH CHECK (user_id = app_user())")


def downgrade() -> None:
    op.drop_table("shares")
