"""Roll-ups of which a source says something else by now."""

from alembic import op

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None

# By the events of their making, of which there are few. What anybody else has changed since is theirs. Sources may be
# anything, also of a summary.
OUTDATED = """
CREATE FUNCTION outdated_roll_ups() RETURNS TABLE (user_id uuid, memory_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT made.user_id, made.memory_id FROM (
        SELECT a.user_id, a.subject_id AS memory_id, max(a.created_at) AS at
        FROM audit_events a WHERE a.action = 'memory.rolled_up' GROUP BY a.user_id, a.subject_id
    ) made
    JOIN memories y ON y.user_id = made.user_id AND y.id = made.memory_id AND y.status = 'active'
    JOIN spaces s ON s.user_id = y.user_id AND s.id = y.space_id AND s.roll_up AND s.memory_enabled
    WHERE NOT EXISTS (
        SELECT FROM revisions r WHERE r.user_id = y.user_id AND r.memory_id = y.id AND r.actor <> 'system'
    ) AND EXISTS (
        SELECT FROM unnest(y.source_ids) source(id)
        JOIN revisions r ON r.user_id = y.user_id
          AND r.memory_id = CASE WHEN pg_input_is_valid(source.id, 'uuid') THEN source.id::uuid END
          AND r.replaced_at > made.at AND 'text' = ANY(r.fields)
    )
    ORDER BY made.user_id, made.memory_id
$$
"""


def upgrade() -> None:
    op.execute(OUTDATED)
    op.execute("REVOKE EXECUTE ON FUNCTION outdated_roll_ups() FROM PUBLIC")


def downgrade() -> None:
    op.execute("DROP FUNCTION outdated_roll_ups()")
