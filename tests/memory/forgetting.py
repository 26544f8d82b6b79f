"""What is forgotten in tests, and where the database might still have it."""

from __future__ import annotations

from sqlalchemy import inspect, text

SECRET = "Ada hides the spare key under the third flowerpot"


def everything(owner) -> str:
    """Return every table in the database as one text."""
    with owner.connect() as connection:
        tables = [name for name in inspect(connection).get_table_names() if not name.startswith("huey_")]
        rows = [connection.scalars(text(f"SELECT to_json(t)::text FROM {table} t")).all() for table in tables]
    return "\n".join(row for table in rows for row in table)
