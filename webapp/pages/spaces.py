"""Spaces: listed, added, set, removed."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from flask import Response, flash, make_response, render_template, request, url_for
from pydantic import ValidationError

from memory.errors import ConflictError, InvalidError, NotFoundError, RefusedError
from memory.models import DEFAULT_SPACE, Space
from memory.space_removal.contents import contents_of
from memory.space_removal.removal import remove_space
from memory.spaces.capacity import beyond
from memory.spaces.sharing import Sharing, share, unshare
from memory.spaces.spaces import create_space, page_spaces, update_space
from retrieval.policy import FUSIONS, PolicyError
from webapp.context import credential, runtime, session, utc_now
from webapp.htmx import render, see_other, wants_fragment
from webapp.operations import (
    incognito_spaces,
    is_incognito,
    refuse_in_incognito,
    refuse_to_join,
    space_for,
    space_in_address,
)
from webapp.pages.forms import parse
from webapp.pages.notebook_forms import SLIDERS, WEIGHTS, scale_of
from webapp.pages.queries import offered_spaces
from webapp.pages.space_forms import (
    NewSpaceForm,
    SettingsForm,
    ShareForm,
    TakerForm,
    WeightsForm,
    address_of,
    fates,
    inside,
    policy_of,
    rooms,
    settings_of,
    shared_tags,
    weights_of,
)
from webapp.pages.visitor import guarded
from webapp.pages.words import counted
from webapp.plain import problems
from webapp.recall import policy_for

bp = guarded("spaces")

PAGE = 50
UNKEPT = "cannot be kept while this session is incognito"

CHOICES = {
    "move": ("Move", "Everything goes on in {place}."),
    "archive": ("Archive", "Everything goes to {place}, kept to read, out of search."),
    "forget": ("Forget", "Nothing is kept. This cannot be undone."),
}


@bp.get("/spaces")
def index() -> Response:
    """List a page of spaces, with a form to add one; with a cursor, htmx gets the further page alone."""
    return _shelf({}, request.args.get("cursor"))


@bp.post("/spaces")
def add() -> Response:
    """Add a space; the form comes back where a field does not fit."""
    who = credential()
    try:
        refuse_in_incognito(space_for(None).id)
        form = parse(NewSpaceForm, request.form)
        address = address_of(form.name, form.slug, "name")
        fields = {"name": form.name} if form.name else {}
        cap = runtime().settings.soft_cap
        space = create_space(session(), who.user_id, address, soft_cap=cap, now=utc_now(), actor=who.actor, **fields)
    except ValidationError as error:
        return _shelf(problems(error))
    except InvalidError as error:
        return _shelf({error.field: error.message})
    except ConflictError as error:
        return _shelf({"slug": error.message})
    except RefusedError:
        return _shelf({"name": UNKEPT})
    # Before the commit: somebody may remove it right after.
    flash(f"The space {space.name} is there. Nothing is in it yet.")
    session().commit()
    return _to(address)


@bp.get("/spaces/<slug>")
def show(slug: str) -> Response:
    """Show a space with its settings."""
    return _room(space_in_address(slug))


@bp.post("/spaces/<slug>")
def change(slug: str) -> Response:
    """Save the settings; the form comes back where a field does not fit."""
    space, who = space_in_address(slug), credential()
    try:
        form = parse(SettingsForm, request.form)
        changes = form.changes(space)
        if "name" in changes:
            refuse_in_incognito(space_for(None).id)
        if "soft_cap" in changes:
            _ask_about_cap(space, form.soft_cap)
        if changes:
            space = update_space(session(), who.user_id, space.slug, changes, now=utc_now(), actor=who.actor)
    except ValidationError as error:
        return _room(space, HTTPStatus.UNPROCESSABLE_ENTITY, given=request.form, problem=problems(error))
    except InvalidError as error:
        session().rollback()
        found = {error.field: error.message}
        return _room(space_in_address(slug), HTTPStatus.UNPROCESSABLE_ENTITY, given=request.form, problem=found)
    except RefusedError:
        found = {"name": UNKEPT}
        return _room(space_in_address(slug), HTTPStatus.UNPROCESSABLE_ENTITY, given=request.form, problem=found)
    return _saved(slug, "settings")


def _ask_about_cap(space: Space, soft_cap: int) -> None:
    """Raise `InvalidError` for a soft cap that lets memories go, unless the form has told so and was sent again."""
    lost = beyond(session(), space, soft_cap, utc_now())
    # Asked before it is saved: an agent may store something at any moment, and there is no undo.
    if lost and request.form.get("agreed") != str(soft_cap):
        said = f"lets {counted(lost, 'memory', 'memories')} go for good as soon as anything is stored here"
        raise InvalidError("soft_cap", f"{said}. Save again if you mean that")


@bp.post("/spaces/<slug>/weights")
def weigh(slug: str) -> Response:
    """Save how the space ranks, or let it rank as spaces begin; the form comes back where a number does not fit."""
    space, who = space_in_address(slug), credential()
    try:
        kept = {} if "reset" in request.form else parse(WeightsForm, request.form).over(space)
    except ValidationError as error:
        return _room(space, HTTPStatus.UNPROCESSABLE_ENTITY, typed=request.form, problem=problems(error))
    except PolicyError as error:
        found = {error.field: error.message}
        return _room(space, HTTPStatus.UNPROCESSABLE_ENTITY, typed=request.form, problem=found)
    if kept != space.policy:
        update_space(session(), who.user_id, space.slug, {"policy": kept}, now=utc_now(), actor=who.actor)
    return _saved(slug, "weights")


@bp.post("/spaces/<slug>/shares")
def add_share(slug: str) -> Response:
    """Let what has a tag be found in another space as well; the form comes back where a field does not fit."""
    space, who = space_in_address(slug), credential()
    try:
        refuse_in_incognito(space.id)
        form = parse(ShareForm, request.form)
        refuse_to_join(form.found_in)
        share(session(), who.user_id, slug, form.tag, form.found_in, now=utc_now(), actor=who.actor)
    except ValidationError as error:
        return _room(space, HTTPStatus.UNPROCESSABLE_ENTITY, sharing=request.form, problem=problems(error))
    except (InvalidError, ConflictError) as error:
        session().rollback()
        found = {error.field or "tag": error.message}
        return _room(space_in_address(slug), HTTPStatus.UNPROCESSABLE_ENTITY, sharing=request.form, problem=found)
    except RefusedError:
        found = {"tag": UNKEPT}
        return _room(space_in_address(slug), HTTPStatus.UNPROCESSABLE_ENTITY, sharing=request.form, problem=found)
    return _saved(slug, "shares")


@bp.post("/spaces/<slug>/shares/stop")
def drop_share(slug: str) -> Response:
    """Stop a share; one that is stopped already stays so."""
    space, who, form = space_in_address(slug), credential(), parse(ShareForm, request.form)
    with suppress(NotFoundError):
        sharing = Sharing(space.slug, form.tag, form.found_in)
        unshare(session(), who.user_id, sharing, now=utc_now(), actor=who.actor)
    return _saved(slug, "shares")


def _saved(slug: str, what: str) -> Response:
    session().commit()
    if wants_fragment():
        space = space_in_address(slug)
        return _room(space, title=space.name if what == "settings" else "", saved=what)
    flash("Saved.")
    return _to(slug)


@bp.get("/spaces/<slug>/delete")
def ask(slug: str) -> Response:
    """Say what is in a space, and what each choice does with it."""
    return _farewell(space_in_address(slug), parse(TakerForm, request.args).into)


@bp.post("/spaces/<slug>/delete")
def delete(slug: str) -> Response:
    """Remove a space as it was looked at; when it has changed since, ask again."""
    space, who = space_in_address(slug), credential()
    name, choice, into = space.name, request.form.get("contents", ""), parse(TakerForm, request.form).into
    if choice not in CHOICES:
        return _farewell(space, into, HTTPStatus.UNPROCESSABLE_ENTITY, "Choose what becomes of what is in it.")
    refuse_to_join(into)
    place = _place(into)
    try:
        if choice != "forget":
            refuse_in_incognito(space.id)
        done = remove_space(
            session(),
            who.user_id,
            slug,
            choice,
            into=into,
            expect=request.form.get("expect", ""),
            keys=runtime().keys,
            now=utc_now(),
            actor=who.actor,
        )
    except (ConflictError, RefusedError) as error:
        session().rollback()
        said = str(error)
        return _farewell(space_in_address(slug), into, HTTPStatus.CONFLICT, f"{said[:1].upper()}{said[1:]}.")
    session().commit()
    flash(f"The space {name} is removed: {', '.join(fates(done, place)) or 'nothing was in it'}.")
    return see_other(url_for("spaces.index"))


def _to(slug: str) -> Response:
    return see_other(url_for("spaces.show", slug=slug))


def _shelf(problem: dict[str, str], cursor: str | None = None) -> Response:
    page = page_spaces(session(), credential().user_id, limit=PAGE, cursor=cursor)
    context: dict[str, Any] = {"rooms": rooms(page.spaces), "cursor": cursor, "next_cursor": page.next_cursor}
    status = HTTPStatus.UNPROCESSABLE_ENTITY if problem else HTTPStatus.OK
    return render("spaces/index.html", "spaces/_page.html", status, given=request.form, problem=problem, **context)


def _room(space: Space, status: int = HTTPStatus.OK, *, title: str = "", **more: Any) -> Response:
    context = {"given": None, "typed": None, "sharing": None, "problem": {}, "saved": "", **more}
    context["room"] = rooms([space])[0]
    context |= {"fixed": space.slug == DEFAULT_SPACE, "fusions": FUSIONS, "sliders": SLIDERS, "scale_of": scale_of}
    context |= {"policy": policy_of(space), "usual": policy_for({}, None)}
    context |= {"shown": json.dumps(settings_of(space)), "shown_weights": json.dumps(weights_of(space))}
    offer = offered_spaces()
    places = replace(offer, pairs=[pair for pair in offer.pairs if pair[0] != space.slug])
    context |= {"shared": shared_tags(space), "places": places}
    context["others"] = {name: value for name, value in sorted(space.policy.items()) if name not in WEIGHTS}
    return render("spaces/space.html", "spaces/_space.html", status, title=title, **context)


def _place(into: str) -> str:
    return "the default space" if into == DEFAULT_SPACE else space_for(into).name


def _farewell(space: Space, into: str, status: int = HTTPStatus.OK, problem: str = "") -> Response:
    if space.slug == DEFAULT_SPACE:
        raise ConflictError("the default space cannot be removed")
    refuse_to_join(into)
    contents = contents_of(session(), credential().user_id, space, into=into, keys=runtime().keys, now=utc_now())
    place, offered = _place(into), offered_spaces(into)
    plans = {choice: fates(plan, place) for choice, plan in contents.plans.items()}
    closed = incognito_spaces() - {DEFAULT_SPACE}
    others = [pair for pair in offered if pair[0] != space.slug and pair[0] not in closed]
    only_forgets = is_incognito(space)
    choices = {name: said for name, said in CHOICES.items() if name == "forget" or not only_forgets}
    page = render_template(
        "spaces/delete.html",
        space=space,
        inside=inside(contents),
        plans=plans,
        choices={choice: (label, said.format(place=place)) for choice, (label, said) in choices.items()},
        only_forgets=only_forgets,
        into=into,
        takers=replace(offered, pairs=others) if len(others) > 1 or offered.others else None,
        expect=contents.digest,
        problem=problem,
    )
    return make_response(page, status)
