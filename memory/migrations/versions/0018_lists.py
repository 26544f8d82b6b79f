"""What is found by a word of few memories, or counted of all in a space, without reading every memory."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

# Words as numbers that are the user's own: of a tag that everybody has, the index gives one user's rows alone, and
# needs no extension for two kinds of columns in one.
USER_WORDS = """
CREATE FUNCTION user_words(p_user uuid, p_words text[]) RETURNS bigint[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY(SELECT hashtextextended(word, uuid_hash_extended(p_user, 0)) FROM unnest(p_words) word)
"""
# As the definer: row-level security keeps the application from an index whose operator might tell of other rows. Two
# words may be one number, so the row is asked as well.
HAVING = """
CREATE FUNCTION {name}(p_word text, p_most integer) RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT m.id FROM memories m
    WHERE m.user_id = (SELECT app_user()) AND m.{column} <> '{{}}' AND p_word = ANY(m.{column})
      AND user_words(m.user_id, m.{column}) @> user_words((SELECT app_user()), ARRAY[p_word])
    LIMIT p_most
$$
"""
# A path is looked for by itself, or by a folder that it is in; what lies deeper than this is read.
WITH_FOLDERS = """
CREATE FUNCTION with_folders(p_paths text[]) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY(
    SELECT path FROM unnest(p_paths) path
    UNION
    SELECT array_to_string((string_to_array(path, '/'))[1:depth], '/') || '/'
    FROM unnest(p_paths) path,
        generate_series(1, least(16, length(path) - length(replace(path, '/', '')))) depth
)
"""
# Two words may be one number here, too: whoever asks compares the paths of what is told.
CALLS_ON = """
CREATE FUNCTION calls_on(p_path text, p_most integer) RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT c.id FROM tool_calls c
    WHERE c.user_id = (SELECT app_user()) AND c.affected_paths <> '{}'
      AND user_words(c.user_id, with_folders(c.affected_paths)) @> user_words((SELECT app_user()), ARRAY[p_path])
    LIMIT p_most
$$
"""
PATHS = "ix_tool_calls_paths"
# What a space has is counted, and told apart from what it had before, by the index alone.
ORDER = ("ix_memories_order", "memories", ["user_id", "space_id", "id"])
TOLD = ["status", "type", "version", "pinned", "manually_saved", "needs_embedding", "expires_at"]
COLUMNS = {"memories_tagged": "tags", "memories_from": "source_ids"}


def upgrade() -> None:
    op.execute(USER_WORDS)
    for name, column in COLUMNS.items():
        words, given = sa.text(f"user_words(user_id, {column})"), sa.text(f"{column} <> '{{}}'")
        op.create_index(f"ix_memories_{column}", "memories", [words], postgresql_using="gin", postgresql_where=given)
        op.execute(HAVING.format(name=name, column=column))
        op.execute(f"REVOKE EXECUTE ON FUNCTION {name}(text, integer) FROM PUBLIC")
    op.drop_index("ix_memories_order", table_name="memories")
    op.create_index(*ORDER, postgresql_include=TOLD)
    index_paths()


def index_paths() -> None:
    """Let calls be found by a path, or a folder that it is in; needs `user_words`."""
    op.execute(WITH_FOLDERS)
    words, given = sa.text("user_words(user_id, with_folders(affected_paths))"), sa.text("affected_paths <> '{}'")
    op.create_index(PATHS, "tool_calls", [words], postgresql_using="gin", postgresql_where=given)
    op.execute(CALLS_ON)
    op.execute("REVOKE EXECUTE ON FUNCTION calls_on(text, integer) FROM PUBLIC")


def downgrade() -> None:
    op.execute("DROP FUNCTION calls_on(text, integer)")
    op.drop_index(PATHS, table_name="tool_calls")
    op.execute("DROP FUNCTION with_folders(text[])")
    op.drop_index("ix_memories_order", table_name="memories")
    op.create_index(*ORDER)
    for name, column in COLUMNS.items():
        op.execute(f"DROP FUNCTION {name}(text, integer)")
        op.drop_index(f"ix_memories_{column}", table_name="memories")
    op.execute("DROP FUNCTION user_words(uuid, text[])")
