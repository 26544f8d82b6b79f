"""Postings of what is edited or removed, looked up by their whole key whatever the statistics say."""

from importlib import import_module

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

# Without statistics the planner thinks that a key's first two columns, user and space, find a row or two. It then read
# all postings of the space for each word of an old text, which takes a long text seconds. A lateral query that may not
# be merged with what is around it leaves it no choice but to look each posting up by all four columns. Postings are
# never updated, so that the place of one stays its own for as long as the statement runs.
PLACES = """ARRAY(
        SELECT found.place FROM old_rows o CROSS JOIN LATERAL unnest(o.tsv) t CROSS JOIN LATERAL (
            SELECT q.ctid AS place FROM postings q
            WHERE q.user_id = o.user_id AND q.space_id = o.space_id AND q.lexeme = t.lexeme AND q.memory_id = o.id
            OFFSET 0
        ) found WHERE o.status = 'active'{which}
    )"""

UPDATED_BEFORE = """DELETE FROM postings p USING old_rows o, unnest(o.tsv) t
    WHERE o.id = ANY($1) AND o.status = 'active'
      AND p.user_id = o.user_id AND p.space_id = o.space_id AND p.lexeme = t.lexeme AND p.memory_id = o.id"""
UPDATED_NOW = PLACES.format(which=" AND o.id = ANY($1)").join(("DELETE FROM postings WHERE ctid = ANY(", ")"))

# Planned anew each time: a plan that was kept from when the table was empty would read all of it.
INDEX_DELETED = f"""
CREATE OR REPLACE FUNCTION index_deleted_memories() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE $sql$
    WITH removed AS (
        DELETE FROM postings WHERE ctid = ANY({PLACES.format(which="")})
        RETURNING user_id, space_id, tf
    ), counted AS (
        SELECT user_id, space_id, sum(tf) AS tokens, 0 AS documents FROM removed GROUP BY user_id, space_id
        UNION ALL
        SELECT user_id, space_id, 0, count(*) FROM old_rows WHERE status = 'active' GROUP BY user_id, space_id
    ), summed AS (
        SELECT user_id, space_id, sum(tokens) AS tokens, sum(documents) AS documents
        FROM counted GROUP BY user_id, space_id
    )
    UPDATE spaces s SET documents = s.documents - c.documents, tokens = s.tokens - c.tokens
    FROM summed c WHERE s.user_id = c.user_id AND s.id = c.space_id
    $sql$;
    RETURN NULL;
END $$
"""  # noqa: S608 - put together from what is written above alone


def upgrade() -> None:
    op.execute(_updated().replace(UPDATED_BEFORE, UPDATED_NOW))
    op.execute(INDEX_DELETED)


def downgrade() -> None:
    op.execute(_updated())
    before = import_module("memory.migrations.versions.0002_guards").INDEX_DELETED
    op.execute(before.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"))


def _updated() -> str:
    """Return the function as it was before."""
    return str(import_module("memory.migrations.versions.0005_update_trigger").INDEX_UPDATED)
