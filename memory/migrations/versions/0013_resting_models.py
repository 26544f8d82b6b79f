"""Models that rest while their provider answers nobody, and who is on the way from one model to another."""

from importlib import import_module

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

VECTORS = ("embeddings", "episode_embeddings", "entity_embeddings")
DUE = """(SELECT e.user_id, e.due_at FROM {vectors} e
             WHERE e.state = 'pending' AND e.due_at <= p_now AND NOT EXISTS (
                 SELECT 1 FROM embedding_models m
                 WHERE m.user_id = e.user_id AND m.id = e.model_id AND m.rests_until > p_now)
             ORDER BY e.due_at LIMIT 5000)"""
NEXT = """(SELECT min(greatest(e.due_at, m.rests_until)) FROM {vectors} e
             JOIN embedding_models m ON m.user_id = e.user_id AND m.id = e.model_id WHERE e.state = 'pending')"""
FUNCTIONS = (
    f"""CREATE OR REPLACE FUNCTION users_with_due_embeddings(p_now timestamptz, p_limit integer) RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
        SELECT due.user_id FROM (
            {" UNION ALL ".join(DUE.format(vectors=vectors) for vectors in VECTORS)}
        ) due GROUP BY due.user_id ORDER BY min(due.due_at) LIMIT p_limit
    $$""",  # noqa: S608 - put together from what is written above alone
    f"""CREATE OR REPLACE FUNCTION next_due_embedding() RETURNS timestamptz
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
        SELECT least({", ".join(NEXT.format(vectors=vectors) for vectors in VECTORS)})
    $$""",
)
SWITCHING = """CREATE FUNCTION users_with_building_models() RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
        SELECT m.user_id FROM embedding_models m WHERE m.state = 'building'
    $$"""
NAMES = ("users_with_due_embeddings(", "next_due_embedding(")


def upgrade() -> None:
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
