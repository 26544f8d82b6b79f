"""`commonplace export`: taking everything along."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from tempfile import NamedTemporaryFile

import click
from tqdm import tqdm

from memory.database import user_session
from memory.export import export_at_once
from memory.journal import record
from webapp.cli.wiring import migrated_store, user_named


@click.command("export")
@click.option("--email", required=True)
@click.option("--out", type=click.Path(dir_okay=False, writable=True, path_type=Path), help="Default: standard output.")
def export_(email: str, out: Path | None) -> None:
    """Write everything that is kept of a user as one JSON document."""
    store, now = migrated_store(), datetime.now(UTC)
    user_id = user_named(store, email)
    with user_session(store.sessions, user_id) as session:
        record(session, user_id, "user.exported", actor="system", now=now, subject_id=user_id)
    # Closed before the command ends: the database that it started ends with it.
    with tqdm(unit="row", disable=None) as bar, closing(export_at_once(store.sessions, user_id, now=now)) as rows:
        pieces = _counted(rows, bar.update)
        try:
            if out is None:
                _print(pieces)
            else:
                _write(pieces, out)
        except BrokenPipeError:
            raise  # Whoever reads has enough.
        except OSError as error:
            raise click.ClickException(f"cannot write {out or 'to standard output'}: {error.strerror}") from None
    if out is not None:
        click.echo(f"Wrote {out}.")


def _counted(pieces: Iterable[str], on_piece: Callable[[], object]) -> Iterator[str]:
    for piece in pieces:
        yield piece
        on_piece()


def _print(pieces: Iterable[str]) -> None:
    # JSON is UTF-8, whatever the terminal speaks.
    stream = sys.stdout.buffer
    for piece in pieces:
        stream.write(piece.encode())
    stream.flush()


def _write(pieces: Iterable[str], out: Path) -> None:
    """Write a file that its owner alone may read; what stood there goes only when all is written."""
    if out.exists() and not out.is_file():
        with out.open("w", encoding="utf-8") as device:
            device.writelines(pieces)
        return
    # Where a link stands, the file that it names is meant.
    out = Path(os.path.realpath(out))
    with NamedTemporaryFile("w", encoding="utf-8", dir=out.parent, prefix=f".{out.name}.", delete=False) as file:
        try:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
            Path(file.name).replace(out)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise
