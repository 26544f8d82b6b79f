"""Who may do what: bearer tokens for agents, scopes per endpoint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from http import HTTPStatus
from typing import ParamSpec, TypeVar

from flask import Response, abort, g, request

from memory.accounts import Credential, authenticate, find_user
from memory.database import act_as
from webapp.context import credential, session, utc_now
from webapp.errors import problem

P = ParamSpec("P")
R = TypeVar("R")

SESSION_HEADER = "X-Commonplace-Session"
USER_HEADER = "X-Commonplace-User"


def bearer_required() -> None:
    """Set `g.credential` from the bearer token, or end the request with 401."""
    scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
    found = authenticate(session(), secret.strip(), utc_now()) if scheme.lower() == "bearer" and secret else None
    if found is None:
        refusal = problem(HTTPStatus.UNAUTHORIZED, "a valid bearer token is needed")
        refusal.headers["WWW-Authenticate"] = 'Bearer realm="commonplace"'
        abort(refusal)
    g.credential = _with_session(_acting_for(found))


def _acting_for(found: Credential) -> Credential:
    """Let a service token act for the user that the header names."""
    name = request.headers.get(USER_HEADER)
    if name is None:
        return found
    if "service" not in found.scopes:
        abort(problem(HTTPStatus.FORBIDDEN, f"only a token with the scope service may send {USER_HEADER}"))
    user_id = find_user(session(), name)
    if user_id is None:
        abort(problem(HTTPStatus.FORBIDDEN, "there is no such user to act for"))
    act_as(session(), user_id)
    # Rights of the service's own account stay behind: it acts with the named user's data and nothing more.
    scopes = found.scopes - {"admin", "service"}
    return replace(found, user_id=user_id, scopes=scopes, space_id=None, session_key=f"{found.session_key}:{user_id}")


def _with_session(found: Credential) -> Credential:
    key = request.headers.get(SESSION_HEADER, "").strip()
    return replace(found, session_key=f"session:{key[:150]}") if key else found


def needs(scope: str) -> Callable[[Callable[P, R]], Callable[P, R | Response]]:
    """Refuse with 403 a credential that lacks the scope."""

    def decorate(view: Callable[P, R]) -> Callable[P, R | Response]:
        @wraps(view)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> R | Response:
            if scope not in credential().scopes:
                return problem(HTTPStatus.FORBIDDEN, f"the token lacks the scope {scope}")
            return view(*args, **kwargs)

        return guarded

    return decorate
