"""The privacy switches in the header of every page."""

from __future__ import annotations

from flask import Response, flash, request, url_for

from memory.models import DEFAULT_SPACE
from memory.spaces import incognito
from memory.spaces.spaces import update_space
from webapp.context import credential, session, utc_now
from webapp.htmx import see_other
from webapp.pages.visitor import guarded, local_path

bp = guarded("privacy")


@bp.post("/incognito/start")
def start() -> Response:
    """Store and recall nothing in this browser session."""
    who = credential()
    incognito.start(session(), who.user_id, who.session_key, now=utc_now(), actor=who.actor)
    session().commit()
    return _back()


@bp.post("/incognito/end")
def end() -> Response:
    """Store and recall again, and say how many writes were refused meanwhile."""
    who = credential()
    refused = incognito.end(session(), who.user_id, who.session_key, now=utc_now(), actor=who.actor)
    session().commit()
    flash(f"Incognito is off. Writes refused while it was on: {refused}.")
    return _back()


@bp.post("/memory/off")
def memory_off() -> Response:
    """Store and recall nothing in the shared pool, in any session, until it is turned on again."""
    return _turn(enabled=False)


@bp.post("/memory/on")
def memory_on() -> Response:
    """Store and recall again in the shared pool."""
    return _turn(enabled=True)


def _turn(*, enabled: bool) -> Response:
    who = credential()
    changes = {"memory_enabled": enabled}
    update_space(session(), who.user_id, DEFAULT_SPACE, changes, now=utc_now(), actor=who.actor)
    session().commit()
    flash(f"Memory is {'on' if enabled else 'off'} in the shared pool. Other spaces have a switch of their own.")
    return _back()


def _back() -> Response:
    return see_other(local_path(request.form.get("next"), url_for("notebook.home")))
