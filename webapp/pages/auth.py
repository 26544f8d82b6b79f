"""Log in and out."""

from __future__ import annotations

from datetime import timedelta
from http import HTTPStatus

from flask import Blueprint, Response, flash, make_response, redirect, render_template, request, url_for

from memory.accounts import check_password
from memory.rates import count_use
from webapp.context import runtime, session, utc_now
from webapp.pages.visitor import local_path, sign_in, sign_out

bp = Blueprint("auth", __name__)

WINDOW = timedelta(minutes=5)
# One account is guessed at by few, but an office may share one address.
TRIES_PER_ACCOUNT = 10
TRIES_PER_ADDRESS = 50


@bp.get("/login")
def login() -> Response:
    """Show the form."""
    return _form()


@bp.post("/login")
def check() -> Response:
    """Open a session and go where the visitor was going."""
    email, password = request.form.get("email", ""), request.form.get("password", "")
    if _too_many(email):
        return _form("That were too many tries. Wait five minutes, then try again.", HTTPStatus.TOO_MANY_REQUESTS)
    user_id = check_password(session(), email.replace("\x00", ""), password)
    if user_id is None:
        message = "This address and password do not belong together. Check both and try again."
        return _form(message, HTTPStatus.UNPROCESSABLE_ENTITY)
    sign_in(user_id)
    target = local_path(request.form.get("next"), url_for("search.home"))
    return make_response(redirect(target, HTTPStatus.SEE_OTHER))


@bp.post("/logout")
def logout() -> Response:
    """Close the session of this browser."""
    sign_out()
    flash("You are logged out.")
    return make_response(redirect(url_for("auth.login"), HTTPStatus.SEE_OTHER))


def _too_many(email: str) -> bool:
    """Count a try before the password is looked at, so that tries in parallel gain nothing."""
    now, keys = utc_now(), runtime().keys
    account = keys.digest("login", email.strip().lower()).hex()
    address = keys.digest("login", f"from {request.remote_addr}").hex()
    counts = (
        count_use(session(), f"login:{account}", WINDOW, now),
        count_use(session(), f"login:{address}", WINDOW, now),
    )
    session().commit()
    return counts[0] > TRIES_PER_ACCOUNT or counts[1] > TRIES_PER_ADDRESS


def _form(error: str = "", status: int = HTTPStatus.OK) -> Response:
    target = local_path(request.values.get("next"), "")
    email = request.form.get("email", "")
    response = make_response(render_template("auth/login.html", error=error, email=email, next=target), status)
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        response.headers["Retry-After"] = str(int(WINDOW.total_seconds()))
    return response
