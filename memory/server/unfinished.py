"""A folder that has its name only once it is whole and on the disk, whatever is killed meanwhile."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from memory.errors import BackupError
from memory.server.folder import sync

PARTIAL = ".partial"
# Held by whoever fills or removes a folder, and by the programs that it has started.
_LOCK = "lock"
SYNCED_AT_ONCE = 16


@contextmanager
def unfinished(folder: Path) -> Iterator[tuple[Path, int]]:
    """Yield a folder beside `folder` to be filled, which takes its name at the end, and the open file that holds it.

    What one that was killed has left there is removed first, and everything again where this fails.

    Raises `BackupError` where something has that name, or somebody else is at it.
    """
    with _claimed(folder.with_name(folder.name + PARTIAL)) as (partial, held):
        try:
            refuse_existing(folder)
            yield partial, held
            (partial / _LOCK).unlink()
            _sync_all(partial)
            partial.rename(folder)
            sync(folder.parent)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise


def refuse_existing(folder: Path) -> None:
    """Raise `BackupError` where something has the name of a folder that is to be."""
    if os.path.lexists(folder):
        raise BackupError(f"{folder} is there already: name a folder that is not")


def is_left(folder: Path) -> bool:
    """Tell whether something stands where `unfinished` would fill a folder."""
    return os.path.lexists(folder.with_name(folder.name + PARTIAL))


def remove_whole(folder: Path) -> None:
    """Remove a folder, which has another name before anything of it is gone."""
    partial = folder.rename(folder.with_name(folder.name + PARTIAL))
    sync(folder.parent)
    shutil.rmtree(partial)


def remove_left(place: Path, names: re.Pattern[str]) -> list[Path]:
    """Remove what was left of folders with such names by those who were killed, and return what that was."""
    removed = []
    for partial in sorted(place.glob(f"*{PARTIAL}")):
        if not names.fullmatch(partial.name.removesuffix(PARTIAL)):
            continue
        try:
            with _claimed(partial):
                shutil.rmtree(partial)
        except BackupError:
            continue  # Somebody is at it.
        removed.append(partial)
    return removed


@contextmanager
def _claimed(partial: Path) -> Iterator[tuple[Path, int]]:
    """Make a folder, or empty the one that is there, and hold it."""
    partial.mkdir(mode=0o700, exist_ok=True)
    if partial.is_symlink() or partial.stat().st_uid != os.geteuid():
        raise BackupError(f"{partial} is another account's: name another folder")
    partial.chmod(0o700)
    lock = partial / _LOCK
    # A file, as file systems of a network hold no folder.
    with lock.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Whoever had it may have finished, and the folder its name.
            ours = os.path.samestat(lock.stat(), os.fstat(file.fileno()))
        except (BlockingIOError, FileNotFoundError):
            ours = False
        if not ours:
            raise BackupError(
                f"another backup writes {partial}, or what was killed has not ended yet: wait for its end"
            )
        for each in partial.iterdir():
            if each != lock:
                shutil.rmtree(each) if each.is_dir() and not each.is_symlink() else each.unlink()
        yield partial, file.fileno()


def _sync_all(folder: Path) -> None:
    """Have all of a folder written to the disk."""
    paths = [Path(place) / name for place, _folders, files in os.walk(folder) for name in (".", *files)]
    # One after the other, each of some thousand files would wait for a turn of the disk.
    with ThreadPoolExecutor(SYNCED_AT_ONCE) as pool:
        for _ in pool.map(sync, paths):
            pass
