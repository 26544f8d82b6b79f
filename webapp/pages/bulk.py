"""One thing done to many memories: counted before, and undone by one button after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any
from uuid import UUID

from flask import Response, flash, make_response, redirect, render_template, request, url_for
from pydantic import BaseModel
from sqlalchemy import select

from memory import bulk
from memory.browse import list_ids
from memory.commands.slips import Slip, seal, unseal
from memory.drafts import check_text
from memory.errors import InvalidError
from memory.forget import UNDO_WINDOW
from memory.models import Memory, Space
from memory.spaces import lock_spaces
from tasks.embedding import nudge
from webapp.api.schemas import Line
from webapp.command_answers import listed
from webapp.context import credential, runtime, session, utc_now
from webapp.operations import incognito_spaces, is_incognito, space_for, told_restorables
from webapp.pages.bulk_again import Changed, keep, kept, touched
from webapp.pages.forms import BrowseForm, parse
from webapp.pages.queries import choices
from webapp.pages.visitor import guarded
from webapp.pages.words import counted

bp = guarded("bulk")

SHOWN = 8
# What is asked, and what was done.
WORDS = {
    "pin": ("Pin", "pinned"),
    "unpin": ("Unpin", "unpinned"),
    "archive": ("Archive", "archived, out of search"),
    "activate": ("Make active again", "active again"),
    "tag": ("Tag", "tagged"),
    "untag": ("Take the tag off", "no longer tagged so"),
    "move": ("Move", "moved"),
    "forget": ("Forget", "forgotten: gone for good in ten minutes at the latest"),
    "restore": ("Restore", "brought back"),
}
# As a question, and on the button that says yes: how many, and what it is done with.
_ASKED = {
    "activate": "Make {these} active again",
    "tag": "Tag {these} with #{value}",
    "untag": "Take #{value} off {these}",
    "move": "Move {these} to {value}",
}
_BACK = {
    "pin": "unpin",
    "unpin": "pin",
    "archive": "activate",
    "activate": "archive",
    "tag": "untag",
    "untag": "tag",
    "forget": "restore",
}
OFFERED = ("pin", "unpin", "tag", "untag", "move", "archive", "activate", "forget")


class BulkForm(BaseModel):
    """What to do, and with what: a tag to add or take off, a space to move to."""

    id: list[UUID] = []
    act: Line = ""
    tag: Line = ""
    target: Line = ""
    every: bool = False

    @property
    def value(self) -> str:
        """Return what the act is done with; checked."""
        if self.act in {"tag", "untag"}:
            check_text(self.tag, "tag")
            if len(self.tag) > 64:
                raise InvalidError("tag", "must be at most 64 characters")
            return self.tag
        return space_for(self.target).slug if self.act == "move" else ""


@dataclass(frozen=True, slots=True)
class Done:
    """What was done to how many, how many stayed as they were, and the slips that take it back."""

    changed: int
    left: int
    slips: Sequence[str]


@bp.post("/memories/bulk")
def ask() -> Response:
    """Count what would be touched, show some of it, and ask."""
    form = _form()
    if is_incognito(None):
        return make_response(render_template("memories/closed.html"))
    ids = _chosen(form)
    if not ids:
        flash("Choose some memories first: tick them, or take all that fit.")
        given: dict[str, Any] = {**_filters().chosen()}
        return make_response(redirect(url_for("browse.index", **given), HTTPStatus.SEE_OTHER))
    word, these = WORDS[form.act][0], counted(len(ids), "memory", "memories")
    value, problem, asked = "", "", f"{word} {these}"
    try:
        value = form.value
    except InvalidError as error:
        # Asked for here, where what was chosen is still chosen.
        said = f"the tag {error.message}" if error.field == "tag" else error.message
        problem = f"{said[:1].upper()}{said[1:]}."
    else:
        asked = _ASKED.get(form.act, f"{word} {{these}}").format(these=these, value=value)
    page = render_template(
        "memories/bulk.html",
        act=form.act,
        word=word,
        asked=asked,
        value=value,
        problem=problem,
        tag=form.tag,
        places=choices().space_pairs,
        ids=ids,
        items=listed(ids[:SHOWN]),
        most=bulk.MOST,
        filters=_filters().chosen(),
    )
    return make_response(page, HTTPStatus.UNPROCESSABLE_ENTITY if problem else HTTPStatus.OK)


@bp.post("/memories/bulk/do")
def do() -> Response:
    """Do it to exactly these, and answer with the slips that undo it."""
    form = _form()
    if is_incognito(None):
        return make_response(render_template("memories/closed.html"))
    value = form.value
    ids = _open(form.id)
    changed = _apply(form.act, ids, value)
    session().commit()
    if form.act in {"restore", "move"}:
        nudge()
    now = utc_now()
    ends = [each.undo_until for each in told_restorables() if each.id in touched(changed)]
    until = max(ends, default=now + UNDO_WINDOW)
    if not touched(changed) and (before := kept(form.id, now)):
        changed, until = before
    else:
        keep(changed, form.id, until)
    ids_changed = touched(changed)
    slips = [
        seal(runtime().keys, Slip(credential().user_id, back, until, tuple(each), about))
        for back, each, about in changed
        if each
    ]
    done = Done(len(ids_changed), len({*ids} - ids_changed), slips)
    said = f"{counted(done.changed, 'memory', 'memories')} {WORDS[form.act][1]}"
    page = render_template("memories/bulk_done.html", done=done, said=said, value=value, filters=_filters().chosen())
    return make_response(page)


@bp.post("/memories/bulk/undo")
def undo() -> Response:
    """Take back what was done to all of them."""
    who, now, number = credential(), utc_now(), 0
    slips = [
        unseal(runtime().keys, text, who.user_id, field="slip", now=now)
        for text in request.form.getlist("slip")[: bulk.MOST]
    ]
    if any(slip.action not in WORDS for slip in slips):
        raise InvalidError("slip", "undoes nothing of this kind")
    if len(slips) > 1:
        # All at once and in one order: with a slip for each space, each might wait for who waits for another.
        lock_spaces(session(), who.user_id)
    for slip in slips:
        number += sum(len(each) for _, each, _ in _apply(slip.action, slip.ids, slip.space or ""))
    session().commit()
    nudge()
    flash(f"Undone: {counted(number, 'memory', 'memories')} as before.")
    return make_response(redirect(url_for("browse.index"), HTTPStatus.SEE_OTHER))


def _form() -> BulkForm:
    form = parse(BulkForm, request.form)
    if form.act not in OFFERED:
        raise InvalidError("act", f"must be one of {', '.join(OFFERED)}")
    return form


def _filters() -> BrowseForm:
    return parse(BrowseForm, request.args)


def _chosen(form: BulkForm) -> list[UUID]:
    """Return the memories that were ticked, or all that fit the filters of the page, 500 at most."""
    if not form.every:
        return _open(form.id)
    now = utc_now()
    filters = replace(_filters().to_filters(now), outside=incognito_spaces() or None)
    return _open(list_ids(session(), credential().user_id, filters, most=bulk.MOST, now=now))


def _open(ids: Sequence[UUID]) -> list[UUID]:
    """Return those that this visitor sees: none of a space that is incognito by default."""
    closed, user_id = incognito_spaces(), credential().user_id
    mine = (
        select(Memory.id, Space.slug)
        .join(Space, (Space.user_id == Memory.user_id) & (Space.id == Memory.space_id))
        .where(Memory.user_id == user_id, Memory.id.in_(ids[: bulk.MOST]))
    )
    spaces = {row.id: row.slug for row in session().execute(mine)}
    return [each for each in dict.fromkeys(ids) if each in spaces and spaces[each] not in closed]


def _apply(act: str, ids: Sequence[UUID], value: str) -> Changed:
    """Do one act; return what would take it back: an act, the memories that changed, and what it is done with."""
    user_id, actor, keys, now = credential().user_id, credential().actor, runtime().keys, utc_now()
    if act == "move":
        moved = bulk.move_many(session(), user_id, ids, value, keys=keys, now=now, actor=actor)
        return [("move", each, space) for space, each in moved.items()]
    if act in {"pin", "unpin"}:
        changed = bulk.pin_many(session(), user_id, ids, pinned=act == "pin", now=now, actor=actor)
    elif act in {"tag", "untag"}:
        changed = bulk.tag_many(session(), user_id, ids, value, on=act == "tag", keys=keys, now=now, actor=actor)
    elif act in {"archive", "activate"}:
        archived = act == "archive"
        changed = bulk.set_status_many(session(), user_id, ids, archived=archived, keys=keys, now=now, actor=actor)
    elif act == "forget":
        changed = bulk.forget_many(session(), user_id, ids, keys=keys, now=now, actor=actor, undo=UNDO_WINDOW)
    else:
        changed = bulk.restore_many(session(), user_id, ids, now=now, actor=actor)
    return [(_BACK.get(act, "forget"), changed, value or None)]


def offer() -> dict[str, object]:
    """Return what the form above the list of memories needs."""
    return {"acts": [(act, WORDS[act][0]) for act in OFFERED], "places": choices().space_pairs}
