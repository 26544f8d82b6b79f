"""`commonplace export`: taking everything along."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from tempfile import NamedTemporaryFile

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
        try:
            _write(pieces, out, bar.update)
        except OSError as error:
            raise click.ClickException(f"cannot write {out}: {error.strerror}") from None
    click.echo(f"Wrote {out}.")


def _write(pieces: Iterable[str], out: Path, on_piece: Callable[[], object]) -> None:
    """Write a file that its owner alone may read; what stood there goes only when all is written."""
    if out.exists() and not out.is_file():
        with out.open("w", encoding="utf-8") as device:
            device.writelines(pieces)
        return
    with NamedTemporaryFile("w", encoding="utf-8", dir=out.parent, prefix=f".{out.name}.", delete=False) as file:
        try:
            for piece in pieces:
                file.write(piece)
                on_piece()
            file.flush()
            os.fsync(file.fileno())
            Path(file.name).replace(out)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise
