"""The account as a whole: its time zone, another password, everything to take along, everything erased."""

from __future__ import annotations

import json
from http import HTTPStatus

from flask import Response, flash, g, make_response, render_template, request, url_for
from flask import session as cookie

from memory.accounts.accounts import SHORTEST_PASSWORD, change_password, is_password
from memory.errors import InvalidError
from memory.models import User
from memory.preferences.preferences import set_time_zone
from memory.time_zones import meant, places
from webapp.accounts import erase_account, export_response, notes_response
from webapp.context import credential, session, utc_now
from webapp.htmx import see_other
from webapp.operations import refuse_in_incognito, space_for
from webapp.pages.tries import COOKIE, WINDOW, give_back, too_many
from webapp.pages.visitor import guarded, sign_in, sign_out

bp = guarded("account")

SENTENCE = "erase everything"
_TOO_MANY = "is not looked at: these were too many tries. Wait five minutes, then try again"


@bp.get("/account")
def index() -> Response:
    """Show what can be done with the account."""
    return _desk()


@bp.post("/account/time-zone")
def time_zone() -> Response:
    """Write a time zone into the preferences; the name of its city is enough."""
    refuse_in_incognito(space_for(None).id)
    who, given = credential(), request.form.get("time_zone", "").strip()
    name = meant(given)
    try:
        saved = set_time_zone(session(), who.user_id, name, source="page", now=utc_now(), actor=who.actor)
    except InvalidError as error:
        session().rollback()
        return _desk({"time_zone": error.message}, given=given)
    session().commit()
    flash(f"The time zone is {name}." if saved.new else "Nothing was changed.")
    return see_other(url_for("account.index"))


@bp.post("/account/password")
def password() -> Response:
    """Change the password; every other browser is logged out, and this one goes on."""
    user, now = session().get_one(User, credential().user_id), utc_now()
    old, new = request.form.get("old", ""), request.form.get("password", "")
    tried = (user.email, request.remote_addr, now, request.cookies.get(COOKIE, ""))
    if too_many(*tried):
        return _limited("old")
    if new != request.form.get("again", ""):
        give_back(*tried)
        session().commit()
        return _desk({"again": "is not the same as the new password"})
    try:
        change_password(session(), credential().user_id, old, new, now=now, actor=credential().actor)
    except InvalidError as error:
        session().rollback()
        if error.field != "old":
            # The try is not counted: whoever knows the old password guesses nothing.
            give_back(*tried)
            session().commit()
        return _desk({error.field: error.message})
    give_back(*tried)
    session().commit()
    _stay_signed_in()
    flash("The password is changed. Every other browser is logged out.")
    return see_other(url_for("account.index"))


def _stay_signed_in() -> None:
    """Go on in this browser: with the session that it has, so that incognito does not end unasked."""
    key = cookie["key"]
    sign_in(credential().user_id)
    cookie["key"] = key


@bp.get("/account/export")
def export() -> Response:
    """Download everything."""
    return export_response()


@bp.get("/account/export/markdown")
def notes() -> Response:
    """Download the active memories as Markdown."""
    return notes_response()


@bp.post("/account/erase")
def erase() -> Response:
    """Erase everything, and show the report: it is kept nowhere, so this answers with it at once."""
    user, now = session().get_one(User, credential().user_id), utc_now()
    if request.form.get("sentence", "").strip().lower() != SENTENCE:
        return _desk({"sentence": f"must be “{SENTENCE}”, word for word"})
    if too_many(user.email, request.remote_addr, now, request.cookies.get(COOKIE, "")):
        return _limited("erase_password")
    if not is_password(session().get_one(User, credential().user_id), request.form.get("password", "")):
        return _desk({"erase_password": "is not your password"})
    report = erase_account()
    sign_out()
    g.pop("visitor", None)
    page = render_template("account/erased.html", report=report, document=json.dumps(report, indent=2))
    response = make_response(page)
    response.delete_cookie(COOKIE, path=request.root_path or "/", secure=request.is_secure, httponly=True)
    return response


def _limited(field: str) -> Response:
    response = _desk({field: _TOO_MANY}, HTTPStatus.TOO_MANY_REQUESTS)
    response.headers["Retry-After"] = str(int(WINDOW.total_seconds()))
    return response


def _desk(problem: dict[str, str] | None = None, status: int = HTTPStatus.OK, *, given: str = "") -> Response:
    if problem and status == HTTPStatus.OK:
        status = HTTPStatus.UNPROCESSABLE_ENTITY
    user = session().get_one(User, credential().user_id)
    page = render_template(
        "account/index.html",
        user=user,
        problem=problem or {},
        shortest=SHORTEST_PASSWORD,
        sentence=SENTENCE,
        given=given,
        zones=places(),
    )
    return make_response(page, status)
