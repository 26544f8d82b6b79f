"""Agents' credentials: made, shown once, and closed."""

from __future__ import annotations

from datetime import timedelta
from http import HTTPStatus
from uuid import UUID

from flask import Response, flash, make_response, render_template, request, url_for
from pydantic import BaseModel, Field, ValidationError

from memory.accounts.accounts import LONGEST_LIFE, SCOPES, create_token, list_tokens, revoke_token
from memory.errors import InvalidError
from memory.lineage.writers import count_written
from memory.spaces.spaces import space_names
from webapp.api.schemas import Line
from webapp.context import credential, session, utc_now
from webapp.htmx import see_other
from webapp.operations import incognito_spaces, is_incognito
from webapp.pages.forms import parse
from webapp.pages.queries import offered_spaces
from webapp.pages.visitor import guarded
from webapp.plain import problems

bp = guarded("tokens")

MEANINGS = {
    "read": "search and read",
    "write": "remember, change and pin",
    "forget": "forget and restore",
    "admin": "backfills and telemetry",
    "service": "act for other users",
}
LIVES = (("30", "30 days"), ("90", "90 days"), ("365", "a year"), ("", "until it is revoked"))


class TokenForm(BaseModel):
    """A token to make; `days` is left out for one that does not expire."""

    name: Line = Field("", max_length=100)
    scopes: list[Line] = []
    space: Line | None = None
    days: int | None = Field(None, ge=1, le=LONGEST_LIFE.days)


@bp.get("/tokens")
def index() -> Response:
    """List the tokens, with a form to make one."""
    return _desk({})


@bp.post("/tokens")
def create() -> Response:
    """Make a token. Its secret is kept nowhere, so this answers with it at once instead of sending elsewhere."""
    who, now = credential(), utc_now()
    try:
        form = parse(TokenForm, request.form)
        if not form.scopes:
            raise InvalidError("scopes", "must be at least one of these")
        expires = now + timedelta(days=form.days) if form.days else None
        secret = create_token(
            session(), who.user_id, form.name, form.scopes, now=now, space=form.space, expires_at=expires
        )
    except ValidationError as error:
        return _desk(problems(error))
    except InvalidError as error:
        session().rollback()
        return _desk({error.field: error.message})
    session().commit()
    return _desk({}, secret=secret, name=form.name)


@bp.post("/tokens/<uuid:token_id>/revoke")
def revoke(token_id: UUID) -> Response:
    """Close a token for good."""
    revoke_token(session(), credential().user_id, token_id, now=utc_now(), actor=credential().actor)
    session().commit()
    flash("Revoked. Whoever holds it is refused from now on.")
    return see_other(url_for("tokens.index"))


def _desk(problem: dict[str, str], *, secret: str = "", name: str = "") -> Response:
    user_id, now = credential().user_id, utc_now()
    tokens = list_tokens(session(), user_id)
    offered = [scope for scope in SCOPES if scope not in {"admin", "service"} or "admin" in credential().scopes]
    # Incognito keeps the list closed that the number leads to.
    written = {} if is_incognito(None) else count_written(session(), user_id, outside=incognito_spaces(), now=now)
    gone = {each: number for each, number in written.items() if each not in {token.id for token in tokens}}
    page = render_template(
        "tokens/index.html",
        tokens=[(token, _state(token.revoked_at, token.usable(now))) for token in tokens],
        names=space_names(session(), user_id, {token.space_id for token in tokens if token.space_id}),
        written=written,
        gone=gone,
        spaces=offered_spaces(),
        scopes=[(scope, MEANINGS[scope]) for scope in offered],
        lives=LIVES,
        given=request.form if problem else None,
        problem=problem,
        secret=secret,
        name=name,
        address=request.root_url,
    )
    return make_response(page, HTTPStatus.UNPROCESSABLE_ENTITY if problem else HTTPStatus.OK)


def _state(revoked: object, usable: bool) -> str:
    return "" if usable else "revoked" if revoked else "expired"
