"""Themes: what memories are grouped by, added and described."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

from flask import Response, flash, make_response, render_template, request, url_for
from pydantic import Field, ValidationError

from memory.errors import ConflictError, InvalidError, RefusedError
from memory.models import Theme
from memory.spaces.themes import create_theme, describe_theme, get_theme, list_themes
from webapp.api.schemas import Line
from webapp.context import credential, session, utc_now
from webapp.htmx import see_other
from webapp.operations import drop_theme, incognito_spaces, is_incognito, refuse_in_incognito, space_for
from webapp.pages.closed import closed_page
from webapp.pages.forms import ShownForm, parse
from webapp.pages.space_forms import address_of
from webapp.pages.spaces import UNKEPT
from webapp.pages.visitor import guarded
from webapp.pages.words import counted
from webapp.plain import problems

bp = guarded("themes")

# A page of them stays light; every memory may bring a theme of its own.
MOST = 100


class ThemeForm(ShownForm):
    """A theme in words; the slug of a new one follows from its name where it is left out."""

    display_name: Line = Field("", max_length=200)
    description: Line = Field("", max_length=2000)
    slug: Line = ""

    def said(self) -> dict[str, Any]:
        """Return what the theme is called and what belongs to it."""
        return self.model_dump(include={"display_name", "description"})


@bp.get("/themes")
def index() -> Response:
    """List themes, the fullest first, with a form to add one, or to describe the one that `change` names."""
    if is_incognito(None):
        return closed_page()
    slug = request.args.get("change", "").replace("\x00", "")
    changing = get_theme(session(), credential().user_id, slug, outside=incognito_spaces()) if slug else None
    return _shelf(changing=changing)


@bp.post("/themes")
def add() -> Response:
    """Add a theme; the form comes back where a field does not fit."""
    who = credential()
    try:
        refuse_in_incognito(space_for(None).id)
        form = parse(ThemeForm, request.form)
        slug = address_of(form.display_name, form.slug, "display_name")
        theme = create_theme(session(), who.user_id, slug, now=utc_now(), actor=who.actor, **form.said())
    except ValidationError as error:
        return _shelf(problem=problems(error))
    except InvalidError as error:
        return _shelf(problem={error.field: error.message})
    except ConflictError as error:
        return _shelf(problem={"slug": error.message})
    except RefusedError:
        return _closed()
    # Before the commit: somebody may delete it right after.
    said = f"The theme {theme.display_name} is there. Nothing is in it yet."
    session().commit()
    return _to(said)


@bp.post("/themes/<slug>")
def change(slug: str) -> Response:
    """Save what a theme is called and what belongs to it; the form comes back where a field does not fit."""
    who = credential()
    try:
        refuse_in_incognito(space_for(None).id)
    except RefusedError:
        return _closed(slug)
    theme = get_theme(session(), who.user_id, slug, outside=incognito_spaces(), held=True)
    try:
        form = parse(ThemeForm, request.form)
    except ValidationError as error:
        return _shelf(changing=theme, problem=problems(error))
    now = _said(theme)
    said = {**now, **form.touched(form.said(), now)}
    describe_theme(session(), who.user_id, slug, now=utc_now(), actor=who.actor, **said)
    session().commit()
    return _to("Saved.")


@bp.post("/themes/<slug>/delete")
def delete(slug: str) -> Response:
    """Delete a theme for good; its memories stay."""
    try:
        held = drop_theme(slug)
    except RefusedError:
        return _closed(slug)
    stay = f" {counted(held, 'memory', 'memories')} stayed without it." if held else ""
    return _to(f"The theme is gone.{stay}")


def _said(theme: Theme) -> dict[str, Any]:
    return {"display_name": theme.display_name, "description": theme.description}


def _to(said: str) -> Response:
    flash(said)
    return see_other(url_for("themes.index"))


def _closed(slug: str = "") -> Response:
    """Show what was written once more, and of what is stored nothing."""
    page = render_template(
        "themes/index.html",
        changing={"slug": slug} if slug else None,
        closed=True,
        problem={"display_name": UNKEPT},
        given=request.form,
    )
    return make_response(page, HTTPStatus.CONFLICT)


def _shelf(**more: Any) -> Response:
    context = {"changing": None, "problem": {}, "given": request.form, **more}
    context["shown"] = json.dumps(_said(context["changing"])) if context["changing"] else ""
    named = request.args.get("q", "").replace("\x00", "").strip()[:64]
    outside = incognito_spaces()
    themes = list_themes(session(), credential().user_id, outside=outside, named=named, most=MOST)
    page = render_template("themes/index.html", themes=themes, named=named, most=MOST, **context)
    return make_response(page, HTTPStatus.UNPROCESSABLE_ENTITY if context["problem"] else HTTPStatus.OK)
