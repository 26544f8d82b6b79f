"""What is asked every minute, at a cost that does not grow with all that is stored or waits."""

from importlib import import_module

from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

# From one user who has something waiting to the next, one look into the index for each: the worker asks before every
# batch, and to read all that waits each time took longer than the batch itself, the more so the more waited.
WAITING = """
    WITH RECURSIVE waiting AS (
        (SELECT w.user_id FROM {table} w WHERE {waits} ORDER BY w.user_id, w.id LIMIT 1)
        UNION ALL
        SELECT further.user_id FROM waiting CROSS JOIN LATERAL (
            SELECT w.user_id FROM {table} w WHERE {waits} AND w.user_id > waiting.user_id
            ORDER BY w.user_id, w.id LIMIT 1) further
    ) SELECT user_id FROM waiting"""
MEMORIES = WAITING.format(
    table="memories",
    waits="w.enriched_version IS DISTINCT FROM w.version AND (w.expires_at IS NULL OR w.expires_at > p_now)",
)
EPISODES = WAITING.format(table="episodes", waits="w.needs_enrichment")
UNENRICHED = f"""
CREATE FUNCTION users_with_unenriched_items(p_now timestamptz) RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    ({MEMORIES}) UNION ({EPISODES})
$$
"""  # noqa: S608 - put together from what is written above alone
# What has expired is never read, and waits for nothing. Few have: they are counted apart, so that of the others, which
# may be very many, the index tells enough.
BACKLOG = """
CREATE FUNCTION enrichment_backlog(p_now timestamptz) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT (SELECT count(*) FROM memories m WHERE m.enriched_version IS DISTINCT FROM m.version)
         - (SELECT count(*) FROM memories m
            WHERE m.expires_at <= p_now AND m.enriched_version IS DISTINCT FROM m.version)
         + (SELECT count(*) FROM episodes e WHERE e.needs_enrichment)
$$
"""
NEW = ("users_with_unenriched_items(timestamptz)", "enrichment_backlog(timestamptz)")
# Of migrations before, and in their words again when this is taken back.
REPLACED = {
    "users_with_unenriched_items()": "0004_conversation_guards",
    "enrichment_backlog()": "0008_notes_in_force",
}


def upgrade() -> None:
    for name in REPLACED:
        op.execute(f"DROP FUNCTION {name}")
    for function in (UNENRICHED, BACKLOG):
        op.execute(function)
    for name in NEW:
        op.execute(f"REVOKE EXECUTE ON FUNCTION {name} FROM PUBLIC")


def downgrade() -> None:
    for name in NEW:
        op.execute(f"DROP FUNCTION {name}")
    for name, where in REPLACED.items():
        before = import_module(f"memory.migrations.versions.{where}")
        functions = (*getattr(before, "ACROSS_USERS", ()), getattr(before, "BACKLOG", ""))
        op.execute(next(each for each in functions if f"FUNCTION {name}" in each))
        op.execute(f"REVOKE EXECUTE ON FUNCTION {name} FROM PUBLIC")
