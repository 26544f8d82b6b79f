"""`/v1/preferences`: how the user likes things done, as one document with a history."""

from __future__ import annotations

from dataclasses import asdict
from http import HTTPStatus
from typing import Any

from flask import Response, abort, jsonify
from pydantic import BaseModel, Field

from memory.drafts.front_matter import PreferencesError
from memory.errors import NotFoundError, RefusedError
from memory.models import Preferences
from memory.preferences import preferences
from memory.preferences.document import parse_kept
from retrieval.words.tokens import count
from webapp.api.account_answers import (
    DeletedPreferencesAnswer,
    PreferencesAnswer,
    PreferencesPromptAnswer,
    RestoredPreferencesAnswer,
    VersionsAnswer,
)
from webapp.api.blueprint import api_blueprint
from webapp.api.schemas import Query, Strict, Text, moment
from webapp.context import credential, session, utc_now
from webapp.errors import problem
from webapp.guards import may_read, needs
from webapp.operations import NOTHING_RECALLED, is_incognito, refuse_in_incognito, space_for

bp = api_blueprint("preferences", "How the user likes things done", "/v1/preferences")

# PostgreSQL's integer.
LARGEST_VERSION = 2**31 - 1


class PreferencesBody(Strict):
    """The whole document: Markdown, with YAML front matter where there is something to structure; 64 KiB at most."""

    document: Text


class VersionPath(BaseModel):
    """The number of a version, from 1."""

    version: int = Field(ge=1, le=LARGEST_VERSION)


class VersionsQuery(Query):
    """A page of versions; `before` is the `next_before` of the page before it."""

    limit: int = Field(50, ge=1, le=200)
    before: int | None = Field(None, ge=1, le=LARGEST_VERSION)


@bp.put("", summary="Put a document in force", responses={"200": PreferencesAnswer})
@needs("write")
def put(body: PreferencesBody) -> Response:
    """Answer the version in force; `new` is false when the document already was. A bad one changes nothing."""
    _refuse_confined()
    refuse_in_incognito(space_for(None).id)
    who = credential()
    saved = preferences.save(session(), who.user_id, body.document, source="api", now=utc_now(), actor=who.actor)
    session().commit()
    return _shown(preferences.get_version(session(), who.user_id, saved.version), new=saved.new)


@bp.get("", summary="The document in force", responses={"200": PreferencesAnswer})
@needs("read")
def read() -> Response:
    """Answer the document, what its front matter says with defaults, and the keys that are not known."""
    _refuse_confined()
    _hide_in_incognito()
    row = preferences.current(session(), credential().user_id)
    if row is None:
        raise NotFoundError("there are no preferences yet")
    return _shown(row)


@bp.get("/versions", summary="Every version, the newest first", responses={"200": VersionsAnswer})
@needs("read")
def versions(query: VersionsQuery) -> Response:
    """Answer a page without the documents; `next_before` is null at the end."""
    _refuse_confined()
    _hide_in_incognito()
    found, more = preferences.list_versions(session(), credential().user_id, limit=query.limit, before=query.before)
    shown = [{**asdict(each), "created_at": moment(each.created_at)} for each in found]
    return jsonify({"versions": shown, "next_before": more})


@bp.get("/versions/<int:version>", summary="One version", responses={"200": PreferencesAnswer})
@needs("read")
def read_version(path: VersionPath) -> Response:
    """Answer the document of a version as it was put in force."""
    _refuse_confined()
    _hide_in_incognito()
    return _shown(preferences.get_version(session(), credential().user_id, path.version))


@bp.post(
    "/versions/<int:version>/restore",
    summary="Put an older document in force again",
    responses={"200": RestoredPreferencesAnswer},
)
@needs("write")
def restore(path: VersionPath) -> Response:
    """Add its document as a new version; `new` is false when it is the one in force."""
    _refuse_confined()
    refuse_in_incognito(space_for(None).id)
    who = credential()
    saved = preferences.restore(session(), who.user_id, path.version, now=utc_now(), actor=who.actor)
    session().commit()
    if not may_read():
        return jsonify({"version": saved.version, "new": saved.new})
    return _shown(preferences.get_version(session(), who.user_id, saved.version), new=saved.new)


@bp.delete("/versions", summary="Delete the older versions", responses={"200": DeletedPreferencesAnswer})
@needs("forget")
def delete_older() -> Response:
    """Delete every version but the one in force, for good."""
    return _deleted(None)


@bp.delete("/versions/<int:version>", summary="Delete one version", responses={"200": DeletedPreferencesAnswer})
@needs("forget")
def delete(path: VersionPath) -> Response:
    """Delete a version for good; the one in force only where it is the last."""
    return _deleted(path.version)


def _deleted(version: int | None) -> Response:
    _refuse_confined()
    who = credential()
    gone = preferences.delete_versions(session(), who.user_id, version, now=utc_now(), actor=who.actor)
    session().commit()
    return jsonify({"deleted": gone})


@bp.get(
    "/prompt",
    summary="The preferences in natural language, for a system prompt",
    responses={"200": PreferencesPromptAnswer},
)
@needs("read")
def prompt() -> Response:
    """Answer the block; empty without preferences, and in an incognito session. Any space's agent may have it.

    While the database is out of reach it is empty with `error`, as what memory puts into a prompt is.
    """
    return jsonify(told_in_prompt())


def told_in_prompt() -> dict[str, Any]:
    """Return the block, its length and its version; it is empty in an incognito session."""
    if is_incognito(space_for(None)):
        return {"prompt": "", "token_count": 0, "version": None, "skipped": "incognito"}
    block, version = preferences.prompt(session(), credential().user_id)
    return {"prompt": block, "token_count": count(block), "version": version}


def _refuse_confined() -> None:
    if credential().space_id is not None:
        detail = "preferences are the user's: a token that is confined to one space may read their prompt alone"
        abort(problem(HTTPStatus.FORBIDDEN, detail))


def _hide_in_incognito() -> None:
    if is_incognito(space_for(None)):
        raise RefusedError("incognito", NOTHING_RECALLED)


def _shown(row: Preferences, **more: Any) -> Response:
    parsed = parse_kept(row.document)
    return jsonify(
        {
            "version": row.version,
            **more,
            "document": row.document,
            "preferences": parsed.structured.model_dump(),
            "body": parsed.body,
            "unknown": [asdict(place) for place in parsed.unknown],
            "source": row.source,
            "created_at": moment(row.created_at),
        }
    )


def _unusable(error: PreferencesError) -> Response:
    """Answer everything that is wrong with a document, line by line."""
    session().rollback()
    found = [asdict(complaint) for complaint in error.complaints]
    detail = "; ".join(str(complaint) for complaint in error.complaints[:3])
    return problem(HTTPStatus.UNPROCESSABLE_ENTITY, detail, errors=found)


bp.register_error_handler(PreferencesError, _unusable)
