"""`/v1/providers`: which model embeds for this user."""

from __future__ import annotations

from typing import Any

from flask import Response, jsonify

from memory.embedding.progress import Progress
from memory.models import EmbeddingModel
from webapp.api.account_answers import ProvidersAnswer, TrialAnswer
from webapp.api.blueprint import api_blueprint
from webapp.api.schemas import ProviderBody, moment
from webapp.guards import needs, refuse_confined, require_scope
from webapp.providers import remove, save, shown_address, standing, try_out

bp = api_blueprint("providers", "Embedding providers", "/v1/providers")


@bp.get("", summary="The provider in force", responses={"200": ProvidersAnswer})
@needs("read")
def read() -> Response:
    """Answer the models of the user, the user's own setting, and whether the system's endpoint overrides it."""
    return _state()


def _state() -> Response:
    found = standing()
    own = None
    if found.setting is not None:
        setting = found.setting
        own = {name: getattr(setting, name) for name in ("provider_type", "model", "dimensions", "enabled")}
        own |= {"endpoint_url": shown_address(setting.endpoint_url), "has_api_key": setting.api_key is not None}
    models = [_model_json(model, progress) for model, progress in found.models]
    return jsonify({"models": models, "setting": own, "locked_by_system": found.locked})


def _model_json(model: EmbeddingModel, progress: Progress) -> dict[str, Any]:
    names = ("provider_type", "model", "dimensions", "state")
    address = shown_address(model.endpoint_url) if model.endpoint_url else None
    counts = {"total": progress.total, "ready": progress.ready, "failed": progress.failed}
    told = {name: getattr(model, name) for name in names}
    resting = {"error": model.error, "rests_until": moment(model.rests_until)}
    return {"id": str(model.id), **told, "endpoint_url": address, "progress": counts, **resting}


@bp.put("", summary="Use an embedding endpoint of one's own", responses={"200": ProvidersAnswer})
@needs("write")
def put(body: ProviderBody) -> Response:
    """Check that it can be an endpoint, store it with the key encrypted, and begin to re-embed.

    Everything that is kept is sent there, so this needs the scope `read` as well.
    """
    refuse_confined("choose what embeds the others")
    require_scope("read")
    save(body.model_dump())
    return _state()


@bp.delete("", summary="Go back to the local model", responses={"200": ProvidersAnswer})
@needs("write")
def delete() -> Response:
    """Forget the endpoint and its key, and begin to re-embed."""
    refuse_confined("choose what embeds the others")
    remove()
    return _state()


@bp.post("/test", summary="Try an endpoint without storing it", responses={"200": TrialAnswer})
@needs("write")
def test(body: ProviderBody) -> Response:
    """Embed one sentence with it; answer the dimensions and the seconds, or what went wrong."""
    refuse_confined("choose what embeds the others")
    trial = try_out(body.model_dump())
    if trial.error is not None:
        return jsonify({"ok": False, "error": trial.error})
    return jsonify({"ok": True, "dimensions": trial.dimensions, "seconds": round(trial.seconds, 3)})
