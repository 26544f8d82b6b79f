"""Which provider embeds for a user: system llama.cpp, the user's endpoint, the local model, or none."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import and_, delete, func, literal, not_, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from memory.embedding.base import Embedder, EmbeddingError
from memory.embedding.cache import CachedEmbedder, Drawer, Recent, SharedVectors, Vector
from memory.embedding.http import ANSWER_SECONDS, HttpEmbedder
from memory.embedding.local import LocalEmbedder, Questions, resolve_model
from memory.embedding.models import Target, user_models
from memory.embedding.prompt import PATIENCE, PromptEmbedder
from memory.embedding.query_encoder import version
from memory.errors import DomainError
from memory.keys import Keys
from memory.models import EmbeddingModel, ProviderSetting
from memory.remote.redis_link import RedisLink

HEALTH_SECONDS = 30.0
ILLNESS_SECONDS = 3.0
# Embedders that are kept, those that were used last: each may hold a connection, and users name ever new endpoints.
MOST_MADE = 64
NO_LOCAL_MODEL = "none"
# A model that failed still counts as failing for so long after its rest: it is being asked again, which may take time.
ASKED_AGAIN_WITHIN = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class System:
    """What the installation offers. `local_model` is a folder, a hub name, `bundled` or `none`.

    `proofs` is a folder for what proves that a local model may run compiled. With `public_only` users' own endpoints
    are asked at public addresses alone.
    """

    local_model: str
    llamacpp_url: str | None = None
    llamacpp_model: str = "default"
    threads: int | None = None
    proofs: Path | None = None
    public_only: bool = False


class Providers:
    """The embedders of one process, shared by its threads, and the vectors that they made."""

    def __init__(self, system: System, keys: Keys, redis: RedisLink | None = None) -> None:
        self.system = system
        self._keys = keys
        self._recent = Recent()
        self._shared = SharedVectors(keys, redis)
        self._made: dict[tuple[Any, ...], Embedder] = {}
        self._lock = threading.Lock()
        self._health = (False, 0.0)

    def target(self, session: Session, user_id: UUID) -> Target | None:
        """Return the model that the rules of precedence give this user now.

        It is the system endpoint's wherever `is_fixed`.
        """
        if self.is_fixed(session, user_id):
            return Target("llamacpp", self.system.llamacpp_model, self.system.llamacpp_url)
        setting = session.get(ProviderSetting, user_id)
        if setting is not None and setting.enabled:
            return Target(
                setting.provider_type,
                setting.model,
                setting.endpoint_url,
                setting.api_key,
                setting.dimensions,
            )
        if self.system.local_model != NO_LOCAL_MODEL:
            return Target("local", resolve_model(self.system.local_model)[1])
        return None

    def is_fixed(self, session: Session, user_id: UUID) -> bool:
        """Tell whether the system endpoint embeds for the user, whatever the user sets: it is configured, and healthy.

        A user who is on it already, or moving there, stays while it is configured: an outage must not re-embed
        everything, it only degrades search.
        """
        if self.system.llamacpp_url is None:
            return False
        return any(map(self._on_system, user_models(session, user_id))) or self.system_healthy()

    @property
    def embeds_for_all(self) -> bool:
        """Tell whether the server itself embeds for whoever sets nothing, be it away at the moment."""
        return bool(self.system.llamacpp_url) or self.system.local_model != NO_LOCAL_MODEL

    def embeds(self, session: Session, user_id: UUID) -> bool:
        """Tell whether anything is set up that embeds for the user, be it away at the moment.

        A model of before embeds on where there is nothing that it could give way to.
        """
        if self.embeds_for_all:
            return True
        setting = session.get(ProviderSetting, user_id)
        return (setting is not None and setting.enabled) or bool(user_models(session, user_id))

    def failing(self, session: Session, user_id: UUID, now: datetime, *, for_all: bool) -> str | None:
        """Return which endpoint gave no vector when a worker asked it last; None where all is well.

        `active` is the user's own that serves, `building` the user's own that is to take over. With `for_all` the
        system's counts too, whomever it failed for, and comes first as `system`. It takes one statement; no endpoint is
        asked.
        """
        since, systems = now - ASKED_AGAIN_WITHIN, ("llamacpp", self.system.llamacpp_url)
        on_system = and_(EmbeddingModel.provider_type == systems[0], EmbeddingModel.endpoint_url == systems[1])
        own = select(EmbeddingModel.state).where(
            EmbeddingModel.user_id == user_id,
            EmbeddingModel.rests_until > since,
            EmbeddingModel.endpoint_url.is_not(None),
            not_(on_system),
        )
        servers = select(literal("system")).where(func.endpoint_rests(*systems, since))
        asked = own.union_all(servers) if for_all and self.system.llamacpp_url is not None else own
        return max(session.scalars(asked), key=("building", "active", "system").index, default=None)

    def _on_system(self, model: EmbeddingModel) -> bool:
        return (model.provider_type, model.endpoint_url) == ("llamacpp", self.system.llamacpp_url)

    def system_healthy(self) -> bool:
        """Tell whether the system's llama.cpp endpoint answers; believed for 30 seconds, an outage for three."""
        if self.system.llamacpp_url is None:
            return False
        healthy, until = self._health
        if time.monotonic() < until:
            return healthy
        probe = HttpEmbedder("llamacpp", self.system.llamacpp_url, self.system.llamacpp_model, None, None)
        healthy = probe.healthy()
        self._health = (healthy, time.monotonic() + (HEALTH_SECONDS if healthy else ILLNESS_SECONDS))
        return healthy

    def embedder(self, model: EmbeddingModel, *, asked: bool = False) -> CachedEmbedder:
        """Return the embedder of a stored model, with what it embedded lately for the model's owner.

        With `asked` it embeds questions: some models tell them from what is stored, and an endpoint is asked with
        little patience, as somebody waits for the answer. Raises a permanent
        `EmbeddingError` when this installation cannot run it (any more).
        """
        key: tuple[Any, ...] = ("local", model.model)
        if model.provider_type != "local":
            key = (model.provider_type, model.model, model.endpoint_url, model.api_key, model.dimensions, asked)
        with self._lock:
            embedder = self._made.pop(key, None) or self._make(model, asked=asked)
            self._made[key] = embedder
            if len(self._made) > MOST_MADE:
                del self._made[next(iter(self._made))]
        drawer = self._drawer(model, asked=asked)
        if asked and isinstance(embedder, LocalEmbedder):
            embedder = Questions(embedder)
        name = partial(self._shared.name, drawer.user_id)
        # The name has the dimensions, as one model may be asked for vectors of another size, and cached ones are not
        # measured.
        made_by = f"{drawer.model}:{model.dimensions or ''}"
        return CachedEmbedder(embedder, recent=self._recent, model=made_by, name=name)

    def query_embedder(
        self, model: EmbeddingModel, session: Session | None = None, now: datetime | None = None
    ) -> QueryEmbedder:
        """Return what embeds questions for a stored model; whatever is wrong shows when it is used.

        With `session` and `now` it also asks the shared cache and adds to it, unless making the vector takes no
        longer; the caller commits.
        """
        return QueryEmbedder(self, model, session, now)

    def _drawer(self, model: EmbeddingModel, *, asked: bool = False) -> Drawer:
        """Return where a model's vectors are kept: those of questions apart where they may differ."""
        where = self._keys.digest("embedding endpoint", model.endpoint_url or "").hex()[:16]
        apart = f":asked:{version()}" if asked and model.provider_type == "local" else ""
        return Drawer(model.user_id, f"{model.provider_type}:{model.model}:{where}{apart}")

    def known_vectors(
        self, session: Session, model: EmbeddingModel, texts: Iterable[str], now: datetime, *, asked: bool = False
    ) -> dict[str, Vector]:
        """Return the vectors of texts, or of questions, that the model made in the last seven days, by text."""
        found = self._shared.fetch(session, self._drawer(model, asked=asked), list(texts), now)
        return {text: vector for text, vector in found.items() if model.dimensions in {None, vector.shape[0]}}

    def embed_texts(
        self, model: EmbeddingModel, texts: Sequence[str], known: Mapping[str, Vector]
    ) -> NDArray[np.float32]:
        """Return one row per text, in order, asking the model only for those that are not known, each once.

        Raises `EmbeddingError` as the embedder does.
        """
        embedder = self.embedder(model).embedder
        missing = list(dict.fromkeys(text for text in texts if text not in known))
        if model.dimensions is None and not missing:
            # One text is embedded in any case: cached vectors do not tell how long those are that the endpoint makes by
            # now.
            missing = list(texts[:1])
        made = dict(zip(missing, embedder.embed(missing), strict=True)) if missing else {}
        rows = [made[text] if text in made else known[text] for text in texts]
        if len({row.shape[0] for row in rows}) > 1:
            # New vectors are longer or shorter than cached ones: behind the same name another model answers, so all are
            # made anew.
            return embedder.embed(texts)
        return np.stack(rows)

    def keep_vectors(
        self,
        session: Session,
        model: EmbeddingModel,
        vectors: Mapping[str, Vector],
        now: datetime,
        *,
        asked: bool = False,
    ) -> None:
        """Keep vectors that the model made, by text or question, for seven days. The caller commits."""
        self._shared.keep(session, self._drawer(model, asked=asked), vectors, now)

    def is_quick(self, embedder: Embedder) -> bool:
        """Tell whether an embedder has made a question's vector as soon as the database would have been asked for it.

        Loads a local model, and raises what that raises.
        """
        return not self._shared.in_redis and isinstance(embedder, Questions) and embedder.compiled

    def _make(self, model: EmbeddingModel, *, asked: bool) -> Embedder:
        if model.provider_type == "local":
            # An older one serves until its successor is complete: its label is all that it takes to find it.
            return LocalEmbedder(model.model, self.system.threads, self.system.proofs)
        api_key = self._keys.decrypt(model.api_key) if model.api_key else None
        where = (model.provider_type, model.endpoint_url or "", model.model, api_key, model.dimensions)
        public_only = self.system.public_only and not self._on_system(model)
        timeout = PATIENCE if asked else ANSWER_SECONDS
        made = HttpEmbedder(*where, timeout=timeout, public_only=public_only)
        return PromptEmbedder(made) if asked else made

    def preload(self, *, asked: bool = True) -> bool:
        """Load the configured local model, so that the first search does not wait for it; tell if it runs compiled.

        Without `asked` only as much of it as embeds what is stored.
        """
        if self.system.local_model == NO_LOCAL_MODEL:
            return False
        label = resolve_model(self.system.local_model)[1]
        local = self.embedder(EmbeddingModel(provider_type="local", model=label)).embedder
        assert isinstance(local, LocalEmbedder)
        (local.embed_questions if asked else local.embed)(["warm up"])
        return local.compiled


class QueryEmbedder:
    """Embeds questions by one stored model, which it looks up only when it is asked."""

    def __init__(
        self, providers: Providers, model: EmbeddingModel, session: Session | None, now: datetime | None
    ) -> None:
        self._providers = providers
        self._model = model
        self._session = session
        self._now = now

    def embed_one(self, text: str) -> tuple[Vector, bool]:
        """Return (unit vector, cached); raises `EmbeddingError`, also when the model cannot be run here."""
        embedder = self._embedder()
        if self._session is None or self._now is None or embedder.recall(text) is not None:
            return embedder.embed_one(text)
        if self._providers.is_quick(embedder.embedder):
            return embedder.embed_one(text)
        known = self._providers.known_vectors(self._session, self._model, [text], self._now, asked=True)
        if text in known:
            embedder.remember(text, known[text])
            return known[text], True
        vector, cached = embedder.embed_one(text)
        self._providers.keep_vectors(self._session, self._model, {text: vector}, self._now, asked=True)
        return vector, cached

    def _embedder(self) -> CachedEmbedder:
        try:
            return self._providers.embedder(self._model, asked=True)
        except DomainError as error:
            raise EmbeddingError(str(error), permanent=True) from error


def setting_of(session: Session, user_id: UUID) -> ProviderSetting | None:
    """Return the endpoint that the user chose."""
    return session.scalar(select(ProviderSetting).where(ProviderSetting.user_id == user_id))


def clear_setting(session: Session, user_id: UUID) -> None:
    """Forget the endpoint that the user chose."""
    session.execute(delete(ProviderSetting).where(ProviderSetting.user_id == user_id))


def save_setting(
    session: Session, user_id: UUID, fields: Mapping[str, Any], *, keys: Keys, now: datetime
) -> ProviderSetting:
    """Store the endpoint that the user chose, its key encrypted."""
    values = {name: fields[name] for name in ("enabled", "provider_type", "endpoint_url", "model", "dimensions")}
    values["api_key"] = keys.encrypt(fields["api_key"]) if fields.get("api_key") else None
    values["updated_at"] = now
    # All of it or nothing: no endpoint may get the key of another that is saved at the same moment.
    statement = insert(ProviderSetting).values(user_id=user_id, **values)
    statement = statement.on_conflict_do_update(index_elements=[ProviderSetting.user_id], set_=values)
    saved = statement.returning(ProviderSetting)
    return session.scalars(saved, execution_options={"populate_existing": True}).one()
