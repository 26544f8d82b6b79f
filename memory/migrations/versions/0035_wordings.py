"""What was merged into memories, kept with them; and of what calls said before, all that is still in the record."""

import unicodedata
from hashlib import blake2b

import sqlalchemy as sa
from alembic import op

from memory.commands.parse import parse
from memory.texts.addresses import fold_case
from memory.texts.markers import without_marked

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None

SAID = """
SELECT m.user_id, m.id, c.tool, c.words, max(c.created_at) AS said_at
FROM (
    SELECT user_id, unnest(affected_ids) AS id, tool, coalesce(arguments->>'content', arguments->>'text') AS words,
        created_at
    FROM tool_calls WHERE operation = 'create' AND origin = 'server'
) c JOIN memories m ON m.user_id = c.user_id AND m.id = c.id
WHERE m.repeat_count > 0 AND c.words <> m.text
GROUP BY m.user_id, m.id, c.tool, c.words
ORDER BY said_at DESC
"""
KEEP = """
INSERT INTO wordings (user_id, memory_id, text_digest, text, said_at)
VALUES (:user_id, :memory_id, :text_digest, :text, :said_at) ON CONFLICT DO NOTHING
"""


def upgrade() -> None:
    op.create_table(
        "wordings",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("memory_id", sa.Uuid(), nullable=False),
        sa.Column("text_digest", sa.LargeBinary(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("said_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id", "memory_id"],
            ["memories.user_id", "memories.id"],
            name=op.f("fk_wordings_user_id_memory_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_wordings_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "memory_id", "text_digest", name=op.f("pk_wordings")),
    )
    # No plan asks for samples of what people wrote.
    op.execute("ALTER TABLE wordings ALTER COLUMN text SET STATISTICS 0")
    op.execute("ALTER TABLE wordings ENABLE ROW LEVEL SECURITY")
    op.execute("CREATE POLICY owner_only ON wordings USING (user_id = app_user()) WITH CHECK (user_id = app_user())")
    _keep_what_calls_said()


def _keep_what_calls_said() -> None:
    """Keep the texts that calls of tools and commands had stored as a memory, but the one that it has."""
    connection = op.get_bind()
    for user_id, memory_id, tool, words, said_at in connection.execute(sa.text(SAID)).all():
        text = parse(words).subject if tool == "command" else words
        text = without_marked(text) or text
        if text.strip():
            values = {"text_digest": _text_digest(text), "text": text, "said_at": said_at}
            connection.execute(sa.text(KEEP), {"user_id": user_id, "memory_id": memory_id, **values})


def _text_digest(text: str) -> bytes:
    """Return the digest of the writer, which keeps a text that is said again once, without loading what it needs."""
    folded = " ".join(fold_case(unicodedata.normalize("NFKC", text)).split())
    return blake2b(folded.encode(), digest_size=16).digest()


def downgrade() -> None:
    op.drop_table("wordings")
