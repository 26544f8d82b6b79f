"""One thing done to many memories: counted before, and undone by one button after."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from http import HTTPStatus
from typing import Any, Literal
from uuid import UUID

from flask import Response, flash, make_response, render_template, request, url_for
from pydantic import AwareDatetime, BaseModel, Field
from sqlalchemy import select
from werkzeug.datastructures import MultiDict

from memory.commands.slips import Slip, seal, unseal
from memory.drafts.drafts import MAX_TAG_LENGTH, check_text, without_blanks
from memory.errors import InvalidError
from memory.forgetting.forget import UNDO_WINDOW
from memory.forgetting.restore import sources_first
from memory.ids import among, pack, unpack
from memory.lineage.writers import find_tokens
from memory.models import DEFAULT_SPACE, Memory, Space, Token
from memory.portions import portions
from memory.reading.browse import list_ids
from memory.record.audit import done_at
from memory.spaces.spaces import lock_spaces
from memory.writing import bulk
from tasks.embedding import nudge
from webapp.api.schemas import Line
from webapp.command_answers import listed
from webapp.context import credential, runtime, session, utc_now
from webapp.htmx import leave_for, see_other
from webapp.operations import incognito_spaces, is_incognito, refuse_in_incognito, space_for, told_restorables
from webapp.pages.closed import closed_page
from webapp.pages.forms import BrowseForm, narrowed_by, parse
from webapp.pages.place import way_back
from webapp.pages.queries import offered_spaces, space_name
from webapp.pages.visitor import guarded
from webapp.pages.words import counted

bp = guarded("bulk")

# Of the memories that are chosen so many are shown beside the question.
SHOWN = 8
# Characters. Servers, this one and proxies before it, read a little more.
LONGEST_ADDRESS = 8_000
# Of all that fit so many are forgotten by one act, `bulk.MOST` at a time, so that whoever writes waits for no more.
MOST_FORGOTTEN = 10 * bulk.MOST
# How the name of a tick in the list begins; the id of its memory follows.
_TICK = "id-"

Act = Literal["pin", "unpin", "tag", "untag", "move", "archive", "activate", "forget"]


@dataclass(frozen=True, slots=True)
class Wording:
    """How an act is told of: on the menu, as a question and on the button that says yes, and once it is done.

    A question has places for how many memories (`these`) and what it is done with (`value`). `recorded` is the action
    of its audit events, and `undo` the act that takes it back.
    """

    menu: str
    question: str
    done: str
    recorded: str
    undo: str


WORDINGS: dict[Act, Wording] = {
    "pin": Wording("Pin", "Pin {these}", "pinned", "memory.pinned", "unpin"),
    "unpin": Wording("Unpin", "Unpin {these}", "unpinned", "memory.unpinned", "pin"),
    "tag": Wording("Tag", "Tag {these} with #{value}", "tagged", "memory.updated", "untag"),
    "untag": Wording("Take the tag off", "Take #{value} off {these}", "no longer tagged so", "memory.updated", "tag"),
    "move": Wording("Move", "Move {these} to {value}", "moved", "memory.moved", "move"),
    "archive": Wording("Archive", "Archive {these}", "archived, out of search", "memory.updated", "activate"),
    "activate": Wording("Make active again", "Make {these} active again", "active again", "memory.updated", "archive"),
    "forget": Wording(
        "Forget",
        "Forget {these}",
        "forgotten: gone for good in ten minutes at the latest",
        "memory.forgotten",
        "restore",
    ),
}


class ActForm(BaseModel):
    """What to do, and about what: a tag to add or take off, a space to move to."""

    act: Act
    about: Line = ""

    @property
    def value(self) -> str:
        """Return what the act is done with; checked."""
        if self.act in {"tag", "untag"}:
            check_text(self.about, "tag")
            if len(self.about) > MAX_TAG_LENGTH:
                raise InvalidError("tag", f"must be at most {MAX_TAG_LENGTH} characters")
            # Elsewhere a comma divides tags: it would look like two, and be found by neither. One that an agent has
            # made so can be taken off.
            if self.act == "tag" and "," in self.about:
                raise InvalidError("tag", "must be one, without a comma: add the next after it")
            return without_blanks(self.about)
        return space_for(self.about).slug if self.act == "move" else ""


class ChoiceForm(BaseModel):
    """The form above the list: what was ticked, or all of it, and a field for each kind of act."""

    act: Act
    id: list[UUID] = []
    every: bool = False
    tag: Line = ""
    target: Line = ""

    @property
    def about(self) -> str:
        """Return what the act is to be done with."""
        return {"tag": self.tag, "untag": self.tag, "move": self.target}.get(self.act, "")


class AskForm(ActForm):
    """The question about what was chosen, as its address has it: the ids packed. `own` is asked on a memory's page."""

    ids: str = ""
    every: bool = False
    own: bool = False


class DoForm(ActForm):
    """The answer to it: exactly these."""

    id: list[UUID] = []


class DoneForm(ActForm):
    """What was done, and when, and how many stayed as they were."""

    at: AwareDatetime
    left: int = Field(0, ge=0, le=MOST_FORGOTTEN)


@bp.post("/memories/bulk")
def choose() -> Response:
    """Lead to the question about what was chosen, which has an address of its own: to load again, to come back to."""
    form = parse(ChoiceForm, _with_ticks(request.form))
    chosen = {"every": "true"} if form.every else {"ids": pack(form.id)}
    address = _address("bulk.ask", **chosen, act=form.act, about=form.about or None)
    if len(address) > LONGEST_ADDRESS:
        return _to_list("These are too many to be ticked one by one: take all that fit.")
    return see_other(address)


@bp.get("/memories/bulk/ask")
def ask() -> Response:
    """Count what would be touched, show some of it, and ask."""
    if is_incognito(None):
        return closed_page()
    form, narrowed = parse(AskForm, request.args), narrowed_by(BrowseForm, *AskForm.model_fields)
    ids = _chosen(form)
    if not ids:
        return _to_list("Choose some memories first: tick them, or take all that fit.")
    wording, these = WORDINGS[form.act], counted(len(ids), "memory", "memories")
    value, problem, question = "", "", f"{wording.menu} {these}"
    # The page of a memory leaves the space to be chosen here.
    is_open = form.act == "move" and not form.about
    try:
        value = form.value
    except InvalidError as error:
        # Asked for here, where what was chosen is still chosen.
        problem = _where(len(ids)) if is_open else _problem(error)
    else:
        named = space_name(value) if form.act == "move" else value
        question = wording.question.format(these=these, value=named)
    items, places = listed(ids[:SHOWN]), offered_spaces()
    page = render_template(
        "memories/bulk.html",
        act=form.act,
        word=wording.menu,
        asked=question,
        value=value,
        problem=problem,
        is_open=is_open,
        about=form.about,
        every=form.every,
        places=places,
        target=next((slug for slug, _ in places if any(item.space != slug for item in items)), DEFAULT_SPACE),
        ids=ids,
        ticked=None if form.every else pack(ids),
        own=ids[0] if form.own else None,
        items=items,
        most=_most(form.act),
        at_once=bulk.MOST,
        in_order=narrowed.in_order,
        writer=_writer(narrowed) if form.every else None,
        since=narrowed.since,
        now=utc_now(),
        filters=narrowed.place,
    )
    return make_response(page, HTTPStatus.UNPROCESSABLE_ENTITY if problem and not is_open else HTTPStatus.OK)


def _writer(narrowed: BrowseForm) -> Token | None:
    """Return the token that wrote all that the list was narrowed to, as far as it can be named."""
    return find_tokens(session(), credential().user_id, [narrowed.token]).get(narrowed.token)


def _where(count: int) -> str:
    return "Where shall it be?" if count == 1 else "Where shall they be?"


def _problem(error: InvalidError) -> str:
    said = f"the tag {error.message}" if error.field == "tag" else error.message
    return f"{said[:1].upper()}{said[1:]}."


@bp.post("/memories/bulk/do")
def do() -> Response:
    """Do it to exactly these, and lead to what was done."""
    form, now = parse(DoForm, request.form), utc_now()
    if is_incognito(None):
        return leave_for(url_for("browse.index"))
    value, ids = form.value, _open(form.id, _most(form.act))
    if form.act == "move":
        refuse_in_incognito(space_for(value).id, len(ids))
    changed = 0
    for some in portions(ids, bulk.MOST):
        changed += _apply(form.act, some, value, now)
        session().commit()
    # What sums up others may have gone with one of them before its own turn came.
    left = len(_open(ids, len(ids))) if form.act == "forget" else len(ids) - changed
    if form.act == "move":
        nudge()
    return leave_for(_address("bulk.done", act=form.act, about=value or None, at=now.isoformat(), left=left or None))


@bp.get("/memories/bulk/done")
def done() -> Response:
    """Tell what was done at a moment, from the record, with the slips that undo it."""
    if is_incognito(None):
        return closed_page()
    form, who, now = parse(DoneForm, request.args), credential(), utc_now()
    wording = WORDINGS[form.act]
    changed = done_at(session(), who.user_id, wording.recorded, form.at, actor=who.actor)
    ends = {each.id: each.undo_until for each in told_restorables() if each.id in changed}
    until = max(ends.values(), default=min(form.at, now) + UNDO_WINDOW)
    # What was undone, or changed again since, is not undone once more.
    forgot = form.act == "forget"
    still = set(ends) if forgot else bulk.left_so(session(), who.user_id, list(changed), form.act, form.about)
    before = {each: details.get("from") for each, details in changed.items()}
    if form.act == "untag":
        before |= bulk.taken_off(session(), who.user_id, list(changed), form.about, form.at)
    back = _by_origin({each: before[each] for each in changed if each in still}, form.about)
    slips = [
        Slip(who.user_id, wording.undo, until, tuple(some), about)
        for about, ids in back.items()
        for some in portions(ids, bulk.MOST)
    ]
    # What a memory replaced moves along with it, and so does what sums up that alone.
    chosen = [each for each, details in changed.items() if details.keys().isdisjoint({"replaced_by", "with"})]
    page = render_template(
        "memories/bulk_done.html",
        act=form.act,
        said=f"{counted(len(chosen), 'memory', 'memories')} {wording.done}",
        along=len(changed) - len(chosen),
        value=form.about,
        left=form.left,
        only=chosen[0] if len(chosen) == 1 and not forgot else None,
        undone=bool(changed) and not still,
        slips=[seal(runtime().keys, each) for each in slips] if until > now else (),
        filters=_filters().place,
    )
    return make_response(page)


def _by_origin(before: Mapping[UUID, str | None], about: str) -> dict[str | None, list[UUID]]:
    """Return memories by what undoing an act names: what each had before, as its space, or what all are `about`."""
    found: dict[str | None, list[UUID]] = defaultdict(list)
    for memory_id, was in before.items():
        found[was or about or None].append(memory_id)
    return found


@bp.post("/memories/bulk/undo")
def undo() -> Response:
    """Take back what was done to all of them; in incognito a forgetting alone."""
    who, now = credential(), utc_now()
    slips = [
        unseal(runtime().keys, text, who.user_id, field="slip", now=now)
        for text in request.form.getlist("slip")[: bulk.MOST]
    ]
    if any(slip.action not in {*WORDINGS, "restore"} for slip in slips):
        raise InvalidError("slip", "undoes nothing of this kind")
    if is_incognito(None) and any(slip.action != "restore" for slip in slips):
        return leave_for(url_for("browse.index"))
    for slip in slips:
        if slip.action == "move":
            refuse_in_incognito(space_for(slip.space).id, len(slip.ids))
    gone = [each for slip in slips if slip.action == "restore" for each in slip.ids]
    # In one order for all slips: what sums up comes back after what it sums up.
    back: set[UUID] = set()
    for some in portions(sources_first(session(), who.user_id, gone), bulk.MOST):
        back.update(bulk.restore_many(session(), who.user_id, some, now=now, actor=who.actor))
        session().commit()
    # Counted last: a summary may have come along before its own turn.
    number = len(back.intersection(gone))
    slips = [slip for slip in slips if slip.action != "restore"]
    if len(slips) > 1:
        # All spaces and memories are locked before the first slip is taken back, in the one order that everybody keeps:
        # locked slip by slip, they could be half of a deadlock.
        spaces, ids = lock_spaces(session(), who.user_id), [each for slip in slips for each in slip.ids]
        bulk.lock_memories(session(), who.user_id, ids, *(space.id for space in spaces))
    for slip in slips:
        number += _apply(slip.action, _open(slip.ids), slip.space or "", now)
    session().commit()
    nudge()
    return _to_list(f"Undone: {counted(number, 'memory', 'memories')} as before.")


def _with_ticks(given: MultiDict[str, str]) -> MultiDict[str, str]:
    """Return a form with what was ticked among its ids: in the list each tick has the name of its memory."""
    ticked = [("id", name.removeprefix(_TICK)) for name in given if name.startswith(_TICK)]
    return MultiDict([*given.items(multi=True), *ticked])


def _to_list(said: str) -> Response:
    flash(said)
    return leave_for(way_back(_filters().place).url)


def _address(endpoint: str, **more: Any) -> str:
    """Return the address of a page that knows how the list was narrowed."""
    return url_for(endpoint, **{**_filters().place, **more})


def _filters() -> BrowseForm:
    return parse(BrowseForm, request.args)


def _chosen(form: AskForm) -> list[UUID]:
    """Return the memories that were ticked, or all that fit the filters of the page, `_most` at most."""
    if not form.every:
        return _open(unpack(form.ids))
    now = utc_now()
    narrowed = _filters()
    filters = replace(narrowed.to_filters(now), outside=incognito_spaces() or None)
    most = _most(form.act)
    return _open(list_ids(session(), credential().user_id, filters, most=most, now=now, order=narrowed.order), most)


def _most(act: Act) -> int:
    """Return how many memories one act is done to."""
    return MOST_FORGOTTEN if act == "forget" else bulk.MOST


def _open(ids: Sequence[UUID], most: int = bulk.MOST) -> list[UUID]:
    """Return those that this visitor sees, of the first `most`: none of a space that is incognito by default."""
    closed, user_id = incognito_spaces(), credential().user_id
    mine = (
        select(Memory.id, Space.slug)
        .join(Space, (Space.user_id == Memory.user_id) & (Space.id == Memory.space_id))
        .where(Memory.user_id == user_id, among(Memory.id, ids[:most]))
    )
    spaces = {row.id: row.slug for row in session().execute(mine)}
    return [each for each in dict.fromkeys(ids) if each in spaces and spaces[each] not in closed]


def _apply(act: str, ids: Sequence[UUID], value: str, now: datetime) -> int:
    """Do one act, and return how many memories it changed."""
    user_id, actor, keys = credential().user_id, credential().actor, runtime().keys
    if act == "move":
        moved = bulk.move_many(session(), user_id, ids, value, keys=keys, now=now, actor=actor)
        return sum(len(each) for each in moved.values())
    if act in {"pin", "unpin"}:
        changed = bulk.pin_many(session(), user_id, ids, pinned=act == "pin", now=now, actor=actor)
    elif act in {"tag", "untag"}:
        changed = bulk.tag_many(session(), user_id, ids, value, on=act == "tag", now=now, actor=actor)
    elif act in {"archive", "activate"}:
        # The slip of an undone "activate" has the status from before: what was superseded is so again.
        status = "active" if act == "activate" else value or "archived"
        changed = bulk.set_status_many(session(), user_id, ids, status, keys=keys, now=now, actor=actor)
    else:
        changed = bulk.forget_many(session(), user_id, ids, keys=keys, now=now, actor=actor, undo=UNDO_WINDOW)
    return len(changed)


def offer() -> dict[str, object]:
    """Return what the form above the list of memories needs."""
    return {"acts": [(act, each.menu) for act, each in WORDINGS.items()], "places": offered_spaces()}
