"""Tables of notebooks, their cells, and marks of right answers."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

OWNED = ("notebooks", "cells", "recall_marks")


def upgrade() -> None:
    op.create_table(
        "notebooks",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("removed_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_notebooks_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "id", name=op.f("pk_notebooks")),
    )
    op.create_index("ix_notebooks_recent", "notebooks", ["user_id", "updated_at", "id"])
    op.create_table(
        "cells",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("notebook_id", sa.Uuid(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("input", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("output", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("duration_ms", sa.Float(), nullable=True),
        sa.Column("ran_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("collapsed", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("removed_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "kind IN ('recall', 'remember', 'command', 'note', 'chart', 'context')", name=op.f("ck_cells_kind")
        ),
        sa.ForeignKeyConstraint(
            ["user_id", "notebook_id"],
            ["notebooks.user_id", "notebooks.id"],
            name=op.f("fk_cells_user_id_notebook_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_cells_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "id", name=op.f("pk_cells")),
    )
    op.create_index("ix_cells_order", "cells", ["user_id", "notebook_id", "place"])
    op.create_table(
        "recall_marks",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("memory_id", sa.Uuid(), nullable=False),
        sa.Column("question_digest", sa.LargeBinary(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id", "memory_id"],
            ["memories.user_id", "memories.id"],
            name=op.f("fk_recall_marks_user_id_memory_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_recall_marks_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "memory_id", "question_digest", name=op.f("pk_recall_marks")),
    )
    for table in OWNED:
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(
            f"CREATE POLICY owner_only ON {table} USING (user_id = app_user()) WITH CHECK (user_id = app_user())"
        )


def downgrade() -> None:
    op.drop_table("recall_marks")
    op.drop_table("cells")
    op.drop_table("notebooks")
