"""A memory's own page, and what can be done with it wherever it is shown."""

from __future__ import annotations

import hashlib
import json
from http import HTTPStatus
from typing import Any
from uuid import UUID

from flask import Response, flash, make_response, render_template, request, url_for
from pydantic import ValidationError

from memory.drafts.drafts import merged_tags
from memory.errors import InvalidError, NotFoundError, RefusedError
from memory.forgetting.forget import UNDO_WINDOW
from memory.ids import pack
from memory.models import TYPES, Memory, Space
from memory.reading.browse import Entry
from webapp.context import credential, session, utc_now
from webapp.htmx import refresh_or_go, render, see_other, swap_or_go, wants_fragment
from webapp.operations import (
    bring_back,
    change,
    held_entry,
    is_incognito,
    make_active,
    refuse_in_incognito,
    remove,
    restorables,
    set_pin,
    space_at,
    space_for,
    visible_entry,
)
from webapp.pages.beside import beside_list
from webapp.pages.bulk import WORDINGS, Act
from webapp.pages.closed import closed_page
from webapp.pages.forms import RememberForm, begun_with, by_lines, last_day_of, parse, tags_in
from webapp.pages.history import past_of
from webapp.pages.place import place_before, place_here, way_back
from webapp.pages.queries import choices, offered_spaces, opened
from webapp.pages.recalls import recalled_of
from webapp.pages.record import used_in
from webapp.pages.remember import desk
from webapp.pages.visitor import guarded, local_path
from webapp.pages.words import ago
from webapp.plain import problems
from webapp.settling import replace_other, restore_replaced, settle

bp = guarded("memory")

# What is said beside a text that is refused, by default the refusal's own words.
_FORBIDDEN = {
    "incognito": "cannot be stored while incognito: end that in another tab, then save it again",
    "memory_off": "cannot be stored: memory is off in its space",
    "tombstone": "",
}

_DECIDED = {
    "this": "Decided. The other one is replaced: it is out of search, and can be read here.",
    "other": "Decided. This one is replaced: it is out of search, and can be read here.",
    "both": "Decided. Both stay as they are.",
}

_ACTIVE = "Active again: searches find it."
_STAYS = "It stays out of search: another memory replaces it or says the same, or its text was forgotten within a day."


@bp.get("/memories/<uuid:memory_id>")
def show(memory_id: UUID) -> Response:
    """Show everything that is known of a memory; of a forgotten one, for ten minutes, that it can be brought back."""
    try:
        found = opened(memory_id)
    except NotFoundError:
        return _forgotten(memory_id)
    if is_incognito(space_for(found.entry.space)):
        return closed_page()
    return render(
        "memories/memory.html",
        "memories/_memory.html",
        opened=found,
        entry=found.entry,
        packed=pack([memory_id]),
        acts=_further_acts(found.entry),
        place=place_here(),
        used=used_in(memory_id),
        past=past_of(found.entry),
        recalled=recalled_of(memory_id),
    )


def _further_acts(entry: Entry) -> list[tuple[str, str]]:
    """Return what is done to a memory as to many, and how the page calls it."""
    able: dict[Act, bool] = {"move": len(offered_spaces().pairs) > 1, "archive": entry.memory.status == "active"}
    return [(act, WORDINGS[act].menu) for act, is_able in able.items() if is_able]


def _forgotten(memory_id: UUID) -> Response:
    """Show that a memory is forgotten, while it can be brought back; raises `NotFoundError`."""
    forgotten = next(iter(restorables([memory_id])), None)
    if forgotten is None:
        raise NotFoundError("there is no such memory")
    space = session().get(Space, (credential().user_id, forgotten.space_id))
    if is_incognito(space):
        return closed_page()
    return render("memories/restorable.html", "memories/_restorable.html", forgotten=forgotten, place=place_here())


@bp.post("/memories/<uuid:memory_id>/pin")
def pin(memory_id: UUID) -> Response:
    """Keep a memory whatever the soft cap says."""
    return _pinned(memory_id, pinned=True)


@bp.post("/memories/<uuid:memory_id>/unpin")
def unpin(memory_id: UUID) -> Response:
    """Let the soft cap decide again."""
    return _pinned(memory_id, pinned=False)


@bp.post("/memories/<uuid:memory_id>/forget")
def forget(memory_id: UUID) -> Response:
    """Take a memory out of every read path, with ten minutes to change one's mind."""
    forgotten = remove(memory_id, UNDO_WINDOW)
    if not wants_fragment() and forgotten.undo_until is not None:
        flash(f"{memory_id} {ago(forgotten.undo_until, utc_now())}", "forgotten")
    back = _back(way_back(place_before()).url)
    return swap_or_go("memories/_forgotten.html", back, forgotten=forgotten, **beside_list())


@bp.post("/memories/<uuid:memory_id>/restore")
def restore(memory_id: UUID) -> Response:
    """Undo a forgetting."""
    entry = bring_back(memory_id)
    closed = is_incognito(space_at(entry.memory.space_id))
    if closed or not wants_fragment():
        flash("Brought back.")
    back = _back(_own_page(memory_id))
    if closed:
        # What was forgotten before incognito began can be brought back, and is not read.
        return refresh_or_go(back)
    return swap_or_go("memories/_row.html", back, entry=entry, place=place_before(), **beside_list())


@bp.post("/memories/<uuid:memory_id>/updates/<uuid:other_id>")
def decide(memory_id: UUID, other_id: UUID) -> Response:
    """Say which of two that nearly say the same holds: the one replaces the other, or both stay."""
    keep = request.form.get("keep", "")
    try:
        settle(memory_id, other_id, keep)
        flash(_DECIDED[keep])
    except NotFoundError:
        session().rollback()
        visible_entry(memory_id)
        flash("Nothing is left to decide between the two: see below what became of them.")
    return _to_own_page(memory_id)


@bp.get("/memories/<uuid:memory_id>/replaces/<uuid:other_id>")
def ask_replace(memory_id: UUID, other_id: UUID) -> Response:
    """Ask whether a memory is to replace another."""
    entry, other = visible_entry(memory_id), visible_entry(other_id)
    if any(is_incognito(space_for(each.space)) for each in (entry, other)):
        return closed_page()
    return make_response(render_template("memories/replace.html", entry=entry, other=other, place=place_here()))


@bp.post("/memories/<uuid:memory_id>/replaces/<uuid:other_id>")
def replaces(memory_id: UUID, other_id: UUID) -> Response:
    """Let a memory replace another."""
    replace_other(memory_id, other_id)
    flash("It is replaced: it is out of search, and can be brought back here.")
    return _to_own_page(memory_id)


@bp.post("/memories/<uuid:memory_id>/replaces/<uuid:other_id>/undo")
def replaces_no_more(memory_id: UUID, other_id: UUID) -> Response:
    """Let both hold again."""
    both = restore_replaced(memory_id, other_id)
    flash("Both hold again." if both else "It is replaced no longer by this one, but still by another.")
    return _to_own_page(memory_id)


@bp.post("/memories/<uuid:memory_id>/activate")
def activate(memory_id: UUID) -> Response:
    """Let searches find again what is archived, or was replaced by what is gone by now."""
    flash(_ACTIVE if make_active(memory_id) else _STAYS)
    return _to_own_page(memory_id)


@bp.get("/memories/<uuid:memory_id>/edit")
def ask(memory_id: UUID) -> Response:
    """Show what can be changed of a memory; of a forgotten one, that it can be brought back."""
    try:
        entry = visible_entry(memory_id)
    except NotFoundError:
        return _forgotten(memory_id)
    if is_incognito(space_for(entry.space)):
        return closed_page()
    return _form(entry)


@bp.post("/memories/<uuid:memory_id>/edit")
def save(memory_id: UUID) -> Response:
    """Change a memory; the form comes back where a field does not fit, or another has changed it since it was shown."""
    try:
        entry = held_entry(memory_id)
    except NotFoundError:
        return _written_for_nothing(memory_id)
    try:
        refuse_in_incognito(entry.memory.space_id)
        shown, written = begun_with(_as_shown(entry)) == _as_shown(entry), _is_as_written(entry)
        if not shown and not written:
            return _form(entry, overtaken=True)
        change(memory_id, _changes(entry.memory, parse(RememberForm, request.form)))
    except ValidationError as error:
        return _form(entry, problems(error))
    except InvalidError as error:
        session().rollback()
        return _form(visible_entry(memory_id), {error.field: error.message})
    except RefusedError as error:
        if error.reason not in _FORBIDDEN:
            raise
        session().rollback()
        problem = {"text": _FORBIDDEN[error.reason] or str(error).removeprefix("this text ")}
        return _form(visible_entry(memory_id), problem, closed=error.reason == "incognito")
    # Equal though it was shown otherwise: Enter was pressed twice, and the first one changed it.
    flash("Nothing changed." if shown and written else "Changed.")
    return _to_own_page(memory_id)


def _changes(memory: Memory, form: RememberForm) -> dict[str, Any]:
    """Return the fields that a form changes, without those that only look otherwise in a browser."""
    changes: dict[str, Any] = {"type": form.type, "theme": _theme_meant(form.theme or "") or None}
    # Blanks at its ends, and line ends of another kind, do not come back from a browser.
    if (text := by_lines(form.text)) != by_lines(memory.text).strip():
        changes["text"] = text
    # A tag may have a comma, which divides tags here: as long as nobody touches them they stay whole.
    if form.tags != ", ".join(memory.tags):
        changes["tags"] = tags_in(form.tags)
    # An hour that an agent has set stays, as long as nobody chooses another day.
    if "last_day" in request.form and form.last_day != last_day_of(memory.expires_at):
        changes["expires_at"] = form.expires_at
    return changes


def _theme_meant(given: str) -> str:
    """Return the slug of the theme that is called so, as everywhere else on the pages; else what was given."""
    called = {name.casefold(): slug for slug, name in choices().themes}
    return called.get(given.strip().casefold(), given.strip())


def _written_for_nothing(memory_id: UUID) -> Response:
    """Show what was written of a memory that was forgotten meanwhile, as a new one; raises `NotFoundError`."""
    try:
        form = parse(RememberForm, request.form)
    except ValidationError:
        form = RememberForm(text=request.form.get("text", "").strip())
    if not form.text:
        raise NotFoundError("there is no such memory")
    forgotten = next(iter(restorables([memory_id])), None)
    space = None if forgotten is None else space_at(forgotten.space_id)
    if space is not None:
        form = form.model_copy(update={"space": space.slug})
    try:
        refuse_in_incognito((space or space_for(None)).id)
    except RefusedError:
        said = "is incognito, and nothing was saved. End that in another tab; then Remember keeps what you wrote"
        return desk(form, HTTPStatus.CONFLICT, error=InvalidError("session", said))
    said = "is no longer there, and nothing was saved. Remember keeps what you wrote as a new one"
    return desk(form, HTTPStatus.NOT_FOUND, error=InvalidError("memory", said))


def _is_as_written(entry: Entry) -> bool:
    """Tell whether a memory says by now what the form does: then Enter was pressed twice, and nobody came between."""
    given, memory = request.form, entry.memory
    tags = merged_tags((), tags_in(given.get("tags", "")))
    day = str(last_day_of(memory.expires_at) or "")
    return (
        by_lines(given.get("text", "")).strip() == by_lines(memory.text).strip()
        and given.get("type") == memory.type
        and _theme_meant(given.get("theme", "")) == (entry.theme or "")
        and ", ".join(tags) == ", ".join(memory.tags)
        and given.get("last_day", day) == day
    )


def _as_shown(entry: Entry) -> str:
    """Return what tells whether the fields of the form still are as they were shown."""
    memory = entry.memory
    shown = json.dumps([memory.text, memory.type, entry.theme, memory.tags, str(memory.expires_at)])
    return hashlib.blake2b(shown.encode(), digest_size=16).hexdigest()


def _form(
    entry: Entry, problem: dict[str, str] | None = None, *, overtaken: bool = False, closed: bool = False
) -> Response:
    refused = bool(problem) or overtaken
    page = render_template(
        "memories/edit.html",
        entry=entry,
        given=request.form if refused else None,
        problem=problem or {},
        types=TYPES,
        themes=choices().themes,
        shown_day=last_day_of(entry.memory.expires_at),
        # While the memory is closed nobody sees whether another has changed it.
        based_on=begun_with("") if closed else _as_shown(entry),
        overtaken=overtaken,
        place=place_here(),
    )
    status = HTTPStatus.CONFLICT if closed else HTTPStatus.UNPROCESSABLE_ENTITY
    return make_response(page, status if refused else HTTPStatus.OK)


def _pinned(memory_id: UUID, *, pinned: bool) -> Response:
    entry = set_pin(memory_id, pinned=pinned)
    back = _back(_own_page(memory_id))
    shown: dict[str, Any] = {
        "id": entry.memory.id,
        "memory": entry.memory,
        "pinned": entry.memory.pinned,
        "back": back,
        "place": place_before(),
    }
    # Without scripts, and on its own page, the browser would show the page from the top.
    return swap_or_go("memories/_actions.html", f"{back}#memories-actions-{memory_id}", **shown)


def _to_own_page(memory_id: UUID) -> Response:
    return see_other(_own_page(memory_id))


def _own_page(memory_id: UUID) -> str:
    return url_for("memory.show", memory_id=memory_id, **place_before())


def _back(default: str) -> str:
    return local_path(request.form.get("next"), default)
