"""The keyword index after an update of many memories, in time that grows with the rows and not with their square."""

from importlib import import_module

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

# A trigger's plans are made at its first call, most often for one row, and kept: a nested loop over the old and the
# new rows of one statement, which have no index, then compares every row with every other. So the comparison forbids
# nested loops, and what follows is planned anew for the rows at hand, looks the changed ids up in a constant array,
# which is hashed, and never joins old rows with new.
INDEX_UPDATED = """
CREATE OR REPLACE FUNCTION index_updated_memories() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    loops text := current_setting('enable_nestloop');
    changed uuid[];
BEGIN
    PERFORM set_config('enable_nestloop', 'off', true);
    SELECT array_agg(n.id) INTO changed FROM old_rows o JOIN new_rows n USING (user_id, id)
    WHERE (o.tsv, o.space_id, o.status) IS DISTINCT FROM (n.tsv, n.space_id, n.status);
    PERFORM set_config('enable_nestloop', loops, true);
    IF changed IS NULL THEN
        RETURN NULL;
    END IF;

    EXECUTE $sql$
    WITH counted AS (
        SELECT o.user_id, o.space_id, o.id, -sum(cardinality(t.positions)) AS tokens, -1 AS documents
        FROM old_rows o LEFT JOIN unnest(o.tsv) t ON true
        WHERE o.id = ANY($1) AND o.status = 'active' GROUP BY o.user_id, o.space_id, o.id
        UNION ALL
        SELECT n.user_id, n.space_id, n.id, sum(cardinality(t.positions)), 1
        FROM new_rows n LEFT JOIN unnest(n.tsv) t ON true
        WHERE n.id = ANY($1) AND n.status = 'active' GROUP BY n.user_id, n.space_id, n.id
    ), summed AS (
        SELECT user_id, space_id, coalesce(sum(tokens), 0) AS tokens, sum(documents) AS documents
        FROM counted GROUP BY user_id, space_id
    )
    UPDATE spaces s SET documents = s.documents + c.documents, tokens = s.tokens + c.tokens
    FROM summed c WHERE s.user_id = c.user_id AND s.id = c.space_id
    $sql$ USING changed;

    EXECUTE $sql$
    DELETE FROM postings p USING old_rows o, unnest(o.tsv) t
    WHERE o.id = ANY($1) AND o.status = 'active'
      AND p.user_id = o.user_id AND p.space_id = o.space_id AND p.lexeme = t.lexeme AND p.memory_id = o.id
    $sql$ USING changed;

    EXECUTE $sql$
    INSERT INTO postings (user_id, space_id, lexeme, memory_id, tf, length)
    SELECT n.user_id, n.space_id, t.lexeme, n.id, cardinality(t.positions),
           sum(cardinality(t.positions)) OVER (PARTITION BY n.user_id, n.id)
    FROM new_rows n, unnest(n.tsv) t
    WHERE n.id = ANY($1) AND n.status = 'active'
    $sql$ USING changed;

    EXECUTE $sql$
    UPDATE embeddings e SET live = (n.status = 'active'), space_id = n.space_id
    FROM new_rows n
    WHERE n.id = ANY($1) AND e.user_id = n.user_id AND e.memory_id = n.id
      AND (e.live, e.space_id) IS DISTINCT FROM (n.status = 'active', n.space_id)
    $sql$ USING changed;
    RETURN NULL;
END $$
"""


def upgrade() -> None:
    op.execute(INDEX_UPDATED)


def downgrade() -> None:
    before = import_module("memory.migrations.versions.0002_guards").INDEX_UPDATED
    op.execute(before.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"))
