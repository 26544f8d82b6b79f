"""`commonplace backup`: a data folder beside the one that is in use."""

from __future__ import annotations

import re
import shutil
import time
from dataclasses import replace
from pathlib import Path

import click

import config
from config import Settings
from evals import bench_record, runs
from memory.clock import utc_now
from memory.errors import BackupError
from memory.keys import Keys
from memory.server import base_backup
from memory.server.folder import VERSION_FILE
from memory.server.unfinished import is_left, refuse_existing, remove_left, remove_whole, unfinished
from tasks.store import Store, open_store
from webapp.cli.wiring import has_key

DATABASE = "postgres"
KEY = "secret.key"
# Besides the database and its key: the proofs of models that run here, and what was measured.
FOLDERS = ("models", runs.FOLDER, bench_record.FOLDER)
# What MLflow writes while a run is logged; it is made of the runs, which are files.
_MADE_AGAIN = shutil.ignore_patterns("mlflow*")
# For a backup the server begins new files of what it writes ahead, of 16 MiB each. Without room for them it ends, and
# on a disk that is full no other starts.
WRITTEN_AHEAD = 4 * 16 * 1024 * 1024
# How a backup is called among others.
_NAMES = re.compile(r"commonplace-\d{8}T\d{6}Z")
_STAMP = "commonplace-%Y%m%dT%H%M%SZ"
_PLACE = click.Path(path_type=Path)
_ELSEWHERE = (
    'the database of DATABASE_URL is not in the data folder: `pg_dump -Fc "$DATABASE_URL" > FILE` copies it while the '
    "server runs, and the README says how that is put back. Keep the secret key beside it{key}"
)


@click.command()
@click.argument("folder", type=_PLACE, required=False)
@click.option("--into", type=_PLACE, help="Name the folder by the time, in this one.")
@click.option("--keep", type=click.IntRange(1), help="Of those in there keep so many, the newest; by default all.")
@click.option("--check", is_flag=True, help="Write nothing: tell whether FOLDER is still as it was written.")
def backup(folder: Path | None, into: Path | None, keep: int | None, check: bool) -> None:
    """Copy the data folder to FOLDER while the server runs.

    FOLDER is there only once it is whole, checked and on the disk, and is a data folder itself.
    """
    if check:
        if folder is None or into is not None:
            raise click.UsageError("name the FOLDER to --check, and nothing else")
        base_backup.check(folder / DATABASE)
        click.echo(f"{folder} is as it was written: every file of its database was read.")
        return
    if (folder is None) == (into is None) or (keep is not None and into is None):
        raise click.UsageError("name either a FOLDER or, with --into, one to make it in; --keep needs --into")
    settings = config.load()
    _check_database(settings)
    folder = _place(settings.home, folder or (into or Path()) / utc_now().strftime(_STAMP))
    store = open_store(settings)
    try:
        if into is not None:
            for each in remove_left(folder.parent, _NAMES):
                click.echo(f"Removed what was left in {each}: what wrote it was killed.")
        _back_up(store, folder)
        if keep is not None:
            _keep(folder, keep)
    except shutil.Error as error:
        # It has a list of what was not copied, each with its place and the reason.
        raise BackupError(f"cannot write {folder}: {error.args[0][0][2]}") from error
    except OSError as error:
        raise BackupError(f"cannot write {folder}: {error.strerror}") from error


def _check_database(settings: Settings) -> None:
    """Raise `BackupError` where the data folder has no database."""
    if settings.database_url is not None:
        kept = settings.home / KEY
        raise BackupError(_ELSEWHERE.format(key=f", which is {kept}" if kept.exists() else ""))
    if not _has_database(settings.home):
        raise BackupError(f"there is no database in {settings.home} yet: does COMMONPLACE_HOME name the right folder?")


def _has_database(home: Path) -> bool:
    try:
        return (home / DATABASE / VERSION_FILE).exists()
    except PermissionError:
        return True  # It is told as every command tells it.


def _place(home: Path, folder: Path) -> Path:
    """Return a folder by its full name. Raises `BackupError` where no backup can be made."""
    parent = folder.expanduser().parent.resolve()
    whole = parent / folder.name
    if not parent.is_dir():
        raise BackupError(f"there is no folder {parent}: make it first, or mount its disk")
    if whole.is_relative_to(home):
        raise BackupError(f"{whole} is within the data folder, with which it would be lost: name one elsewhere")
    refuse_existing(whole)
    return whole


def _back_up(store: Store, folder: Path) -> None:
    began, home, server, left = time.monotonic(), store.settings.home, store.server, is_left(folder)
    assert server is not None
    # It may be on a disk of its own.
    _check_room(WRITTEN_AHEAD, server.folder)
    _check_room(base_backup.size(server), folder.parent)
    with unfinished(folder) as (partial, held):
        if left:
            click.echo(f"Removed what was left in {partial}: what wrote it was killed.")
        base_backup.take(server, partial / DATABASE, held)
        with_key = _copy_others(store, partial)
        size = sum(each.lstat().st_size for each in partial.rglob("*") if each.is_file())
    click.echo(f"Wrote {folder}: {_told(size)} in {time.monotonic() - began:.1f} s, each file checked.")
    if left_out := sorted(each.name for each in home.iterdir() if each.name not in {DATABASE, KEY, *FOLDERS}):
        click.echo(f"Left out what no server needs: {', '.join(left_out)}.")
    if not with_key:
        click.echo(f"The secret key is not in it: keep the one that the server is given, which is not {home / KEY}.")
    click.echo("What is forgotten from now on stays in it: delete it once that must be gone everywhere.")


def _check_room(needed: int, place: Path) -> None:
    """Refuse what would fill a disk, which may be that of the database itself."""
    free = shutil.disk_usage(place).free
    if needed > free:
        raise BackupError(f"{place} has room for {_told(free)}, and this takes about {_told(needed)}: make room there")


def _copy_others(store: Store, partial: Path) -> bool:
    """Copy what is in the data folder beside the database; tell whether the secret key in force is there."""
    home = store.settings.home
    for name in FOLDERS:
        if (home / name).is_dir():
            shutil.copytree(home / name, partial / name, ignore=_MADE_AGAIN)
    kept = home / KEY
    # The environment may have another, and this file be none that anything was encrypted with.
    if not kept.exists() or not has_key(replace(store, keys=Keys(kept.read_bytes().strip()))):
        return False
    shutil.copy2(kept, partial / KEY)
    return True


def _keep(newest: Path, number: int) -> None:
    """Remove the older backups beside one but so many with it, and none on which a server has run: that has its own."""
    others = [each for each in newest.parent.iterdir() if _NAMES.fullmatch(each.name) and each != newest]
    # The clock may have been ahead once.
    backups = sorted(each for each in others if base_backup.is_untouched(each / DATABASE))
    for each in backups[: max(len(backups) - number + 1, 0)]:
        try:
            remove_whole(each)
        except OSError as error:
            raise BackupError(f"cannot remove {each}, as --keep is {number}: {error.strerror}") from error
        click.echo(f"Removed {each}, as --keep is {number}.")


def _told(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"
