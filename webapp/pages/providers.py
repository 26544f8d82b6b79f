"""Which model makes the vectors: set, tried, and changed while the old one serves."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any, ClassVar

from flask import Response, flash, request, url_for
from pydantic import ValidationError

from memory.embedding.http import PROVIDERS
from memory.embedding.providers import setting_of
from memory.errors import ConflictError, InvalidError
from webapp.api.schemas import ProviderBody
from webapp.context import credential, session
from webapp.htmx import render, see_other
from webapp.pages.forms import ShownForm, parse
from webapp.pages.visitor import guarded
from webapp.pages.words import counted
from webapp.plain import problems
from webapp.providers import remove, retry, save, shown_address, standing, stored_key, try_out, try_serving

bp = guarded("providers")

NAMES = {
    "openai": "OpenAI-compatible",
    "ollama": "Ollama",
    "llamacpp": "llama.cpp",
    "custom_http": "another HTTP endpoint",
    "local": "the local model",
}


# What the form shows of a setting: all but its key.
_SHOWN = ("provider_type", "endpoint_url", "model", "dimensions", "enabled")


class ProviderForm(ShownForm, ProviderBody):
    """An endpoint as a form gives it: a box that is not ticked is sent as nothing, a blank key is the stored one."""

    as_text: ClassVar = True

    enabled: bool = False

    def fields(self) -> dict[str, Any]:
        """Return the endpoint with its key."""
        key = self.api_key or stored_key(self.endpoint_url)
        return {**self.model_dump(exclude={"shown"}), "api_key": key}

    def is_overtaken(self, now: dict[str, Any]) -> bool:
        """Tell whether something else is set by now than when the form was shown, and than the form says.

        Of two endpoints nothing is taken together: the key of one would be sent to the other.
        """
        said = {name: getattr(self, name) for name in _SHOWN}
        return "shown" in self.model_fields_set and now not in (self.shown, said)


@bp.get("/providers")
def index() -> Response:
    """Show the models and the setting."""
    return _desk({})


@bp.get("/providers/progress")
def progress() -> Response:
    """Answer how far the models are; the fragment asks again by itself until all is done."""
    return render("providers/index.html", "providers/_progress.html", **_context({}))


@bp.get("/providers/serving")
def serving() -> Response:
    """Ask the endpoint that serves for a vector: until it gives one, searches go by words alone."""
    trial = try_serving()
    told = {**_context({}), "asked": True, "serving": trial}
    return render("providers/index.html", "providers/_serving.html", **told)


@bp.post("/providers")
def change() -> Response:
    """Save the endpoint, and begin to re-embed."""
    try:
        form, now = parse(ProviderForm, request.form), _shown()
        if form.is_overtaken(now):
            return _desk({"endpoint_url": _overtaken(now)}, shown=json.dumps(now))
        save(form.fields())
    except ValidationError as error:
        return _desk(problems(error))
    except InvalidError as error:
        session().rollback()
        return _desk({error.field: error.message})
    except ConflictError as error:
        session().rollback()
        return _desk({"endpoint_url": f"Nothing was saved: {error.message}."})
    return _back("Saved. The present vectors serve until the new ones are all there.")


@bp.post("/providers/test")
def test() -> Response:
    """Try the endpoint that the form names, and store nothing."""
    try:
        form = parse(ProviderForm, request.form)
        trial = try_out(form.fields())
    except ValidationError as error:
        return _desk(problems(error))
    except InvalidError as error:
        session().rollback()
        return _desk({error.field: error.message})
    session().rollback()
    return _desk({}, trial=trial, status=HTTPStatus.OK)


@bp.post("/providers/remove")
def delete() -> Response:
    """Forget the endpoint and its key."""
    remove()
    return _back("Removed, with its key.")


@bp.post("/providers/retry")
def again() -> Response:
    """Try again what has failed."""
    retried = retry()
    return _back(f"Trying {counted(retried, 'vector')} again." if retried else "Nothing has failed.")


def _shown() -> dict[str, Any]:
    own = setting_of(session(), credential().user_id)
    return {} if own is None else {name: getattr(own, name) for name in _SHOWN}


def _overtaken(now: dict[str, Any]) -> str:
    model = f"set to {now['model']} at {shown_address(now['endpoint_url'])}" if now else "removed"
    return f"Nothing was saved: meanwhile it was {model}. Save again to put this in its place."


def _back(said: str) -> Response:
    flash(said)
    return see_other(url_for("providers.index"))


def _context(problem: dict[str, str]) -> dict[str, Any]:
    kinds = [(kind, NAMES[kind]) for kind in PROVIDERS]
    given = request.form if request.method == "POST" else None
    fixed = {"kinds": kinds, "names": NAMES, "shown_address": shown_address, "trial": None}
    fixed |= {"asked": False, "serving": None}
    fixed["shown"] = given["shown"] if given and "shown" in given else json.dumps(_shown())
    return {"standing": standing(), "given": given, "problem": problem, **fixed}


def _desk(problem: dict[str, str], status: int = HTTPStatus.OK, **more: Any) -> Response:
    if problem:
        status = HTTPStatus.UNPROCESSABLE_ENTITY
    return render("providers/index.html", "providers/_setting.html", status, **{**_context(problem), **more})
