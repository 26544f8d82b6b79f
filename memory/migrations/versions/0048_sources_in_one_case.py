"""Sources of summaries whose ids came in capitals, by which nothing found what sums a memory up."""

from alembic import op

revision = "0048"
down_revision = "0047"
branch_labels = None
depends_on = None

_ID = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
SMALL = f"""
UPDATE memories SET source_ids = ARRAY(
    SELECT CASE WHEN s.word ~* '{_ID}' THEN lower(s.word) ELSE s.word END
    FROM unnest(source_ids) WITH ORDINALITY AS s(word, place) ORDER BY s.place)
WHERE EXISTS (SELECT FROM unnest(source_ids) word WHERE word ~* '{_ID}' AND word <> lower(word))
"""  # noqa: S608 - put together from what is written here alone


def upgrade() -> None:
    op.execute(SMALL)


def downgrade() -> None:
    """What was written in capitals means the same in small letters."""
