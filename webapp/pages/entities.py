"""Who and what the texts of a space name, and where they do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

from flask import Response, flash, request, url_for
from pydantic import BaseModel, Field
from sqlalchemy import func, select

from memory.facts.entities import (
    EntityFilters,
    MentionPage,
    Named,
    NamedPage,
    delete_entity,
    get_entity,
    in_force,
    list_entities,
    list_mentions,
    retag_entity,
)
from memory.models import DEFAULT_SPACE, Entity, Space
from memory.spaces.spaces import SpaceOffer, offer_spaces
from tasks.embedding import nudge
from webapp.api.schemas import Line
from webapp.context import credential, session, utc_now
from webapp.htmx import at_address, render, see_other
from webapp.operations import incognito_spaces, is_incognito, refuse_in_incognito, space_at, space_for
from webapp.pages.closed import closed_page
from webapp.pages.forms import narrowed_by, parse
from webapp.pages.places import Places
from webapp.pages.queries import Offered, offered, offered_spaces
from webapp.pages.visitor import guarded

bp = guarded("entities")

PAGE = 20


class EntitiesForm(BaseModel):
    """Which entities to list; `q` is a part of the name."""

    space: Line | None = None
    type: Annotated[Line, Field(max_length=50)] | None = None
    q: Annotated[Line, Field(max_length=200)] | None = None
    cursor: Line | None = None

    def chosen(self) -> dict[str, str]:
        """Return what was chosen, as it stands in a link to the next page."""
        return self.model_dump(exclude_none=True, exclude={"cursor"})


class MentionsForm(BaseModel):
    """Where in the mentions of one entity a page begins."""

    cursor: Line | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of entities, what can be chosen from, and how many there are; None where that was not counted."""

    page: NamedPage
    spaces: Offered
    types: Sequence[str]
    total: int | None
    any: bool
    hidden: Sequence[str]


@dataclass(frozen=True, slots=True)
class Opened:
    """An entity with a page of its mentions, where each stands, and the spaces that it can be moved to."""

    named: Named
    mentions: MentionPage
    places: Places
    targets: Offered


@bp.get("/entities")
def index() -> Response:
    """List a page of entities; with a cursor, htmx gets the further page alone.

    While incognito what is typed into an older page does not come into its address.
    """
    form = narrowed_by(EntitiesForm)
    scope = space_for(form.space) if form.space else None
    if is_incognito(scope):
        return closed_page()
    fragment = "entities/_page.html" if form.cursor else "entities/_list.html"
    listing = _listing(form, scope)
    page = render("entities/index.html", fragment, form=form, listing=listing, pool=DEFAULT_SPACE)
    if form.cursor:
        return page
    given: dict[str, Any] = {**form.chosen()}
    return at_address(page, url_for("entities.index", **given), typed=True)


@bp.get("/entities/<uuid:entity_id>")
def show(entity_id: UUID) -> Response:
    """Show the sentences that name an entity, each with the place where it was said."""
    form = parse(MentionsForm, request.args)
    named = get_entity(session(), credential().user_id, entity_id, now=utc_now())
    if is_incognito(_space(named)):
        return closed_page()
    fragment = "entities/_mentions.html" if form.cursor else "entities/_entity.html"
    return render("entities/entity.html", fragment, form=form, opened=_opened(named, form.cursor))


@bp.post("/entities/<uuid:entity_id>/space")
def move(entity_id: UUID) -> Response:
    """Give an entity another space, where one of the same name and type takes its notes over."""
    who = credential()
    named = get_entity(session(), who.user_id, entity_id, now=utc_now())
    refuse_in_incognito(named.entity.space_id)
    target = space_for(request.form.get("space", "").replace("\x00", ""))
    refuse_in_incognito(target.id)
    kept = retag_entity(session(), who.user_id, entity_id, target.slug, now=utc_now(), actor=who.actor)
    kept_id, name, space = kept.id, kept.name, target.name
    session().commit()
    nudge()
    if kept_id == entity_id:
        flash(f"{name} belongs to {space} now.")
    else:
        flash(f"{name} is known in {space}: the two are one now.")
    return see_other(url_for("entities.show", entity_id=kept_id))


@bp.post("/entities/<uuid:entity_id>/delete")
def delete(entity_id: UUID) -> Response:
    """Delete an entity with its notes; the texts stay."""
    who = credential()
    named = get_entity(session(), who.user_id, entity_id, now=utc_now())
    name, space = named.entity.name, named.space
    delete_entity(session(), who.user_id, entity_id, now=utc_now(), actor=who.actor)
    session().commit()
    flash(f"{name} is deleted. The texts that name it stay.")
    return see_other(url_for("entities.index", space=space))


def _space(named: Named) -> Space:
    return space_at(named.entity.space_id)


def _listing(form: EntitiesForm, scope: Space | None) -> Listing:
    user_id = credential().user_id
    hidden = frozenset() if scope else incognito_spaces()
    filters = EntityFilters(scope.id if scope else None, form.q, form.type, hidden)
    page = list_entities(session(), user_id, filters, limit=PAGE, cursor=form.cursor, now=utc_now())
    counts = _counts(hidden)
    offer = offer_spaces(session(), user_id, form.space)
    here = [row for row in counts if scope is None or row[0] == scope.id]
    return Listing(
        page=page,
        spaces=_with_counts(offer, counts),
        types=sorted({kind for _, kind, _ in counts} | ({form.type} if form.type else set())),
        total=None if form.q else sum(count for _, kind, count in here if form.type in {None, kind}),
        any=bool(counts),
        hidden=sorted(hidden),
    )


def _counts(hidden: Collection[str]) -> Sequence[tuple[UUID, str, int]]:
    """Return how many entities there are by space and type, but for spaces of these names."""
    user_id = credential().user_id
    counted = select(Entity.space_id, Entity.type, func.count()).group_by(Entity.space_id, Entity.type)
    counted = counted.where(Entity.user_id == user_id, in_force(utc_now()))
    if hidden:
        closed = select(Space.id).where(Space.user_id == user_id, Space.slug.in_(hidden))
        counted = counted.where(Entity.space_id.not_in(closed))
    return [(space_id, kind, count) for space_id, kind, count in session().execute(counted)]


def _with_counts(offer: SpaceOffer, counts: Sequence[tuple[UUID, str, int]]) -> Offered:
    """Return spaces by their names with the number of their entities; the pool has none to count."""
    sizes: Counter[UUID] = Counter()
    for space_id, _, count in counts:
        sizes[space_id] += count

    def named(space: Space) -> str:
        pool = space.slug == DEFAULT_SPACE
        return f"{space.name}, the shared pool" if pool else f"{space.name} ({sizes[space.id]})"

    return offered(offer, named)


def _opened(named: Named, cursor: str | None) -> Opened:
    user_id = credential().user_id
    page = list_mentions(session(), user_id, named.entity.id, limit=PAGE, cursor=cursor, now=utc_now())
    conversations = [found.conversation.id for found in page.mentions if found.conversation is not None]
    places = Places(conversations, [found.message_id for found in page.mentions])
    offer = offered_spaces()
    targets = [(slug, name) for slug, name in offer if slug not in {DEFAULT_SPACE, named.space}]
    return Opened(named, page, places, Offered(targets, offer.others))
