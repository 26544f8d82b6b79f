"""The log of a server: kept small, and read for why the server ended."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from memory.server.folder import FATAL

_ERROR = re.compile("ERROR: +(.+)")
# What a server says that reads again what it wrote, and cannot write that to its files.
_CONSEQUENCE = "checkpoint request failed"


def size(log: Path) -> int:
    """Return the bytes of a log, 0 where there is none."""
    try:
        return log.stat().st_size
    except OSError:
        return 0


def keep_end(log: Path, kept: Path, most: int) -> None:
    """Write the last `most` bytes of a log to the file `kept`, with the log's own permissions."""
    # Not all of it: what an earlier version let grow may be more than the disk has room for, and the database on it.
    with log.open("rb") as file, kept.open("wb") as end:
        file.seek(-most, os.SEEK_END)
        shutil.copyfileobj(file, end)
    shutil.copymode(log, kept)


def last_words(log: Path, begins: int) -> str:
    """Return why a server ended, as its log says from a byte on; empty where it does not."""
    try:
        with log.open("rb") as file:
            file.seek(begins)
            told = file.read().decode(errors="replace")
    except OSError:
        return ""
    said = FATAL.findall(told)
    if said and said[-1].strip() == _CONSEQUENCE:
        # Of what another process of it met, as that the disk is full.
        said += _ERROR.findall(told)
    return said[-1].strip() if said else ""
