"""`/v1/spaces`: the divisions of a user's memory."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any
from uuid import UUID

from flask import Response, jsonify, make_response
from pydantic import Field

from memory.errors import InvalidError
from memory.models import DEFAULT_SPACE, Space
from memory.space_removal.contents import contents_of
from memory.space_removal.removal import Choice, remove_space
from memory.spaces.capacity import beyond
from memory.spaces.sharing import Sharing, share, sharings, unshare
from memory.spaces.spaces import create_space, page_spaces, update_space
from retrieval.policy import NAMED, policy_from
from webapp.api.answers import (
    ContentsAnswer,
    PoliciesAnswer,
    RemovedSpaceAnswer,
    SharesAnswer,
    SpaceAnswer,
    SpacesAnswer,
)
from webapp.api.blueprint import api_blueprint
from webapp.api.schemas import Cursor, Line, Query, Slug, SpaceBody, SpacePatch, SpacePath, Strict, Tag, space_json
from webapp.context import credential, runtime, session, utc_now
from webapp.guards import needs, refuse_confined, require_scope
from webapp.operations import refuse_in_incognito, refuse_to_join, space_for, space_in_address

bp = api_blueprint("spaces", "Namespaces that do not see one another", "/v1/spaces")


class SpacesQuery(Query):
    """How many spaces to list, and after which: as many as there may be, unless fewer are asked for."""

    limit: int = Field(1000, ge=1, le=1000)
    cursor: Cursor | None = None


class ContentsQuery(Query):
    """Which space would take what is kept."""

    into: Slug = DEFAULT_SPACE


class ShareBody(Strict):
    """Which memories of the space are found in another one as well: those that have the tag."""

    tag: Tag
    found_in: Slug


class ShareQuery(Query):
    """Which share."""

    tag: Tag
    found_in: Slug


class RemovalQuery(Query):
    """What becomes of what is in a space, and which one takes it; `expect` is the word that its contents answered."""

    contents: Choice = Field(description="move, archive or forget what is in the space")
    into: Slug = Field(DEFAULT_SPACE, description="The space that takes it.")
    expect: Line = Field(description="what GET /v1/spaces/SLUG/contents, with the same `into`, answers as `expect`")


@bp.get("", summary="List spaces", responses={"200": SpacesAnswer})
@needs("read")
def list_(query: SpacesQuery) -> Response:
    """Answer a page of the spaces that this token may see, the default first; `next_cursor` is null at the end."""
    who = credential()
    if who.space_id is not None:
        return jsonify({"spaces": [space_json(space_for(None))], "next_cursor": None})
    page = page_spaces(session(), who.user_id, limit=query.limit, cursor=query.cursor)
    return jsonify({"spaces": [space_json(space) for space in page.spaces], "next_cursor": page.next_cursor})


@bp.post("", summary="Add a space", responses={"201": SpaceAnswer})
@needs("write")
def create(body: SpaceBody) -> Response:
    """Answer the new space."""
    who = credential()
    refuse_confined("add another")
    refuse_in_incognito(space_for(None).id)
    fields = body.model_dump(exclude_none=True, exclude={"slug", "soft_cap"})
    cap = body.soft_cap or runtime().settings.soft_cap
    space = create_space(
        session(), who.user_id, body.slug, soft_cap=cap, now=utc_now(), actor=who.actor, **_checked(fields)
    )
    # Before the commit: somebody may remove it right after.
    answer = space_json(space)
    session().commit()
    return make_response(jsonify(answer), 201)


@bp.get("/<slug>", summary="Read a space", responses={"200": SpaceAnswer})
@needs("read")
def read(path: SpacePath) -> Response:
    """Answer a space with its settings."""
    return jsonify(space_json(space_in_address(path.slug)))


@bp.patch("/<slug>", summary="Change a space", responses={"200": SpaceAnswer})
@needs("write")
def patch(path: SpacePath, body: SpacePatch) -> Response:
    """Change the settings that were sent."""
    changes = body.changes("lets_go")
    space, who = space_in_address(path.slug), credential()
    slug = space.slug
    if "name" in changes:
        # Switches can be set while incognito, but not a name, which is somebody's words.
        refuse_in_incognito(space_for(None).id)
    if "soft_cap" in changes:
        _check_cap(space, changes["soft_cap"], body.lets_go or 0)
    space = update_space(session(), who.user_id, slug, _checked(changes), now=utc_now(), actor=who.actor)
    # Before the commit: somebody may remove it right after.
    answer = space_json(space)
    session().commit()
    return jsonify(answer)


@bp.get(
    "/<slug>/contents",
    summary="What is in a space, and what its removal would touch",
    responses={"200": ContentsAnswer},
)
@needs("read")
def contents(path: SpacePath, query: ContentsQuery) -> Response:
    """Answer how much is in a space, how many of each thing each choice touches, and the word to `expect`."""
    space, user_id = space_in_address(path.slug), credential().user_id
    # The counts of what was merged would tell what the default space holds.
    refuse_confined("remove it")
    refuse_to_join(query.into)
    found = contents_of(session(), user_id, space, into=query.into, keys=runtime().keys, now=utc_now())
    shown = asdict(found)
    digest = shown.pop("digest")
    return jsonify({"space": space.slug, **shown, "expect": digest})


@bp.delete("/<slug>", summary="Remove a space", responses={"200": RemovedSpaceAnswer})
@needs("write")
def delete(path: SpacePath, query: RemovalQuery) -> Response:
    """Move what is in it to the space `into`, archive it there, or forget it; 409 if it has changed since.

    Forgetting needs the scope forget as well, and is all that an incognito session may do. Entities move along, but not
    to the default space, which has none. Tokens of the space are revoked.
    """
    space = space_in_address(path.slug)
    slug = space.slug
    refuse_confined("remove it")
    if query.contents == "forget":
        require_scope("forget")
    else:
        refuse_in_incognito(space.id)
    refuse_to_join(query.into)
    who = credential()
    done = remove_space(
        session(),
        who.user_id,
        slug,
        query.contents,
        into=query.into,
        expect=query.expect,
        keys=runtime().keys,
        now=utc_now(),
        actor=who.actor,
    )
    session().commit()
    return jsonify({"space": slug, "removed": True, "contents": query.contents, **done})


@bp.get("/<slug>/shares", summary="What a space shares, and what is shared with it", responses={"200": SharesAnswer})
@needs("read")
def shares(path: SpacePath) -> Response:
    """Answer which memories of the space are found in others, then which of others are found in it."""
    space = space_in_address(path.slug)
    refuse_confined("see what spaces share")
    return jsonify(_shares_json(space.id))


@bp.post("/<slug>/shares", summary="Share what has a tag with another space", responses={"201": SharesAnswer})
@needs("write")
def add_share(path: SpacePath, body: ShareBody) -> Response:
    """Let searches in the space `found_in` find the active memories of this one that have the tag, in this spelling.

    They stay where they are, and nobody changes them from there. Answers what is shared by then.
    """
    space, who = space_in_address(path.slug), credential()
    refuse_confined("share anything")
    refuse_in_incognito(space.id)
    refuse_to_join(body.found_in)
    share(session(), who.user_id, space.slug, body.tag, body.found_in, now=utc_now(), actor=who.actor)
    answer = _shares_json(space.id)
    session().commit()
    return make_response(jsonify(answer), 201)


@bp.delete("/<slug>/shares", summary="Stop a share", responses={"200": SharesAnswer})
@needs("write")
def drop_share(path: SpacePath, query: ShareQuery) -> Response:
    """Let nobody find there any more what has the tag; answers what is shared by then."""
    space, who = space_in_address(path.slug), credential()
    refuse_confined("share anything")
    sharing = Sharing(space.slug, query.tag, query.found_in)
    unshare(session(), who.user_id, sharing, now=utc_now(), actor=who.actor)
    answer = _shares_json(space.id)
    session().commit()
    return jsonify(answer)


def _shares_json(space_id: UUID) -> dict[str, Any]:
    return {"shares": [asdict(each) for each in sharings(session(), credential().user_id, space_id)]}


def _check_cap(space: Space, soft_cap: int, agreed: int) -> None:
    """Raise `InvalidError` for a soft cap that lets more memories go than was agreed to."""
    lost = beyond(session(), space, soft_cap, utc_now()) if soft_cap < space.soft_cap else 0
    if lost > agreed:
        said = f"lets {lost} of its memories go for good as soon as anything is stored there"
        raise InvalidError("soft_cap", f"{said}; send lets_go {lost} as well if that is meant")
    if lost:
        require_scope("forget")


@bp.get("/policies", summary="The named ranking policies", responses={"200": PoliciesAnswer})
@needs("read")
def policies() -> Response:
    """Answer every number of every named policy."""
    return jsonify({"policies": [asdict(policy) for policy in NAMED.values()]})


def _checked(fields: dict[str, Any]) -> dict[str, Any]:
    """Refuse a stored policy that no search could use."""
    if "policy" in fields:
        policy_from(fields["policy"], NAMED["balanced"])
    return fields
