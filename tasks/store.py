"""Where the data is: all that a process needs which neither embeds nor searches."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sqlalchemy.orm import Session, sessionmaker

from config import Settings
from memory.keys import Keys
from memory.server.embedded import EmbeddedServer
from memory.storage.database import Databases, from_owner_url, make_engine


@dataclass(frozen=True, slots=True)
class Store:
    """Settings, keys and database of one process; `server` is None with an external database."""

    settings: Settings
    keys: Keys
    databases: Databases
    sessions: sessionmaker[Session]
    server: EmbeddedServer | None

    def close(self) -> None:
        """Close every connection of this process's own pool; an embedded server goes on."""
        self.sessions.kw["bind"].dispose()


def open_store(settings: Settings, *, limit: float = math.inf) -> Store:
    """Find or start the database; connects to nothing else yet.

    `limit` is the seconds that one statement may take, unless a `time_limit` says otherwise.
    """
    keys = Keys(settings.secret_key)
    server, url = None, settings.database_url
    if not url:
        server = EmbeddedServer(settings.home)
        url = server.url
    databases = from_owner_url(url, keys)
    engine = make_engine(databases.app, binary=True, limit=limit)
    return Store(settings, keys, databases, sessionmaker(engine), server)
