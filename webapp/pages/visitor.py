"""Who sits at the browser: the session cookie, and the guard in front of every page."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from uuid import UUID

from flask import Blueprint, Response, abort, current_app, flash, g, request, url_for
from flask import session as cookie
from sqlalchemy import exists, select
from werkzeug.exceptions import RequestEntityTooLarge

from memory.accounts.accounts import Credential, end_session, is_ended
from memory.models import DEFAULT_SPACE, EmbeddingModel, Space, User
from memory.storage.database import act_as
from memory.time_zones import chosen_zone, zone_of
from webapp.context import credential, runtime, session, utc_now
from webapp.errors import answer
from webapp.htmx import asked_address, current_page, go, wants_fragment
from webapp.operations import is_incognito

SCOPES = frozenset({"read", "write", "forget"})
# A session that is used goes on, but not for ever: so would one that was stolen.
LONGEST_SESSION = timedelta(days=90)
# What a page asks while somebody writes: nobody is taken away from what is not saved yet.
_BY_THEMSELVES = frozenset({"preferences.look"})
# Where somebody saves what was written, or does something beside it; without scripts the page is left anyway, and Back
# leads to it.
_SAVED_IN_PLACE = frozenset(
    {
        *("cells.add", "cells.show", "cells.run", "cells.weights", "cells.move", "cells.fold", "cells.duplicate"),
        *("cells.take_away", "cells.restore", "cells.hit", "notebook.rename", "remember.save", "conversations.change"),
        *("spaces.change", "spaces.weigh", "tokens.create", "playground.call", "providers.test"),
    }
)
# What htmx asks without having left the page, and what the visitor wants to read after the login all the same.
_ASKED_IN_PLACE = frozenset({"search.index"})
_LOGGED_OUT = "you are logged out. What you wrote is still here: log in in another tab, then send it again"
_SOMEBODY_ELSE = "somebody else has logged in since, in this browser: nothing was done. {}"
_STILL_HERE = "What you wrote is still here"
_LEFT_BY_FORM = "Most browsers still have what you wrote: go back to it"
_LEFT_BEHIND = (
    "You were logged out, so nothing was saved. Most browsers still have what you wrote: log in in another tab, "
    "go back in this one, and send it again."
)
# One leading slash: browsers read two, or a slash and a backslash, as another host.
_LOCAL = re.compile(r"/(?![/\\])[^\s\\\x00-\x1f]*")


@dataclass(frozen=True, slots=True)
class Visitor:
    """What the frame of a page shows of its reader: plain values, so that it also stands when the database is away.

    `embedded_elsewhere` is true where an endpoint embeds the texts, of the reader's own or the server's.
    """

    id: str
    name: str
    email: str
    incognito: bool
    memory_off: bool
    embedded_elsewhere: bool


def guarded(name: str, *, admins_only: bool = False) -> Blueprint:
    """Return a blueprint whose pages need a login, with `admins_only` an admin's."""
    bp = Blueprint(name, "webapp.pages")
    bp.before_request(login_required)
    if admins_only:
        bp.before_request(_refuse_others)
    return bp


def _refuse_others() -> None:
    if "admin" not in credential().scopes:
        abort(HTTPStatus.FORBIDDEN, "only admins see this page")


def login_required() -> Response | None:
    """Set `g.credential`, `g.visitor` and `g.zone` from the cookie, or send the visitor to the login."""
    too_large: RequestEntityTooLarge | None = None
    # The form is waited for before the database is asked anything.
    try:
        if request.form and "Transfer-Encoding" in request.headers:
            # In a form that comes in chunks, what is beyond the limit would be left out without a word.
            request.stream.read(1)
    except RequestEntityTooLarge as error:
        too_large = error
    if recognise():
        if too_large is not None:
            # Read once more, the form would lack the field that is too large, and nothing would tell so.
            raise too_large
        if _whose_page() != g.visitor.id:
            said = _SOMEBODY_ELSE.format(_STILL_HERE if wants_fragment() else _LEFT_BY_FORM)
            return answer(HTTPStatus.CONFLICT, said)
        return None
    cookie.clear()
    if request.endpoint in _BY_THEMSELVES or (request.endpoint in _SAVED_IN_PLACE and wants_fragment()):
        return answer(HTTPStatus.UNAUTHORIZED, _LOGGED_OUT)
    if request.method == "POST" and not wants_fragment():
        flash(_LEFT_BEHIND, "refused")
    wanted = asked_address() if request.endpoint in _ASKED_IN_PLACE else current_page()
    return go(url_for("auth.login", next=wanted))


def _whose_page() -> str:
    """Return who the page was shown to: htmx sends it along, and so do forms whose text fits into any account."""
    own: str = g.visitor.id
    return request.headers.get("X-Commonplace-Visitor") or request.form.get("visitor") or own


def recognise() -> bool:
    """Set `g.credential`, `g.visitor` and `g.zone` from the cookie, and tell whether it is anybody's."""
    user = _user_of_cookie()
    if user is None:
        return False
    scopes = SCOPES | {"admin"} if user.role == "admin" else SCOPES
    g.credential = Credential(user.id, "user", scopes, session_key=f"browser:{cookie['key']}")
    elsewhere = exists().where(EmbeddingModel.user_id == user.id, EmbeddingModel.endpoint_url.is_not(None))
    # Only the default space is asked for; any other says on its own page that memory is off there.
    pool = select(Space.memory_enabled, chosen_zone(user.id), elsewhere).where(Space.user_id == user.id)
    found = session().execute(pool.where(Space.slug == DEFAULT_SPACE)).one_or_none() or (None, None, False)
    memory_enabled, zone_name, is_elsewhere = found
    off = memory_enabled is False
    g.visitor = Visitor(str(user.id), user.display_name, user.email, is_incognito(None), off, is_elsewhere)
    g.zone = zone_of(zone_name)
    return True


def _user_of_cookie() -> User | None:
    try:
        user_id, begun = UUID(cookie["user"]), datetime.fromtimestamp(cookie["begun"], UTC)
    except (KeyError, ValueError):
        return None
    if utc_now() - begun > LONGEST_SESSION:
        return None
    act_as(session(), user_id)
    user = session().get(User, user_id)
    if user is not None and user.disabled_at is None and secrets.compare_digest(cookie.get("mark", ""), _mark(user)):
        # An older cookie is refused by its age.
        since = utc_now() - current_app.permanent_session_lifetime
        if not is_ended(session(), user_id, _session_id(), since=since):
            return user
    act_as(session(), None)
    return None


def _mark(user: User) -> str:
    # A new password ends every session that was opened with the old one.
    return runtime().keys.digest("browser session", user.password_hash).hex()[:32]


def sign_in(user_id: UUID) -> None:
    """Begin a new session: nothing of what the cookie held before survives."""
    act_as(session(), user_id)
    user = session().get_one(User, user_id)
    cookie.clear()
    cookie.permanent = True
    begun = int(utc_now().timestamp())
    cookie.update(user=str(user_id), key=secrets.token_urlsafe(18), mark=_mark(user), begun=begun)


def _session_id() -> str:
    # Named by a digest of the key, which itself is a part of what lets the browser in.
    return runtime().keys.digest("browser session id", cookie["key"]).hex()[:32]


def sign_out() -> None:
    """Let this browser forget its session."""
    cookie.clear()


def log_out() -> None:
    """End the session of this browser for good, so that no copy of its cookie opens anything."""
    if recognise():
        who = credential()
        end_session(session(), who.user_id, _session_id(), now=utc_now(), actor=who.actor)
        session().commit()
    sign_out()


def local_path(given: str | None, default: str) -> str:
    """Return `given` when it is a path of this server, else `default`: nobody is sent to another site."""
    return given if given and _LOCAL.fullmatch(given) else default
