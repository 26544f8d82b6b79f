"""What a process needs to do its work, wired once from the settings."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session, sessionmaker

from config import Settings
from memory.database import Databases, from_owner_url, make_engine
from memory.embedding.backfill import Backfill
from memory.embedding.providers import Providers, System
from memory.keys import Keys
from memory.server import EmbeddedServer


@dataclass(frozen=True, slots=True)
class Runtime:
    """Settings, database, keys and embedders of one process; `server` is None with an external database."""

    settings: Settings
    keys: Keys
    databases: Databases
    sessions: sessionmaker[Session]
    providers: Providers
    backfill: Backfill
    server: EmbeddedServer | None


def build(settings: Settings, *, threads: int | None = None) -> Runtime:
    """Find or start the database and wire everything to it; connects to nothing else yet.

    `threads` caps torch's threads in this process; None lets torch choose.
    """
    keys = Keys(settings.secret_key)
    server = None if settings.database_url else EmbeddedServer(settings.home)
    databases = from_owner_url(settings.database_url or server.url, keys)  # type: ignore[union-attr]
    sessions = sessionmaker(make_engine(databases.app))
    system = System(settings.embedding_model, settings.llamacpp_url, settings.llamacpp_model, threads)
    providers = Providers(system, keys)
    return Runtime(settings, keys, databases, sessions, providers, Backfill(sessions, providers), server)
