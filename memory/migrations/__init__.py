"""The schema's history, run by Alembic as the owner of the tables."""
