"""Facts: what is true of whom, from when until when."""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None

# No plan asks for samples of what people wrote.
UNSAMPLED = ("subject", "subject_key", "predicate", "predicate_key", "object", "object_key")


def upgrade() -> None:
    op.create_table(
        "facts",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("space_id", sa.Uuid(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("subject_key", sa.Text(), nullable=False),
        sa.Column("predicate", sa.Text(), nullable=False),
        sa.Column("predicate_key", sa.Text(), nullable=False),
        sa.Column("object", sa.Text(), nullable=False),
        sa.Column("object_key", sa.Text(), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=False),
        sa.Column("single", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("source_message_id", sa.Uuid(), nullable=True),
        sa.Column("valid_from", sa.DateTime(timezone=True), nullable=False),
        sa.Column("valid_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("confidence BETWEEN 0 AND 1", name=op.f("ck_facts_confidence")),
        sa.CheckConstraint("valid_until >= valid_from", name=op.f("ck_facts_valid_until")),
        sa.ForeignKeyConstraint(
            ["user_id", "space_id"],
            ["spaces.user_id", "spaces.id"],
            name=op.f("fk_facts_user_id_space_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["user_id", "source_message_id"],
            ["messages.user_id", "messages.id"],
            name=op.f("fk_facts_user_id_source_message_id"),
            ondelete="SET NULL (source_message_id)",
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_facts_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "id", name=op.f("pk_facts")),
    )
    op.create_index("ix_facts_subject", "facts", ["user_id", "space_id", "subject_key", "predicate_key", "valid_from"])
    op.create_index("ix_facts_recent", "facts", ["user_id", "valid_from", "id"])
    op.create_index(
        "ix_facts_message",
        "facts",
        ["user_id", "source_message_id"],
        postgresql_where=sa.text("source_message_id IS NOT NULL"),
    )
    columns = ", ".join(f"ALTER COLUMN {column} SET STATISTICS 0" for column in UNSAMPLED)
    op.execute(f"ALTER TABLE facts {columns}")
    op.execute("ALTER TABLE facts ENABLE ROW LEVEL SECURITY")
    op.execute("CREATE POLICY owner_only ON facts USING (user_id = app_user()) WITH CHECK (user_id = app_user())")


def downgrade() -> None:
    op.drop_table("facts")
