"""What a process needs to do its work, wired once from the settings."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlalchemy.orm import Session

from config import Settings
from memory.clock import utc_now
from memory.conversations.session_state import SessionStates
from memory.embedding.backfill import Backfill
from memory.embedding.providers import NO_LOCAL_MODEL, Providers, System
from memory.operators.jobs import backlog_of_models
from memory.record.telemetry import telemetry
from memory.remote.llm import ChatModel
from memory.remote.model_failures import note_answer
from memory.remote.redis_link import RedisLink
from tasks.store import Store, open_store

if TYPE_CHECKING:
    from retrieval.reading.reading import Reader

# A model on a machine like this one takes long over what many messages say.
PATIENCE = 60.0  # seconds, for an answer


@dataclass(frozen=True, slots=True)
class Runtime(Store):
    """The store of one process, and what embeds, searches and speaks with models over it."""

    providers: Providers
    backfill: Backfill
    redis: RedisLink | None
    states: SessionStates
    chat_model: ChatModel | None

    def reader(self) -> Reader | None:
        """What reads questions and notes together, loaded when first wanted; None where no model shall run here."""
        if self.settings.embedding_model == NO_LOCAL_MODEL:
            return None
        # Here, as what runs it takes half a second to load, which most commands need not wait for.
        from retrieval.reading.reading import shared_reader  # noqa: PLC0415

        return shared_reader()

    def telemetry(self, session: Session, now: datetime) -> dict[str, Any]:
        """Return what `memory.record.telemetry` counts; what waits for a vector only where something makes it."""
        numbers = telemetry(session, now)
        if self.providers.embeds_for_all:
            return numbers
        with self.databases.as_owner() as engine, Session(engine) as owner:
            return {**numbers, **backlog_of_models(owner, now)}

    def close(self) -> None:
        """Close every connection of this process's own pools; an embedded server goes on."""
        if self.redis is not None:
            self.redis.close()
        Store.close(self)


def build(settings: Settings, *, threads: int | None = None, limit: float = math.inf) -> Runtime:
    """Find or start the database and wire everything to it; connects to nothing else yet.

    `threads` caps the threads of a local model in this process; None lets its library choose. For `limit` see
    `open_store`.
    """
    store = open_store(settings, limit=limit)
    system = System(
        local_model=settings.embedding_model,
        llamacpp_url=settings.llamacpp_url,
        llamacpp_model=settings.llamacpp_model,
        threads=threads,
        proofs=settings.home / "models",
        public_only=settings.provider_addresses == "PUBLIC",
    )
    redis = RedisLink(settings.redis_url) if settings.redis_url else None
    providers = Providers(system, store.keys, redis)
    return Runtime(
        settings=settings,
        keys=store.keys,
        databases=store.databases,
        sessions=store.sessions,
        server=store.server,
        providers=providers,
        backfill=Backfill(store.sessions, providers),
        redis=redis,
        states=SessionStates(redis),
        chat_model=_chat_model(settings, store),
    )


def _chat_model(settings: Settings, store: Store) -> ChatModel | None:
    if settings.llm_url is None:
        return None
    heard = partial(note_answer, store.sessions, store.keys, utc_now)
    return ChatModel(settings.llm_url, settings.llm_model, settings.llm_api_key, settings.llm_timeout, heard=heard)


def patient(chat_model: ChatModel) -> ChatModel:
    """Return a language model for what nobody waits for: it is given longer, and left alone after its own failures."""
    return replace(chat_model, timeout=max(PATIENCE, chat_model.timeout))
