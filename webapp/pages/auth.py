"""Log in and out."""

from __future__ import annotations

import logging
from http import HTTPStatus
from urllib.parse import quote

from flask import Blueprint, Response, flash, make_response, render_template, request, url_for

from memory.accounts.accounts import check_password
from memory.record.journal import record
from webapp.context import session, utc_now
from webapp.demo_login import is_demo
from webapp.htmx import see_other
from webapp.pages.tries import COOKIE, WINDOW, give_back, know_again, too_many
from webapp.pages.visitor import local_path, log_out, sign_in
from webapp.this_machine import comes_from_here, names_this_machine

logger = logging.getLogger(__name__)

bp = Blueprint("auth", __name__)
DEMO_ELSEWHERE = (
    "Everybody knows this password, so it opens at localhost alone. "
    "The command commonplace user create makes an account of your own."
)


@bp.get("/login")
def login() -> Response:
    """Show the form."""
    return _form()


@bp.post("/login")
def check() -> Response:
    """Open a session and go where the visitor was going."""
    email, now = request.form.get("email", "").replace("\x00", ""), utc_now()
    password, browser = request.form.get("password", ""), request.cookies.get(COOKIE, "")
    # The address of the connection counts too, as a client chooses what it sends as Host.
    if is_demo(email, password) and not (names_this_machine(request.host) and comes_from_here()):
        return _form(DEMO_ELSEWHERE, HTTPStatus.FORBIDDEN)
    if too_many(email, request.remote_addr, now, browser):
        return _form("These were too many tries. Wait five minutes, then try again.", HTTPStatus.TOO_MANY_REQUESTS)
    user_id = check_password(session(), email, password)
    if user_id is None:
        message = "This address and password do not belong together. Check both and try again."
        return _form(message, HTTPStatus.UNPROCESSABLE_ENTITY)
    give_back(email, request.remote_addr, now, browser)
    session().commit()
    # What this browser was logged in to is left: no copy of that cookie opens anything either.
    log_out()
    sign_in(user_id)
    record(session(), user_id, "user.logged_in", actor="user", now=now, subject_id=user_id)
    session().commit()
    target = local_path(request.form.get("next"), url_for("notebook.home"))
    response = see_other(target)
    know_again(response, email)
    return response


@bp.post("/logout")
def logout() -> Response:
    """Close the session of this browser."""
    log_out()
    flash("You are logged out.")
    return see_other(url_for("auth.login"))


def _form(error: str = "", status: int = HTTPStatus.OK) -> Response:
    if error:
        # The address that was typed is not logged: it may be the password. Quoted, as a proxy passes on what it was
        # told.
        logger.warning("a login was refused with %d, from %s", status, quote(request.remote_addr or "-", safe=":"))
    target = local_path(request.values.get("next"), "")
    email = request.form.get("email", "")
    response = make_response(render_template("auth/login.html", error=error, email=email, next=target), status)
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        response.headers["Retry-After"] = str(int(WINDOW.total_seconds()))
    return response
