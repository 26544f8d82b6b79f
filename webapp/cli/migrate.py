"""`migrate`: the schema, brought up to date on its own."""

from __future__ import annotations

import click

import config
from tasks.store import open_store
from webapp.cli import wiring


@click.command()
def migrate() -> None:
    """Bring the database's schema up to date."""
    wiring.migrate(open_store(config.load()))
    click.echo("The schema is up to date.")
