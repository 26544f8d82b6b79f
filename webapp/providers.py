"""Which model embeds for the caller, as the interface and the page both see and set it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memory.embedding import queue
from memory.embedding.base import Embedder, EmbeddingError, KeyNotSendableError
from memory.embedding.http import HttpEmbedder
from memory.embedding.models import active_model, reconcile, user_models
from memory.embedding.progress import Progress, progress_of
from memory.embedding.providers import clear_setting, save_setting, setting_of
from memory.errors import ConflictError, InvalidError
from memory.models import EmbeddingModel, ModelFailure, ProviderSetting
from memory.record.journal import record
from memory.remote.model_failures import failure_of
from tasks.embedding import nudge
from webapp.context import credential, runtime, session, utc_now
from webapp.outside import TRIALS

# Where an address has what lets its owner in: a password before the host, and what a query gives its parameters.
_PASSWORD = re.compile(r"(?<=//)([^/?#:@]*):[^/?#]+(?=@)")
_VALUE = re.compile(r"(?<=[?&])([^=&#]*)=[^&#]+")

SENTENCE = "A commonplace book keeps what is worth remembering."


@dataclass(frozen=True, slots=True)
class Standing:
    """The user's models with how far each is, the active one first; the user's own setting, if any.

    `locked` is true while the system's own endpoint embeds, and nothing can be set. `is_read_elsewhere` is true where
    the server has a language model that texts are sent to, whatever embeds them. `embeds` is false where nothing is set
    up that makes vectors, by the server or by the user.
    """

    models: Sequence[tuple[EmbeddingModel, Progress]]
    setting: ProviderSetting | None
    locked: bool
    is_read_elsewhere: bool
    embeds: bool

    @property
    def stays_here(self) -> bool:
        """Tell whether no text of the user leaves this machine, to be embedded or read."""
        return not self.is_read_elsewhere and not any(model.endpoint_url for model, _ in self.models)

    @property
    def busy(self) -> bool:
        """Tell whether something still waits for its vector, or a model for its turn."""
        return any(progress.waiting or model.state == "building" for model, progress in self.models)

    @property
    def pace(self) -> int:
        """Return in how many seconds there may be something new: later while all that wait wait for a provider."""
        return 1 if any(_is_moving(model, progress) for model, progress in self.models) else 10


def _is_moving(model: EmbeddingModel, progress: Progress) -> bool:
    takes_over = model.state == "building" and not progress.failed
    return not model.rests_until and bool(progress.waiting or takes_over)


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of trying an endpoint: its dimensions, or the error in words; `seconds` is how long it took."""

    dimensions: int | None
    error: str | None
    seconds: float


def shown_address(endpoint_url: str) -> str:
    """Return an address without its secrets, as it is told to agents and beside a model."""
    return _VALUE.sub(r"\1=***", _PASSWORD.sub(r"\1:***", endpoint_url))


def standing() -> Standing:
    """Return the models, the setting and how far the vectors are; a confined token is told those of its own space."""
    who = credential()
    models = user_models(session(), who.user_id)
    progress = [progress_of(session(), who.user_id, model.id, who.space_id) for model in models]
    setting = setting_of(session(), who.user_id)
    told = list(zip(models, progress, strict=True))
    locked = runtime().providers.is_fixed(session(), who.user_id)
    embeds = runtime().providers.embeds(session(), who.user_id)
    return Standing(told, setting, locked, runtime().chat_model is not None, embeds)


def failing_endpoints() -> list[str]:
    """Return which endpoints the visitor should know of that fail; an admin the server's own too.

    See `Providers.failing` for those that embed, of which it is one at most; `reader` is the language model. What a
    search finds out for itself it says itself, and leaves no trace here.
    """
    who = credential()
    for_all = "admin" in who.scopes
    embeds = runtime().providers.failing(session(), who.user_id, utc_now(), for_all=for_all)
    reads = "reader" if for_all and reader_failure() is not None else None
    return [each for each in (embeds, reads) if each is not None]


def reader_failure() -> ModelFailure | None:
    """Return what the server's language model failed by when it was asked last; None where it answered, or is none."""
    model = runtime().chat_model
    return failure_of(session(), runtime().keys, model) if model is not None else None


def save(fields: Mapping[str, Any]) -> None:
    """Use an endpoint of one's own and begin to re-embed; raises `InvalidError` when it cannot be one.

    Raises `ConflictError` while the system's own embeds: what was stored then would have no effect.
    """
    if runtime().providers.is_fixed(session(), credential().user_id):
        raise ConflictError(
            "the server's own endpoint embeds for all of its users: no other can be set", "endpoint_url"
        )
    # Committed first: looking up a name may take as long as an answer, and somebody else needs the connection.
    session().commit()
    try:
        _embedder(fields).check_address()
    except EmbeddingError as error:
        raise InvalidError("endpoint_url", str(error)) from error
    save_setting(session(), credential().user_id, fields, keys=runtime().keys, now=utc_now())
    told = {"provider_type": fields["provider_type"], "model": fields["model"]}
    record(session(), credential().user_id, "provider.set", actor=credential().actor, now=utc_now(), details=told)
    _adopt()


def remove() -> None:
    """Forget the endpoint and its key, and begin to re-embed."""
    clear_setting(session(), credential().user_id)
    record(session(), credential().user_id, "provider.removed", actor=credential().actor, now=utc_now())
    _adopt()


def try_out(fields: Mapping[str, Any]) -> Trial:
    """Embed one sentence with an endpoint, without storing anything; raises `InvalidError` when it cannot be one.

    So it does where as many are tried as may be at once.
    """
    if (trial := _tried(lambda: _embedder(fields))) is None:
        raise InvalidError("endpoint_url", "was not tried, as others are being tried: do it again in a moment")
    return trial


def try_serving() -> Trial | None:
    """Embed one sentence with the endpoint whose vectors serve; None where none does, or it was not asked."""
    model = active_model(session(), credential().user_id)
    if model is None or model.endpoint_url is None:
        return None
    session().expunge(model)
    return _tried(lambda: runtime().providers.embedder(model).embedder)


def _tried(made: Callable[[], Embedder]) -> Trial | None:
    # Committed first: the answer may take as long as it is waited for, and somebody else needs the connection.
    session().commit()
    started = time.perf_counter()
    with TRIALS.one() as is_mine:
        if not is_mine:
            return None
        try:
            vector = made().embed([SENTENCE])
        except (EmbeddingError, ConflictError) as error:
            # The latter where the key was encrypted with another secret.
            return Trial(None, str(error), time.perf_counter() - started)
    return Trial(int(vector.shape[1]), None, time.perf_counter() - started)


def retry() -> int:
    """Try again at once what has failed; returns how many rows."""
    retried = queue.retry_failed(session(), credential().user_id, utc_now())
    session().commit()
    nudge()
    return retried


def stored_key(endpoint_url: str) -> str | None:
    """Return the key that is stored for exactly this endpoint; no other gets to see it."""
    setting = setting_of(session(), credential().user_id)
    if setting is None or setting.api_key is None or setting.endpoint_url != endpoint_url:
        return None
    return runtime().keys.decrypt(setting.api_key)


def _embedder(fields: Mapping[str, Any]) -> HttpEmbedder:
    names = ("provider_type", "endpoint_url", "model", "api_key", "dimensions")
    public_only = runtime().providers.system.public_only
    try:
        return HttpEmbedder(*(fields[name] for name in names), public_only=public_only)
    except KeyNotSendableError as error:
        raise InvalidError("api_key", str(error)) from error
    except EmbeddingError as error:
        raise InvalidError("endpoint_url", str(error)) from error


def _adopt() -> None:
    session().flush()
    user_id = credential().user_id
    try:
        target = runtime().providers.target(session(), user_id)
    except EmbeddingError as error:
        raise ConflictError(f"there is no model to go to: {error}") from error
    reconcile(session(), user_id, target, now=utc_now())
    session().commit()
    nudge()
