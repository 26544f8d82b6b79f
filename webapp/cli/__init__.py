"""The `commonplace` command."""

from webapp.cli.main import main

__all__ = ["main"]
