"""Facts that a language model reads out of conversations, in spaces that want it."""

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None

OFF, NONE = sa.text("false"), sa.text("0")
# Few spaces want it, and each of them is looked through: an index of what waits would be kept for all others, too.
READERS = """
CREATE FUNCTION users_with_unread_conversations(p_quiet_since timestamptz, p_full integer) RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT DISTINCT s.user_id FROM spaces s
    JOIN conversations c ON c.user_id = s.user_id AND c.space_id = s.id
    WHERE s.extract_facts AND s.memory_enabled AND NOT s.incognito_default
      AND c.archived_at IS NULL AND c.message_count > c.extracted_through
      AND (c.updated_at <= p_quiet_since OR c.message_count >= c.extracted_through + p_full)
$$
"""
BACKLOG = """
CREATE FUNCTION extraction_backlog() RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT coalesce(sum(c.message_count - c.extracted_through), 0) FROM spaces s
    JOIN conversations c ON c.user_id = s.user_id AND c.space_id = s.id
    WHERE s.extract_facts AND s.memory_enabled AND NOT s.incognito_default
      AND c.archived_at IS NULL AND c.message_count > c.extracted_through
$$
"""
FUNCTIONS = {"users_with_unread_conversations(timestamptz, integer)": READERS, "extraction_backlog()": BACKLOG}


def upgrade() -> None:
    op.add_column("spaces", sa.Column("extract_facts", sa.Boolean(), nullable=False, server_default=OFF))
    op.add_column("conversations", sa.Column("extracted_through", sa.Integer(), nullable=False, server_default=NONE))
    op.add_column("facts", sa.Column("extracted", sa.Boolean(), nullable=False, server_default=OFF))
    where = sa.text("extract_facts")
    op.create_index("ix_spaces_extracting", "spaces", ["user_id", "id"], postgresql_where=where)
    for name, words in FUNCTIONS.items():
        op.execute(words)
        op.execute(f"REVOKE EXECUTE ON FUNCTION {name} FROM PUBLIC")


def downgrade() -> None:
    for name in FUNCTIONS:
        op.execute(f"DROP FUNCTION {name}")
    op.drop_index("ix_spaces_extracting", "spaces")
    op.drop_column("facts", "extracted")
    op.drop_column("conversations", "extracted_through")
    op.drop_column("spaces", "extract_facts")
