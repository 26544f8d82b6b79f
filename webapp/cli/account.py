"""`commonplace export`: taking everything along."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

import click
from tqdm import tqdm

from memory.database import user_session
from memory.export import export
from webapp.cli.wiring import migrated_store, user_named


@click.command("export")
@click.option("--email", required=True)
@click.option("--out", type=click.Path(dir_okay=False, writable=True, path_type=Path), help="Default: standard output.")
def export_(email: str, out: Path | None) -> None:
    """Write everything that is kept of a user as one JSON document."""
    store = migrated_store()
    user_id = user_named(store, email)
    with user_session(store.sessions, user_id) as session, tqdm(unit="row", disable=None) as bar:
        pieces = export(session, user_id, now=datetime.now(UTC))
        if out is None:
            for piece in pieces:
                sys.stdout.write(piece)
            return
        with out.open("w", encoding="utf-8") as file:
            for piece in pieces:
                file.write(piece)
                bar.update()
    click.echo(f"Wrote {out}.")
