"""Whether an endpoint that embeds for everybody is left alone because it failed, whoever it failed for."""

from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None

RESTS = """
CREATE FUNCTION endpoint_rests(p_provider text, p_endpoint text, p_since timestamptz) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM embedding_models
        WHERE provider_type = p_provider AND endpoint_url = p_endpoint AND rests_until > p_since)
$$
"""


def upgrade() -> None:
    op.execute(RESTS)
    op.execute("REVOKE EXECUTE ON FUNCTION endpoint_rests(text, text, timestamptz) FROM PUBLIC")


def downgrade() -> None:
    op.execute("DROP FUNCTION endpoint_rests(text, text, timestamptz)")
