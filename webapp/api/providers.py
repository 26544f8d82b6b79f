"""`/v1/providers`: which model embeds for this user."""

from __future__ import annotations

from typing import Any

from flask import Response, jsonify

from memory.embedding.base import EmbeddingError
from memory.embedding.http import HttpEmbedder
from memory.embedding.models import reconcile, user_models
from memory.embedding.providers import clear_setting, save_setting, setting_of
from memory.errors import ConflictError, InvalidError
from memory.models import EmbeddingModel
from tasks.embedding import nudge
from webapp.api.blueprint import api_blueprint
from webapp.api.schemas import ProviderBody
from webapp.context import credential, runtime, session, utc_now
from webapp.guards import needs

bp = api_blueprint("providers", "Embedding providers", "/v1/providers")


@bp.get("", summary="The provider in force")
@needs("read")
def read() -> Response:
    """Answer the models of the user, the user's own setting, and whether the system's endpoint overrides it."""
    return _state()


def _state() -> Response:
    setting = setting_of(session(), credential().user_id)
    own = None
    if setting is not None:
        own = {name: getattr(setting, name) for name in ("provider_type", "endpoint_url", "model", "dimensions")}
        own |= {"enabled": setting.enabled, "has_api_key": setting.api_key is not None}
    models = [_model_json(model) for model in user_models(session(), credential().user_id)]
    locked = runtime().providers.system_healthy()
    return jsonify({"models": models, "setting": own, "locked_by_system": locked})


def _model_json(model: EmbeddingModel) -> dict[str, Any]:
    names = ("provider_type", "endpoint_url", "model", "dimensions", "state")
    return {"id": str(model.id), **{name: getattr(model, name) for name in names}}


@bp.put("", summary="Use an embedding endpoint of one's own")
@needs("write")
def put(body: ProviderBody) -> Response:
    """Check that it can be an endpoint, store it with the key encrypted, and begin to re-embed."""
    try:
        HttpEmbedder(body.provider_type, body.endpoint_url, body.model, body.api_key, body.dimensions)
    except EmbeddingError as error:
        raise InvalidError("endpoint_url", str(error)) from error
    save_setting(session(), credential().user_id, body.model_dump(), keys=runtime().keys, now=utc_now())
    return _adopt()


@bp.delete("", summary="Go back to the local model")
@needs("write")
def delete() -> Response:
    """Forget the endpoint and its key, and begin to re-embed."""
    clear_setting(session(), credential().user_id)
    return _adopt()


@bp.post("/test", summary="Try an endpoint without storing it")
@needs("write")
def test(body: ProviderBody) -> Response:
    """Embed one word with it; answer the dimensions, or what went wrong."""
    try:
        embedder = HttpEmbedder(body.provider_type, body.endpoint_url, body.model, body.api_key, body.dimensions)
        vector = embedder.embed(["hello"])
    except EmbeddingError as error:
        return jsonify({"ok": False, "error": str(error)})
    return jsonify({"ok": True, "dimensions": int(vector.shape[1])})


def _adopt() -> Response:
    session().flush()
    user_id = credential().user_id
    try:
        target = runtime().providers.target(session(), user_id)
    except EmbeddingError as error:
        raise ConflictError(f"there is no model to go to: {error}") from error
    reconcile(session(), user_id, target, now=utc_now())
    session().commit()
    nudge()
    return _state()
