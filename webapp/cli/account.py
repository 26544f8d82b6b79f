"""`commonplace export` and `commonplace erase-report`: taking everything along, and proof of what was erased."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click
from tqdm import tqdm

import config
from memory.accounts import find_user
from memory.database import user_session
from memory.embedding.backfill import utc_now
from memory.erase import is_genuine
from memory.export import export
from memory.keys import Keys
from webapp.cli.wiring import migrated_runtime


@click.command("export")
@click.option("--email", required=True)
@click.option("--out", type=click.Path(dir_okay=False, writable=True, path_type=Path), help="Default: standard output.")
def export_(email: str, out: Path | None) -> None:
    """Write everything that is kept of a user as one JSON document."""
    runtime = migrated_runtime()
    with runtime.sessions() as session:
        user_id = find_user(session, email)
    if user_id is None:
        raise click.ClickException(f"there is no user {email}")
    with user_session(runtime.sessions, user_id) as session, tqdm(unit="row", disable=None) as bar:
        pieces = export(session, user_id, now=utc_now())
        if out is None:
            for piece in pieces:
                sys.stdout.write(piece)
            return
        with out.open("w", encoding="utf-8") as file:
            for piece in pieces:
                file.write(piece)
                bar.update()
    click.echo(f"Wrote {out}.")


@click.group("erase-report")
def erase_report() -> None:
    """Reports of accounts that were erased."""


@erase_report.command("verify")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def verify(file: Path) -> None:
    """Check that this installation signed the report as it stands; exit with 1 if it did not."""
    try:
        report = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        report = None
    if not isinstance(report, dict) or not is_genuine(report, Keys(config.load().secret_key)):
        click.echo("This is no report that was signed here, or it was changed since.", err=True)
        raise SystemExit(1)
    rows = sum(report["deleted"].values())
    click.echo(f"Genuine: {report['email']} was erased at {report['erased_at']}, {rows} rows in all.")
