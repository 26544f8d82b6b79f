"""Who may do what: bearer tokens for agents, scopes per endpoint, and bodies that are JSON objects."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus
from typing import Any, TypeVar

from flask import Response, abort, current_app, g, request
from sqlalchemy.exc import SQLAlchemyError
from werkzeug.exceptions import BadRequest, UnsupportedMediaType

from memory.accounts.accounts import Credential, authenticate, find_user
from memory.errors import InvalidError
from memory.storage.database import act_as
from memory.texts.fingerprints import folded_digest
from webapp.context import credential, session, utc_now
from webapp.errors import problem
from webapp.fields import taken_by
from webapp.headers import CONVERSATION_HEADER, MESSAGE_HEADER, SESSION_HEADER, SPACE_HEADER, USER_HEADER, own_header
from webapp.recording import place_of_request

V = TypeVar("V", bound=Callable[..., Any])

LONGEST_SESSION = 150
# Any valid token will do; the view itself says what else it needs.
ANY = ""

# Bytes of a body that is read whoever sends it.
_SMALL = 16 * 1024
# Bytes of a body for a view that takes no list of texts. Parsed, the smallest values take thirty times as much as sent.
LARGEST_SINGLE = 4 * 1024 * 1024
_NAMED = "session"
# The same for all that is wrong with a token: nobody learns by it that one was once valid.
_NOBODY = (
    "a valid bearer token is needed, as in Authorization: Bearer cp_...; one that was revoked or has expired is not"
)
_SCOPE = "required_scope"
_STREAMED = "reads_its_own_body"
_MANY = "takes_many_texts"
_RECORDED = "records_the_call"
_PLACED = "is_of_a_place"


def needs(scope: str) -> Callable[[V], V]:
    """Mark a view with the scope that its callers must have; `scope_required` looks for the mark."""

    def mark(view: V) -> V:
        setattr(view, _SCOPE, scope)
        return view

    return mark


def streamed(view: V) -> V:
    """Mark a view that reads its body itself as it comes; `object_required` leaves that alone."""
    setattr(view, _STREAMED, True)
    return view


def of_many(view: V) -> V:
    """Mark a view whose body has a list of texts in it; `object_required` takes no more than 4 MiB for others."""
    setattr(view, _MANY, True)
    return view


def recorded(view: V) -> V:
    """Mark a view that keeps a record of the call, and so reads the headers that say where the call was made."""
    setattr(view, _RECORDED, True)
    return view


def placed(view: V) -> V:
    """Mark a view that works in the space where the headers say that the call is made, unless it names another."""
    setattr(view, _PLACED, True)
    return view


def place_required() -> None:
    """Learn where a call of a marked view is made, before it is asked to do anything; raises `InvalidError`.

    A view that keeps a record of the call does so itself, as it records a call that fails by it.
    """
    if _is_marked(_PLACED):
        place_of_request()


def headers_of(view: Callable[..., Any]) -> tuple[str, ...]:
    """Return the headers of ours that are read on the way to a view behind a bearer token, and in it."""
    read = (SESSION_HEADER, USER_HEADER)
    said = (CONVERSATION_HEADER, MESSAGE_HEADER, SPACE_HEADER)
    return (*read, *said) if any(getattr(view, mark, False) for mark in (_RECORDED, _PLACED)) else read


def take_small_body() -> None:
    """Read a small body before the database is asked anything, as it may come slowly.

    Larger ones are read once their sender is known: see `object_required`.
    """
    if not (is_big() or _is_marked(_STREAMED)):
        request.get_data()


def bearer_required() -> None:
    """Set `g.credential` from the bearer token, or end the request with 401."""
    scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
    found = authenticate(session(), secret.strip(), utc_now()) if scheme.lower() == "bearer" and secret else None
    if found is None:
        refusal = problem(HTTPStatus.UNAUTHORIZED, _NOBODY)
        said = f', error="invalid_token", error_description="{_NOBODY}"' if request.headers.get("Authorization") else ""
        refusal.headers["WWW-Authenticate"] = f'Bearer realm="commonplace"{said}'
        abort(refusal)
    g.credential = _with_session(_acting_for(found))


def scope_required() -> None:
    """End the request with 403 when the token lacks the scope of the endpoint, before its arguments are read."""
    scope = getattr(_view(), _SCOPE, None)
    if scope is None:
        abort(problem(HTTPStatus.FORBIDDEN, "this endpoint names no scope, so nobody may use it"))
    require_scope(scope)


def require_scope(scope: str) -> None:
    """End the request with 403 when the credential lacks the scope."""
    if why := lacking(scope):
        abort(problem(HTTPStatus.FORBIDDEN, why))


def refuse_confined(act: str) -> None:
    """End the request with 403 when the credential is confined to one space, which keeps it from an `act`."""
    if credential().space_id is not None:
        abort(problem(HTTPStatus.FORBIDDEN, f"a token that is confined to one space cannot {act}"))


def lacking(scope: str) -> str | None:
    """Say that the credential lacks the scope, and how one comes by it; None when it has it."""
    has = credential().scopes
    if scope == ANY or scope in has:
        return None
    who = " by an admin" if scope in {"admin", "service"} else ""
    how = f"one with it is made{who} on the page Tokens or by commonplace token create"
    return f"the token lacks the scope {scope}, it has {', '.join(sorted(has))}; {how}"


def may_read() -> bool:
    """Tell whether the caller may be told what is stored: without the scope `read` answers have no texts."""
    return "read" in credential().scopes


def body_required() -> None:
    """Read the body of a sender who is known; end the request with 413 or 415 where it is too large or encoded."""
    if request.headers.get("Content-Encoding", "identity").strip().lower() not in {"", "identity"}:
        refusal = problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send the body as it is, without Content-Encoding")
        refusal.headers["Accept-Encoding"] = "identity"
        abort(refusal)
    if _is_marked(_STREAMED):
        return
    if not _is_marked(_MANY):
        request.max_content_length = LARGEST_SINGLE
    if is_big():
        _let_go()
    request.get_data()
    if is_big():
        # Asked again, also for requests without a body: a client that was let in long ago may have been shut out since.
        bearer_required()


def object_required() -> None:
    """End the request with 400, 413, 415 or 422 unless its body, if any, is a JSON object that the view takes."""
    body_required()
    if _is_marked(_STREAMED) or not request.get_data():
        return
    try:
        body = request.get_json()
    except RecursionError:
        abort(problem(HTTPStatus.BAD_REQUEST, "the JSON is nested too deeply"))
    except UnsupportedMediaType:
        abort(problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send the body with Content-Type: application/json"))
    except BadRequest:
        abort(problem(HTTPStatus.BAD_REQUEST, "the body is not valid JSON in UTF-8"))
    if not isinstance(body, dict):
        raise InvalidError("body", "must be a JSON object")
    _refuse_unread(body)


def _refuse_unread(body: dict[str, Any]) -> None:
    """Refuse a body that the view does not take: a caller who asks in it for an undo would get none, and not know."""
    taken = taken_by(_view())
    if body and "body" not in taken:
        name = next(iter(body)) or "body"
        if name in getattr(taken.get("query"), "model_fields", ()):
            raise InvalidError(name, f"is taken behind the address here, as ?{name}=, and in no body")
        raise InvalidError(name, "is not taken in a body here")


def is_big() -> bool:
    """Tell whether the body is large, or may become so: nobody knows how long one in chunks is."""
    return "Transfer-Encoding" in request.headers or (request.content_length or 0) > _SMALL


def _view() -> Callable[..., Any]:
    return current_app.view_functions[request.endpoint or ""]


def _is_marked(mark: str) -> bool:
    return getattr(_view(), mark, False)


def _let_go() -> None:
    """Give back the connection and the token's row while a body comes, which may take minutes.

    Other requests of the token would wait for the row, and so would its owner to revoke it.
    """
    session().commit()
    # Only the time of use was committed so far: what the request is about has not begun.
    g.pop("committing", None)


def keep_last_use(response: Response) -> Response:
    """Commit the time of use, which a read would lose otherwise; if that alone fails, the request does not."""
    if request.method in {"GET", "HEAD"} and response.status_code < HTTPStatus.BAD_REQUEST:
        keep_use()
    return response


def keep_use() -> None:
    """Commit the time of use of the token; if that alone fails, the request does not."""
    with suppress(SQLAlchemyError):
        session().commit()


def _acting_for(found: Credential) -> Credential:
    """Let a service token act for the user that the header names."""
    name = own_header(USER_HEADER)
    if name is None:
        return found
    if "service" not in found.scopes or found.space_id is not None:
        detail = f"only a token with the scope service, and confined to no space, may send {USER_HEADER}"
        abort(problem(HTTPStatus.FORBIDDEN, detail))
    user_id = find_user(session(), name.replace("\x00", ""))
    if user_id is None:
        abort(problem(HTTPStatus.FORBIDDEN, "there is no such user to act for"))
    act_as(session(), user_id)
    # The service's own rights are left out: it acts with the named user's data and nothing more.
    scopes = found.scopes - {"admin", "service"}
    return replace(found, user_id=user_id, scopes=scopes, session_key=f"{found.session_key}:{user_id}")


def _with_session(found: Credential) -> Credential:
    name = own_header(SESSION_HEADER) or ""
    return in_session(found, name) if name.strip() else found


def in_session(found: Credential, name: str) -> Credential:
    """Return the credential in the session that the caller names, in the header or in a body.

    Agents of a user share a session by its name; those with a confined token only with tokens of the same space, so
    that none switches incognito where it cannot look.
    """
    name = name.strip().replace("\x00", "")
    if len(name) > LONGEST_SESSION:
        # By its whole name: two sessions whose names begin alike must not end each other's incognito.
        name = folded_digest(name).hex()
    place = "" if found.space_id is None else f" in {found.space_id}"
    return replace(found, session_key=f"{_NAMED}{place}:{name}")


def is_named(session_key: str) -> bool:
    """Tell whether this is the key of a session that its caller named, not that of a token or a browser."""
    return session_key.startswith(_NAMED)
