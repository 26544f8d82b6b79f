"""Starting the embedded database again when it was killed."""

from __future__ import annotations

import logging
import threading
import time

from memory.errors import ServerError
from memory.server import EmbeddedServer

logger = logging.getLogger(__name__)

WATCH_SECONDS = 0.5


def revive_if_dead(server: EmbeddedServer) -> None:
    """Start the embedded database again after it was killed."""
    if server.alive():
        return
    logger.warning("PostgreSQL is gone and is started again")
    try:
        server.revive()
    except ServerError:
        logger.exception("PostgreSQL does not start")


def watch(server: EmbeddedServer | None) -> None:
    """Keep the embedded database alive from a thread, in a process that runs without `up`."""
    if server is None:
        return

    def look() -> None:
        while True:
            time.sleep(2 * WATCH_SECONDS)
            revive_if_dead(server)

    threading.Thread(target=look, name="database-watch", daemon=True).start()
