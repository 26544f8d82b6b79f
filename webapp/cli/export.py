"""`commonplace export`: taking everything along."""

from __future__ import annotations

import os
import re
import secrets
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import IO

import click
from tqdm import tqdm

from memory.clock import utc_now
from memory.record.journal import record
from memory.storage.database import user_session
from memory.transfer.export import export_at_once
from memory.transfer.notes_export import Note, notes_at_once
from webapp.cli.wiring import migrated_store, user_named

# A file that is being written changes all along.
_ABANDONED = 3600.0  # seconds


@click.command("export")
@click.option("--email", required=True)
@click.option("--out", type=click.Path(dir_okay=False, writable=True, path_type=Path), help="Default: standard output.")
@click.option(
    "--markdown",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Write each active memory as a Markdown document instead, into a folder that is new or empty.",
)
def export_(email: str, out: Path | None, markdown: Path | None) -> None:
    """Write everything that is kept of a user as one JSON document."""
    if markdown is not None and out is not None:
        raise click.UsageError("--markdown writes a folder: leave --out out")
    if markdown is not None and markdown.exists() and any(markdown.iterdir()):
        raise click.ClickException(f"{markdown} is not empty: name a folder that is new or empty")
    store, now = migrated_store(), utc_now()
    user_id = user_named(store, email)
    with user_session(store.sessions, user_id) as session:
        record(session, user_id, "user.exported", actor="system", now=now, subject_id=user_id)
    if markdown is not None:
        with closing(notes_at_once(store.sessions, user_id, now=now)) as notes:
            written = _write_notes(notes, markdown)
        click.echo(f"Memories written into {markdown}: {written:,}.")
        return
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


def _write_notes(notes: Iterable[Note], folder: Path) -> int:
    """Write documents that their owner alone may read; return how many."""
    written = 0
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for note in notes:
            path = folder / note.path
            path.parent.mkdir(mode=0o700, exist_ok=True)
            with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
                file.write(note.content)
            written += 1
    except OSError as error:
        raise click.ClickException(f"cannot write into {folder}: {error.strerror}") from None
    return written


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
    with _unfinished(out) as file:
        file.writelines(pieces)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def _unfinished(out: Path) -> Iterator[IO[str]]:
    """Open a file that takes the place of `out` at the end."""
    hidden = out.parent / f".{out.name}.{secrets.token_hex(4)}"
    _clear(out)
    descriptor = _without_name(out.parent)
    named = descriptor is None
    if descriptor is None:
        descriptor = os.open(hidden, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        try:
            yield file
            if not named:
                # The path does not use the folder to start from; it has Python follow the link.
                os.link(f"/proc/self/fd/{descriptor}", hidden, src_dir_fd=descriptor)
            hidden.replace(out)
        except BaseException:
            hidden.unlink(missing_ok=True)
            raise


def _clear(out: Path) -> None:
    """Remove what exports to this file left that were killed, and that no export can still be writing."""
    left = re.compile(rf"\.{re.escape(out.name)}\.[0-9a-f]{{8}}")
    # In a folder that others share some of it may be theirs, or nobody may look around.
    with suppress(PermissionError, FileNotFoundError):
        for each in out.parent.iterdir():
            if left.fullmatch(each.name) and time.time() - each.lstat().st_mtime > _ABANDONED:
                each.unlink()


def _without_name(folder: Path) -> int | None:
    """Open a file of which nothing stays where the command is killed; None where the system has no such files."""
    try:
        return os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o600)
    except (AttributeError, OSError):
        return None
