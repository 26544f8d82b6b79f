"""Starting the embedded database again when it was killed or told to stop, and keeping its log small."""

from __future__ import annotations

import logging
import threading
import time

from memory.errors import ServerError
from memory.server.embedded import READS_AGAIN, EmbeddedServer

logger = logging.getLogger(__name__)

WATCH_SECONDS = 0.5


def revive_if_dead(server: EmbeddedServer) -> bool:
    """Start the embedded database again after it was killed; False when its folder is gone.

    A server that still runs there writes into files that nobody can open any more.
    """
    # A server that this process has left may have been stopped by that, and others may remove its folder then. Asked
    # last, as this process may leave meanwhile.
    if server.gone() and not server.left():
        logger.error("the data folder %s was deleted or replaced", server.folder)
        server.abandon()
        return False
    if server.alive() or server.left():
        return True
    # Logged only as it changes: the server is looked at every moment, and may be starting for long.
    known = server.awaited
    if not known:
        logger.warning("PostgreSQL is gone and is started again")
    try:
        server.revive()
    except ServerError as error:
        logger.error("%s", error)
    if not known and server.awaited:
        logger.warning(READS_AGAIN)
    return True


def look_after(server: EmbeddedServer) -> bool:
    """Keep the embedded database alive, and its log small; False when its folder is gone."""
    if not revive_if_dead(server):
        return False
    server.end_if_stopping()
    server.keep_log_small()
    return True


def watch(server: EmbeddedServer | None) -> None:
    """Look after the embedded database from a thread, in a process that runs without `up`."""
    if server is None:
        return

    def look() -> None:
        time.sleep(2 * WATCH_SECONDS)
        while look_after(server):
            time.sleep(2 * WATCH_SECONDS)

    threading.Thread(target=look, name="database-watch", daemon=True).start()
