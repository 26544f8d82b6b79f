"""When a memory was recalled and with which scores, and what comes nearest to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from flask import Response

from memory.embedding.models import active_model
from memory.models import SCORE_PARTS
from memory.reading.browse import Entry, get_entries
from memory.record.recall_history import Recall, recalls_of
from retrieval.lookup.nearest import neighbours_of
from retrieval.policy import NAMED
from webapp.context import credential, session, utc_now
from webapp.htmx import render
from webapp.operations import is_incognito, space_at, space_for, visible_entry
from webapp.pages.closed import closed_page
from webapp.pages.place import place_here
from webapp.pages.visitor import guarded

bp = guarded("recalls")

MOST_RECALLS = 30
MOST_NEIGHBOURS = 5
# Cosines of memories that have nothing to do with each other scatter around zero; from here on one comes near.
NEAR_COSINE = 0.2
# The picture's measures in its own units: a column for each recall, with a gap between them.
COLUMN, GAP, HEIGHT = 10, 3, 24


@dataclass(frozen=True, slots=True)
class Column:
    """One recall in a row of columns: where it stands, and how high."""

    x: int
    height: float


@dataclass(frozen=True, slots=True)
class Row:
    """One part of the score over the recalls; `most` is what a full column stands for."""

    name: str
    columns: Sequence[Column]
    first: float
    last: float
    most: float


@dataclass(frozen=True, slots=True)
class Recalled:
    """The last recalls of a memory, the oldest first, and a picture of their scores: none below two."""

    recalls: Sequence[Recall]
    rows: Sequence[Row]
    width: int


def recalled_of(memory_id: UUID) -> Recalled:
    """Return when a memory was recalled; the caller may see the memory."""
    recalls = recalls_of(session(), credential().user_id, memory_id, most=MOST_RECALLS)
    known = [(place, recall.scores) for place, recall in enumerate(recalls) if recall.scores is not None]
    rows = []
    # One value alone makes no chart.
    for name in SCORE_PARTS if len(known) > 1 else ():
        values = [(place, scores[name]) for place, scores in known]
        # The total is as large as the weights of each search made it.
        most = max(1.0, *(value for _, value in values)) if name == "total" else 1.0
        columns = [Column(place * COLUMN, round(_share(value / most) * HEIGHT, 2)) for place, value in values]
        rows.append(Row(name.capitalize(), columns, values[0][1], values[-1][1], most))
    return Recalled(recalls, rows, max(len(recalls), MOST_RECALLS // 2) * COLUMN - GAP)


def _share(value: float) -> float:
    return min(max(value, 0.0), 1.0)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A memory near another; `cosine` is 1 for the same direction and about 0 for texts that are not related."""

    entry: Entry
    cosine: float

    @property
    def said(self) -> str:
        """Say how near it is, by the cosines that tell a search whether something is about a question."""
        policy = NAMED["balanced"]
        if self.cosine >= policy.named_cosine:
            return "very near"
        return "near" if self.cosine >= policy.sure_cosine else "somewhat near"


@bp.get("/memories/<uuid:memory_id>/neighbours")
def neighbours(memory_id: UUID) -> Response:
    """Show the few memories of the same space whose vectors come nearest."""
    entry = visible_entry(memory_id)
    if is_incognito(space_for(entry.space)):
        return closed_page()
    compared = _compared(entry)
    near = [each for each in compared if each.cosine >= NEAR_COSINE]
    shown: dict[str, Any] = {"entry": entry, "near": near, "compared": compared, "place": place_here()}
    return render("memories/neighbours.html", "memories/_neighbours.html", **shown)


def _compared(entry: Entry) -> list[Neighbour]:
    """Return the nearest, however far they are."""
    memory, user_id = entry.memory, credential().user_id
    model = active_model(session(), user_id)
    if model is None or entry.embedding != "ready":
        return []
    size = space_at(memory.space_id).documents
    found = neighbours_of(session(), memory, model, scope_size=size, most=MOST_NEIGHBOURS)
    shown = get_entries(session(), user_id, [memory_id for memory_id, _ in found], now=utc_now())
    return [Neighbour(shown[memory_id], cosine) for memory_id, cosine in found if memory_id in shown]
