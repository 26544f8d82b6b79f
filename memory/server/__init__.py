"""The embedded PostgreSQL: its folder, its processes, its log, its start and its end."""
