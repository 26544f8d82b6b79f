"""How much room the disk of the data folder is to have left."""

from __future__ import annotations

LEAST_FREE = 500 * 1024 * 1024  # bytes
