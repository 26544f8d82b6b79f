"""Starting the embedded database again when it was killed."""

from __future__ import annotations

import logging
import threading
import time

from memory.errors import ServerError
from memory.server import EmbeddedServer

logger = logging.getLogger(__name__)

WATCH_SECONDS = 0.5


def revive_if_dead(server: EmbeddedServer) -> bool:
    """Start the embedded database again after it was killed; False when its folder is gone, and there is none."""
    # In this order: who has left may have stopped it.
    if server.alive() or server.left():
        return True
    if server.gone():
        logger.error("PostgreSQL is gone, and so is its data folder %s", server.folder)
        return False
    logger.warning("PostgreSQL is gone and is started again")
    try:
        server.revive()
    except ServerError:
        logger.exception("PostgreSQL does not start")
    return True


def watch(server: EmbeddedServer | None) -> None:
    """Keep the embedded database alive from a thread, in a process that runs without `up`."""
    if server is None:
        return

    def look() -> None:
        time.sleep(2 * WATCH_SECONDS)
        while revive_if_dead(server):
            time.sleep(2 * WATCH_SECONDS)

    threading.Thread(target=look, name="database-watch", daemon=True).start()
