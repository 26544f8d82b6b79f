"""What a process needs to do its work, wired once from the settings."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session, sessionmaker

from config import Settings
from memory.database import Databases, from_owner_url, make_engine
from memory.embedding.backfill import Backfill
from memory.embedding.providers import Providers, System
from memory.keys import Keys
from memory.llm import ChatModel
from memory.redis_link import RedisLink
from memory.server import EmbeddedServer
from memory.session_state import SessionStates
from retrieval.aside import Aside

# Searches of one process that may use a second connection at once; two cores serve no more of them sooner.
ASIDE = 4


@dataclass(frozen=True, slots=True)
class Runtime:
    """Settings, database, keys and embedders of one process; `server` is None with an external database."""

    settings: Settings
    keys: Keys
    databases: Databases
    sessions: sessionmaker[Session]
    providers: Providers
    backfill: Backfill
    aside: Aside
    server: EmbeddedServer | None
    redis: RedisLink | None
    states: SessionStates
    chat_model: ChatModel | None

    def close(self) -> None:
        """Close every connection of this process's own pools; an embedded server goes on."""
        self.aside.close()
        if self.redis is not None:
            self.redis.close()
        self.sessions.kw["bind"].dispose()


def build(settings: Settings, *, threads: int | None = None) -> Runtime:
    """Find or start the database and wire everything to it; connects to nothing else yet.

    `threads` caps the threads of a local model in this process; None lets its library choose.
    """
    keys = Keys(settings.secret_key)
    server = None if settings.database_url else EmbeddedServer(settings.home)
    databases = from_owner_url(settings.database_url or server.url, keys)  # type: ignore[union-attr]
    sessions = sessionmaker(make_engine(databases.app, binary=True))
    aside = Aside(make_engine(databases.app, pool_size=ASIDE, binary=True), ASIDE)
    proofs = settings.home / "models"
    system = System(settings.embedding_model, settings.llamacpp_url, settings.llamacpp_model, threads, proofs)
    redis = RedisLink(settings.redis_url) if settings.redis_url else None
    providers = Providers(system, keys, redis)
    return Runtime(
        settings=settings,
        keys=keys,
        databases=databases,
        sessions=sessions,
        providers=providers,
        backfill=Backfill(sessions, providers),
        aside=aside,
        server=server,
        redis=redis,
        states=SessionStates(redis),
        chat_model=_chat_model(settings),
    )


def _chat_model(settings: Settings) -> ChatModel | None:
    if settings.llm_url is None:
        return None
    return ChatModel(settings.llm_url, settings.llm_model, settings.llm_api_key)
