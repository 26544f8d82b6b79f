"""Bring in notes that were kept elsewhere, from files."""

from __future__ import annotations

from collections import Counter
from http import HTTPStatus
from pathlib import PurePath

from flask import Response, flash, make_response, render_template, request, url_for
from werkzeug.exceptions import RequestEntityTooLarge

from memory.drafts.drafts import Draft
from memory.errors import InvalidError, RefusedError
from memory.transfer.notes_files import OBJECTS, WRITTEN, drafts_in
from webapp.context import session, utc_now
from webapp.htmx import see_other
from webapp.operations import bring, space_for
from webapp.pages.forms import LARGEST_FORM
from webapp.pages.queries import offered_spaces
from webapp.pages.visitor import guarded
from webapp.pages.words import counted
from webapp.plain import in_one_sentence

bp = guarded("remember_files")

# Notes of one form: whoever waits for it sees no progress.
MOST = 2000
LARGEST = LARGEST_FORM // 2**20
KINDS = ",".join(sorted(WRITTEN | OBJECTS))


@bp.get("/remember/files")
def index() -> Response:
    """Show the form."""
    return _page(request.args.get("space"))


@bp.post("/remember/files")
def save() -> Response:
    """Store what the files have: all of it or nothing."""
    space, archive_gone = request.form.get("space") or None, "archive_gone" in request.form
    try:
        drafts = _drafts(space_for(space).slug)
        counts = bring(drafts, space, whole=_names() if archive_gone else ())
    except InvalidError as error:
        session().rollback()
        return _refused(in_one_sentence(error), space, archive_gone=archive_gone)
    except RefusedError:
        return _refused("Nothing is stored while this session is incognito", space, archive_gone=archive_gone)
    flash(_said(counts))
    sources = {draft.source_ids[0] for draft in drafts}
    shown = {"source": sources.pop()} if len(sources) == 1 else {"order": "changed", "space": space}
    return see_other(url_for("browse.index", **shown))


@bp.errorhandler(RequestEntityTooLarge)
def _too_large(_: RequestEntityTooLarge) -> Response:
    """Say what can be done. What else the form said was not read to its end."""
    where = "have them brought in where the server runs, by “commonplace import memories”"
    said = f"The files are larger than {LARGEST} MB together: choose fewer or smaller ones, or {where}"
    return _page(None, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, wrong=said)


def _refused(said: str, space: str | None, *, archive_gone: bool) -> Response:
    return _page(space, HTTPStatus.UNPROCESSABLE_ENTITY, wrong=said, archive_gone=archive_gone)


def _said(counts: Counter[str]) -> str:
    """Return what became of all that the files had."""
    more = {
        "corrected": "corrected, as their documents have another text",
        "changed": "left as they are, as they were changed here since they were exported",
        "elsewhere": "left as they are, as they are in another space",
        "merged": "merged into what says the same",
        "there": "there already",
        "refused": "not taken, as forgotten before or only what was recalled from here",
        "archived": "archived, as no longer in any of them",
    }
    told = [f"{counts[name]:,} {words}" for name, words in more.items() if counts[name]]
    return ", ".join([f"{counted(counts['created'], 'memory', 'memories')} brought in", *told]) + "."


def _drafts(space: str) -> list[Draft]:
    """Return what the files of the form have for a space; raises `InvalidError`."""
    now = utc_now()
    found = [
        draft
        for each, name in zip(request.files.getlist("files"), _names(), strict=True)
        if name
        for draft in drafts_in(each.read(), name, now, now, space)
    ]
    if not found:
        raise InvalidError("files", "have nothing that could be a memory: choose at least one with text in it")
    if len(found) > MOST:
        raise InvalidError("files", f"would be {len(found):,} memories, and {MOST:,} are taken at once: choose fewer")
    return found


def _names() -> list[str]:
    """Return the names of the files of the form, an empty one for a field that is left empty."""
    # Some browsers send the path of the file, too.
    return [PurePath(each.filename or "").name for each in request.files.getlist("files")]


def _page(space: str | None, status: int = HTTPStatus.OK, *, wrong: str = "", archive_gone: bool = False) -> Response:
    page = render_template(
        "remember/files.html",
        space=space,
        spaces=offered_spaces(space),
        kinds=KINDS,
        most=MOST,
        largest=LARGEST,
        archive_gone=archive_gone,
        wrong=wrong,
    )
    return make_response(page, status)
