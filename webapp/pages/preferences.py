"""How the user likes things done: the document, what an agent gets of it, and every version that it had."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated

from flask import Response, flash, request, url_for
from pydantic import BaseModel, Field

from memory.drafts.front_matter import Complaint, PreferencesError
from memory.errors import RefusedError
from memory.models import Preferences
from memory.preferences import preferences
from memory.preferences.document import Place, parse
from memory.preferences.preferences import Version
from retrieval.words.tokens import count
from webapp.context import credential, session, utc_now
from webapp.htmx import render, see_other
from webapp.operations import is_incognito, refuse_in_incognito, space_for
from webapp.pages import forms
from webapp.pages.closed import closed_page
from webapp.pages.line_diff import Line, compare
from webapp.pages.visitor import guarded
from webapp.pages.words import counted

bp = guarded("preferences")

PAGE = 20
# PostgreSQL's integer.
_VERSION = "<int(min=1, max=2147483647):version>"
EXAMPLE = """---
date_format: YYYY-MM-DD
time_format: HH:mm
default_folders:
  meeting_notes: meetings
response_style:
  verbosity: concise
  use_bullet_points: true
  include_timestamps: false
---

I call my project notes by the name of the client.
"""


_SOURCES = {"page": "written here", "api": "from an agent", "file": "from a file"}


class EditorForm(BaseModel):
    """Whether to begin with the example, and where in the versions the page begins."""

    example: bool = False
    before: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None


@dataclass(frozen=True, slots=True)
class Wrong:
    """A complaint with the line that it is about, as it was written."""

    complaint: Complaint
    written: str


@dataclass(frozen=True, slots=True)
class Preview:
    """What a document would come to: what is wrong with it, or else the prompt block with its tokens."""

    wrong: Sequence[Wrong] = ()
    unknown: Sequence[Place] = ()
    prompt: str = ""
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class History:
    """A page of versions, the newest first, and the `before` of the next page."""

    versions: Sequence[Version]
    next_before: int | None


@dataclass(frozen=True, slots=True)
class Desk:
    """The editor with all around it. `based_on` is the version that the text was begun with, 0 for none.

    `closed` while incognito: the text alone comes back, and nothing of what is in force.
    """

    document: str
    preview: Preview
    history: History
    current: int
    based_on: int
    refused: bool = False
    overtaken: bool = False
    closed: bool = False


@bp.app_template_filter("source")
def source(name: str) -> str:
    """Return in words where a version came from."""
    if name.startswith("restore:"):
        return f"restored from version {name.removeprefix('restore:')}"
    return _SOURCES.get(name, name)


@bp.get("/preferences")
def index() -> Response:
    """Show the document in force, ready to be changed; with `before`, htmx gets the further versions alone."""
    form = forms.parse(EditorForm, request.args)
    if _is_closed():
        return closed_page()
    row = preferences.current(session(), credential().user_id)
    document = EXAMPLE if form.example and row is None else row.document if row else ""
    desk = _desk(document, row, before=form.before)
    fragment = "preferences/_history.html" if form.before else "preferences/_desk.html"
    return render("preferences/index.html", fragment, desk=desk, form=form)


@bp.post("/preferences")
def save() -> Response:
    """Put the document in force, unless it cannot be used or another version came into force meanwhile.

    The text comes back with the reason, also where incognito began in another tab: there is no other copy of it.
    """
    who, based_on = credential(), request.form.get("based_on", type=int)
    try:
        refuse_in_incognito(space_for(None).id)
    except RefusedError:
        desk = Desk(_posted(None), Preview(), History((), None), 0, based_on or 0, closed=True)
        return _unsaved(desk, HTTPStatus.CONFLICT)
    row = preferences.current(session(), who.user_id)
    document = _posted(row)
    try:
        saved = preferences.save(session(), who.user_id, document, source="page", now=utc_now(), actor=who.actor)
    except PreferencesError as error:
        session().rollback()
        desk = _desk(document, row, preview=Preview(_wrong(error, document)), based_on=based_on, refused=True)
        return _unsaved(desk)
    if saved.new and based_on not in {None, saved.replaced}:
        session().rollback()
        row = preferences.current(session(), who.user_id)
        return _unsaved(_desk(document, row, overtaken=True))
    session().commit()
    flash(f"Version {saved.version} is in force." if saved.new else "Nothing was changed.")
    return see_other(url_for("preferences.index"))


@bp.post("/preferences/preview")
def look() -> Response:
    """Show what an agent would get of the document, without keeping it."""
    if _is_closed():
        return closed_page()
    row = preferences.current(session(), credential().user_id)
    desk = _desk(_posted(row), row, based_on=request.form.get("based_on", type=int))
    return render("preferences/index.html", "preferences/_preview.html", desk=desk, form=EditorForm())


@bp.get(f"/preferences/versions/{_VERSION}")
def show(version: int) -> Response:
    """Show a version, and in what it differs from the one in force."""
    if _is_closed():
        return closed_page()
    user_id = credential().user_id
    row, current = preferences.get_version(session(), user_id, version), preferences.current(session(), user_id)
    assert current is not None
    lines: list[Line] = compare(row.document, current.document)
    _, older = preferences.list_versions(session(), user_id, limit=1)
    return render(
        "preferences/version.html",
        "preferences/_version.html",
        row=row,
        lines=lines,
        current=current.version,
        deletable=row is not current or older is None,
    )


@bp.post(f"/preferences/versions/{_VERSION}/restore")
def restore(version: int) -> Response:
    """Put an older document in force again."""
    refuse_in_incognito(space_for(None).id)
    who = credential()
    saved = preferences.restore(session(), who.user_id, version, now=utc_now(), actor=who.actor)
    session().commit()
    flash(
        f"Version {version} is in force again, as version {saved.version}."
        if saved.new
        else f"Nothing was changed: version {saved.version} says the same."
    )
    return see_other(url_for("preferences.index"))


@bp.post("/preferences/versions/delete")
def delete_older() -> Response:
    """Delete every version but the one in force, for good."""
    return _deleted(None)


@bp.post(f"/preferences/versions/{_VERSION}/delete")
def delete(version: int) -> Response:
    """Delete a version for good."""
    return _deleted(version)


def _deleted(version: int | None) -> Response:
    who = credential()
    gone = preferences.delete_versions(session(), who.user_id, version, now=utc_now(), actor=who.actor)
    session().commit()
    flash(f"{counted(gone, 'version')} deleted for good.")
    return see_other(url_for("preferences.index"))


def _is_closed() -> bool:
    return is_incognito(space_for(None))


def _unsaved(desk: Desk, status: int = HTTPStatus.UNPROCESSABLE_ENTITY) -> Response:
    return render("preferences/index.html", "preferences/_desk.html", status, desk=desk, form=EditorForm())


def _posted(row: Preferences | None) -> str:
    """Return the document of the form, or the one in force where they differ in nothing but their line ends."""
    document = forms.by_lines(request.form.get("document", ""))
    return row.document if row is not None and forms.by_lines(row.document) == document else document


def _desk(
    document: str,
    row: Preferences | None,
    *,
    preview: Preview | None = None,
    based_on: int | None = None,
    before: int | None = None,
    refused: bool = False,
    overtaken: bool = False,
) -> Desk:
    current = row.version if row is not None else 0
    history = History(*preferences.list_versions(session(), credential().user_id, limit=PAGE, before=before))
    begun = current if based_on is None else based_on
    if preview is None:
        # An empty document is fine where nobody has begun one, and refused where one was emptied.
        preview = preview_of(document) if document.strip() or current else Preview()
    return Desk(document, preview, history, current, begun, refused, overtaken)


def preview_of(document: str) -> Preview:
    """Return what a document would come to."""
    try:
        parsed = parse(document)
    except PreferencesError as error:
        return Preview(_wrong(error, document))
    prompt = preferences.prompt_block(parsed)
    return Preview(unknown=parsed.unknown, prompt=prompt, tokens=count(prompt))


def _wrong(error: PreferencesError, document: str) -> list[Wrong]:
    lines = forms.by_lines(document).split("\n")
    return [Wrong(complaint, _written(complaint.line, lines)) for complaint in error.complaints]


def _written(line: int | None, lines: Sequence[str]) -> str:
    return lines[line - 1].strip()[:200] if line is not None and 0 < line <= len(lines) else ""
