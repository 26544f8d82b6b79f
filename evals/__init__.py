"""Measurements: how well the search finds what was said, and how fast everything is.

Imports `tasks` and everything below it, never `webapp`. Nothing that serves users imports this package, except
the command line, which mounts its commands.
"""
