"""What a memory said before: each version, what became of it, and the way back to it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from flask import Response, flash, request, url_for
from pydantic import BaseModel, Field

from memory.lineage.revisions import VERSIONED, content_of, get_revision, list_revisions, to_bring_back
from memory.models import Revision
from memory.reading.browse import Entry
from webapp.context import credential, session
from webapp.htmx import render, see_other
from webapp.operations import is_incognito, restore_version, space_for, visible_entry
from webapp.pages.closed import closed_page
from webapp.pages.forms import parse
from webapp.pages.place import place_before
from webapp.pages.queries import theme_name
from webapp.pages.visitor import guarded
from webapp.pages.word_diff import Piece, compare_words

bp = guarded("history")

PAGE = 5
# Of a version among others so many characters are shown, and of one on its own page.
IN_LIST, ALONE = 1200, 12_000


class VersionsForm(BaseModel):
    """Where a page of versions begins."""

    before: int | None = Field(None, ge=1, le=2_147_483_647)


@dataclass(frozen=True, slots=True)
class Step:
    """A version, and what the next one changed: the words of the text, and other fields as (name, before, after)."""

    version: Revision
    pieces: Sequence[Piece]
    others: Sequence[tuple[str, str, str]]


@dataclass(frozen=True, slots=True)
class Past:
    """A page of versions of a memory, newest first; `current` is the number of the one in force."""

    steps: Sequence[Step]
    next_before: int | None
    current: int


def past_of(entry: Entry, before: int | None = None) -> Past:
    """Return what a memory said before, from the version before `before` on; the caller may see the memory."""
    user_id, memory_id = credential().user_id, entry.memory.id
    found = list_revisions(session(), user_id, memory_id, limit=PAGE, before=before)
    after = _after(entry, found.current if before is None else before, found.current)
    steps = []
    for version in found.versions:
        steps.append(_step(version, after, version.fields, IN_LIST))
        after = _content(version)
    return Past(steps, found.next_before, found.current)


def _after(entry: Entry, number: int, current: int) -> dict[str, Any]:
    """Return what the version of this number said, which may be the one in force."""
    if number >= current:
        return asdict(content_of(session(), entry.memory))
    return _content(get_revision(session(), credential().user_id, entry.memory.id, number))


def _content(version: Revision) -> dict[str, Any]:
    return {name: getattr(version, name) for name in VERSIONED}


def _step(version: Revision, after: dict[str, Any], fields: Collection[str], most: int) -> Step:
    """Return what becomes of a version; of `fields` alone, as importance also moves by itself."""
    was = _content(version)
    names = [name for name in was if name != "text" and name in fields and was[name] != after[name]]
    others = [(name.replace("_", " "), _said(name, was[name]), _said(name, after[name])) for name in names]
    return Step(version, compare_words(version.text, after["text"], most=most), others)


def _said(name: str, value: Any) -> str:
    if name == "theme" and value:
        return theme_name(value)
    if isinstance(value, list):
        return ", ".join(value) or "none"
    return f"{value:.2f}" if isinstance(value, float) else value or "none"


@bp.get("/memories/<uuid:memory_id>/revisions")
def index(memory_id: UUID) -> Response:
    """List what a memory said before, newest first."""
    form, entry = parse(VersionsForm, request.args), visible_entry(memory_id)
    if is_incognito(space_for(entry.space)):
        return closed_page()
    past = past_of(entry, form.before)
    return render("memories/history.html", "memories/_history.html", entry=entry, past=past, form=form)


@bp.get("/memories/<uuid:memory_id>/revisions/<int:number>")
def show(memory_id: UUID, number: int) -> Response:
    """Show one version whole, and how the memory differs from it as it stands."""
    entry = visible_entry(memory_id)
    if is_incognito(space_for(entry.space)):
        return closed_page()
    version = get_revision(session(), credential().user_id, memory_id, number)
    fields = to_bring_back(session(), version)
    step = _step(version, asdict(content_of(session(), entry.memory)), fields, ALONE)
    return render("memories/version.html", "memories/_version.html", entry=entry, step=step)


@bp.post("/memories/<uuid:memory_id>/revisions/<int:number>/restore")
def restore(memory_id: UUID, number: int) -> Response:
    """Make a memory say again what it said."""
    restore_version(memory_id, number)
    flash(f"Version {number} is in force again. What it replaced is kept below.")
    return see_other(url_for("memory.show", memory_id=memory_id, **place_before()))
