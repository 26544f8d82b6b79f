"""How much room the disk of the data folder is to have left."""

from __future__ import annotations

import shutil
from pathlib import Path

LEAST_FREE = 500 * 1024 * 1024  # bytes


def alerts_of_disk(home: Path) -> list[str]:
    """Return what an admin should know of the disk that the database is on, in words."""
    room = shutil.disk_usage(home)
    # Of some file systems nothing is told.
    if room.free >= LEAST_FREE or not room.total:
        return []
    left = f"The disk of {home} has {room.free // 1024**2} MiB left"
    return [f"{left}. Once it is full nothing is stored any more: make room."]
