"""Runs migrations on the connection that the caller hands over; the caller commits."""

from alembic import context

from memory.models import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    compare_server_default=False,
)
with context.begin_transaction():
    context.run_migrations()
