"""The privacy switch in the header of every page."""

from __future__ import annotations

from http import HTTPStatus

from flask import Response, flash, make_response, redirect, request

from memory import incognito
from webapp.context import credential, session, utc_now
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


def _back() -> Response:
    return make_response(redirect(local_path(request.form.get("next"), "/"), HTTPStatus.SEE_OTHER))
