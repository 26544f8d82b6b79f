"""`commonplace erase-report`: proof of what was erased."""

from __future__ import annotations

import json
from pathlib import Path

import click

import config
from memory.accounts.erase import is_genuine
from memory.keys import Keys


@click.group("erase-report")
def erase_report() -> None:
    """Reports of accounts that were erased."""


@erase_report.command("verify")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def verify(file: Path) -> None:
    """Check that this installation signed the report as it stands; exit with 1 if it did not."""
    try:
        report = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        report = None
    if not isinstance(report, dict) or not is_genuine(report, Keys(config.load().secret_key)):
        click.echo("This is no report that was signed here, or it was changed since.", err=True)
        raise SystemExit(1)
    rows = sum(report["deleted"].values())
    click.echo(f"Genuine: {report['email']} was erased at {report['erased_at']}, {rows} rows in all.")
