"""What waits to be decided: memories that say nearly the same, with what differs marked."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

from flask import Response, flash, request, url_for
from pydantic import BaseModel

from memory.enrichment.propose import CHANGE
from memory.errors import NotFoundError
from memory.reading.undecided import Undecided, count_undecided, list_undecided
from webapp.api.schemas import Line
from webapp.context import credential, session, utc_now
from webapp.htmx import render, swap_or_go, wants_fragment
from webapp.operations import incognito_spaces, is_incognito, visible_entry
from webapp.pages.closed import closed_page
from webapp.pages.forms import parse
from webapp.pages.visitor import guarded
from webapp.pages.word_diff import Piece, compare_words, set_apart
from webapp.settling import settle

bp = guarded("undecided")

PAGE = 20
# More are not counted: nobody decides as many at a sitting.
MOST_COUNTED = 1000
# Characters of the newer text that are shown with what differs.
_SHOWN = 1200

DECIDED = {
    "this": "Decided: the newer one holds. The older one is out of search, and can be brought back on its page.",
    "other": "Decided: the older one holds. The newer one is out of search, and can be brought back on its page.",
    "both": "Decided: both hold.",
}
# The same of a pair that was decided elsewhere since it was shown.
SETTLED = {
    "this": "Decided already: the newer one holds. Nothing was changed.",
    "other": "Decided already: the older one holds. Nothing was changed.",
    "both": "Decided already, or changed since: both stay as they are.",
    "": "One of the two is gone, so nothing is left to decide.",
}


class PageForm(BaseModel):
    """Where a page of pairs begins."""

    cursor: Line | None = None


@dataclass(frozen=True, slots=True)
class Pair:
    """Two memories, and what of the older one's words became what of the newer one's."""

    undecided: Undecided
    pieces: Sequence[Piece]


def count() -> int:
    """Return how many pairs wait in the spaces that incognito leaves open."""
    outside = incognito_spaces()
    return count_undecided(session(), credential().user_id, outside=outside, now=utc_now(), most=MOST_COUNTED)


@bp.get("/memories/undecided")
def index() -> Response:
    """List a page of pairs; with a cursor, htmx gets the further page alone."""
    if is_incognito(None):
        return closed_page()
    form = parse(PageForm, request.args)
    page = list_undecided(
        session(), credential().user_id, outside=incognito_spaces(), limit=PAGE, cursor=form.cursor, now=utc_now()
    )
    pairs = [Pair(each, _pieces(each)) for each in page.pairs]
    return render(
        "memories/undecided.html", "memories/_undecided.html", pairs=pairs, next_cursor=page.next_cursor, form=form
    )


def _pieces(pair: Undecided) -> Sequence[Piece]:
    """Return what changed word by word, or as a whole where the two have other words."""
    compare = set_apart if pair.differs_in == CHANGE else compare_words
    return compare(pair.older.text, pair.newer.text, most=_SHOWN)


@bp.post("/memories/undecided/<uuid:newer_id>/<uuid:older_id>")
def decide(newer_id: UUID, older_id: UUID) -> Response:
    """Say which of two holds: the one replaces the other, or both stay."""
    keep = request.form.get("keep", "")
    try:
        settle(newer_id, older_id, keep)
        said = DECIDED[keep]
    except NotFoundError:
        session().rollback()
        keep = _settled_before(newer_id, older_id)
        said = SETTLED[keep]
    if not wants_fragment():
        flash(said)
    replaced = {"this": older_id, "other": newer_id}.get(keep)
    back, pair_id = url_for("undecided.index"), f"{newer_id}-{older_id}"
    return swap_or_go("memories/_decided.html", back, said=said, replaced=replaced, pair_id=pair_id)


def _settled_before(newer_id: UUID, older_id: UUID) -> str:
    """Return what became of a pair, empty where one of them is gone; raises `NotFoundError` where none is there."""
    there = {}
    for each in (newer_id, older_id):
        with suppress(NotFoundError):
            there[each] = visible_entry(each).memory.supersedes
    if not there:
        raise NotFoundError("there is no such memory")
    if len(there) == 1:
        return ""
    return "this" if there[newer_id] == older_id else "other" if there[older_id] == newer_id else "both"
