"""Models that rest while their provider answers nobody, and who is on the way from one model to another."""

from importlib import import_module

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

VECTORS = ("embeddings", "episode_embeddings", "entity_embeddings")
# From one model that has something waiting to the next, one look into the index for each: nudged by every write, the
# worker asks, and what waits for a model that rests may be very much.
FIRST = """(WITH RECURSIVE first AS (
                (SELECT e.user_id, e.model_id, e.due_at FROM {vectors} e
                 WHERE e.state = 'pending' ORDER BY e.model_id, e.due_at LIMIT 1)
                UNION ALL
                SELECT further.* FROM first CROSS JOIN LATERAL (
                    SELECT e.user_id, e.model_id, e.due_at FROM {vectors} e
                    WHERE e.state = 'pending' AND e.model_id > first.model_id
                    ORDER BY e.model_id, e.due_at LIMIT 1) further
            ) SELECT user_id, model_id, due_at FROM first)"""
AWAITED = f"""(
            {" UNION ALL ".join(FIRST.format(vectors=vectors) for vectors in VECTORS)}
        ) e JOIN embedding_models m ON m.user_id = e.user_id AND m.id = e.model_id"""
FUNCTIONS = (
    f"""CREATE OR REPLACE FUNCTION users_with_due_embeddings(p_now timestamptz, p_limit integer) RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
        SELECT e.user_id FROM {AWAITED}
        WHERE e.due_at <= p_now AND (m.rests_until IS NULL OR m.rests_until <= p_now)
        GROUP BY e.user_id ORDER BY min(e.due_at) LIMIT p_limit
    $$""",  # noqa: S608 - put together from what is written above alone
    f"""CREATE OR REPLACE FUNCTION next_due_embedding() RETURNS timestamptz
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
        SELECT min(greatest(e.due_at, m.rests_until)) FROM {AWAITED}
    $$""",  # noqa: S608 - as above
)
SWITCHING = """CREATE FUNCTION users_with_building_models() RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
        SELECT m.user_id FROM embedding_models m WHERE m.state = 'building'
    $$"""
WAITING = sa.text("state = 'pending'")
NAMES = ("users_with_due_embeddings(", "next_due_embedding(")


def upgrade() -> None:
    for table in VECTORS:
        # By model, as the planner would else read what waits for another. Nobody asks for what is due of any.
        op.drop_index(f"ix_{table}_due_any", table_name=table, postgresql_where=WAITING)
        op.drop_index(f"ix_{table}_due", table_name=table, postgresql_where=WAITING)
        op.create_index(f"ix_{table}_due", table, ["model_id", "due_at"], postgresql_where=WAITING)
    op.add_column("embedding_models", sa.Column("failures", sa.Integer(), server_default=sa.text("0"), nullable=False))
    op.add_column("embedding_models", sa.Column("error", sa.Text(), nullable=True))
    op.add_column("embedding_models", sa.Column("rests_until", sa.DateTime(timezone=True), nullable=True))
    for function in (*FUNCTIONS, SWITCHING):
        op.execute(function)
    op.execute("REVOKE EXECUTE ON FUNCTION users_with_building_models() FROM PUBLIC")


def downgrade() -> None:
    op.execute("DROP FUNCTION users_with_building_models()")
    before = import_module("memory.migrations.versions.0004_conversation_guards").ACROSS_USERS
    for function in before:
        if any(f"FUNCTION {name}" in function for name in NAMES):
            op.execute(function.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"))
    for column in ("rests_until", "error", "failures"):
        op.drop_column("embedding_models", column)
    for table in VECTORS:
        op.drop_index(f"ix_{table}_due", table_name=table, postgresql_where=WAITING)
        op.create_index(f"ix_{table}_due", table, ["user_id", "due_at"], postgresql_where=WAITING)
        op.create_index(f"ix_{table}_due_any", table, ["due_at"], postgresql_where=WAITING)
