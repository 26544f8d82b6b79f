"""What waits for a vector has waited since it was to have one: what was said years ago may have come in just now."""

from importlib import import_module

from alembic import op

revision = "0044"
down_revision = "0043"
branch_labels = None
depends_on = None

BEFORE = import_module("memory.migrations.versions.0032_three_shelves")
# An item that no model has taken up has waited since it was written, as before.
WAITING = " UNION ALL ".join(
    f"""
        SELECT coalesce(
            (SELECT min(q.created_at) FROM {vectors} q
                WHERE q.user_id = m.user_id AND q.{item} = m.id AND q.state = 'pending'),
            {since}) AS since
        FROM {items} m WHERE m.needs_embedding AND {live} AND NOT EXISTS (
            SELECT 1 FROM {vectors} e WHERE e.user_id = m.user_id AND e.{item} = m.id AND e.state = 'error')"""  # noqa: S608 - put together from what is written there alone
    for items, since, live, vectors, item in BEFORE.SHELVES
)


def upgrade() -> None:
    op.execute(BEFORE.TELEMETRY.replace(BEFORE.WAITING, WAITING))


def downgrade() -> None:
    op.execute(BEFORE.TELEMETRY)
