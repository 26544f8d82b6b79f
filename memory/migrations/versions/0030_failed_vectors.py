"""How many vectors were given up on within the last hour, of all users."""

from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None

FAILED = """
CREATE FUNCTION vectors_given_up(p_now timestamptz) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT count(*) FROM embeddings WHERE state = 'error' AND updated_at > p_now - interval '1 hour'
$$
"""


def upgrade() -> None:
    op.execute(FAILED)
    op.execute("REVOKE EXECUTE ON FUNCTION vectors_given_up(timestamptz) FROM PUBLIC")


def downgrade() -> None:
    op.execute("DROP FUNCTION vectors_given_up(timestamptz)")
