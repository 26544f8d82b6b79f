"""What memories are proposed as updates of earlier ones, against what they do replace."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import nan
from pathlib import Path
from uuid import UUID

from sqlalchemy import select

from evals.dataset import Collection, DataSet
from evals.errors import MeasureError
from evals.places import Place, put
from evals.tables import table
from memory.enrichment.enrich import Enricher
from memory.models import PossibleUpdate
from memory.storage.database import user_session
from tasks.runtime import Runtime

# Development data.
BUNDLED = Path(__file__).with_name("changes.jsonl")


@dataclass(frozen=True, slots=True)
class Proposal:
    """A possible update, for whatever reason it is one."""

    newer: str
    older: str
    is_right: bool


@dataclass(frozen=True, slots=True)
class Owner:
    """What was proposed to one owner, of whose notes so many replace another one."""

    name: str
    replacing: int
    proposals: Sequence[Proposal]

    @property
    def found(self) -> int:
        """Return of how many notes that replace another one this was found."""
        return len({each.newer for each in self.proposals if each.is_right})


def measure(
    runtime: Runtime, user_id: UUID, data: DataSet, *, now: datetime, on_progress: Callable[[int], None]
) -> list[Owner]:
    """Store a data set as agents would, let the worker read it, and return what it proposed to each owner.

    A proposal is right where the older note is what the newer one replaces, or was replaced by that.
    """
    if not any(item.replaces for each in data.collections for item in each.items):
        raise MeasureError("no memory says what it replaces")
    placed = put(runtime, user_id, data, now=now, alone=False, on_progress=on_progress)
    enricher = Enricher(runtime.sessions, lambda: now)
    found = []
    for collection in data.collections:
        place = placed.places[collection.name]
        while enricher.enrich_user(place.user_id):
            pass
        proposals = tuple(_proposals(runtime, place, collection))
        found.append(Owner(collection.name, sum(item.replaces is not None for item in collection.items), proposals))
    return found


def _proposals(runtime: Runtime, place: Place, collection: Collection) -> Iterator[Proposal]:
    replaced = {item.id: item.replaces for item in collection.items if item.replaces is not None}
    with user_session(runtime.sessions, place.user_id) as session:
        columns = (PossibleUpdate.memory_id, PossibleUpdate.older_id)
        links = session.execute(select(*columns).where(PossibleUpdate.user_id == place.user_id)).all()
    ordered = sorted(collection.items, key=lambda item: item.created_at or datetime.max.replace(tzinfo=UTC))
    order = {item.id: number for number, item in enumerate(ordered)}
    for link in links:
        ends = (place.held[link.memory_id][0], place.held[link.older_id][0])
        older, newer = sorted(ends, key=order.__getitem__)
        yield Proposal(newer, older, older in set(_line(newer, replaced)))


def _line(name: str, replaced: Mapping[str, str]) -> Iterator[str]:
    """Give what a note replaces, what that replaced, and so on."""
    while (name := replaced.get(name, "")) != "":
        yield name


def to_text(owners: Sequence[Owner], data: DataSet) -> str:
    """Return a table with a row for each owner and one for all, and the proposals that are wrong."""
    everybody = Owner("all", sum(each.replacing for each in owners), [one for each in owners for one in each.proposals])
    header = ("owner", "replacing", "proposed", "right", "precision", "recall")
    rows = [_row(each) for each in (*owners, everybody)]
    rows[-1] = _row(everybody, found=sum(each.found for each in owners))
    texts = {(each.name, item.id): item.text for each in data.collections for item in each.items}
    wrong = [
        f"  {each.name}: {texts[each.name, one.older]!r} was no longer so by {texts[each.name, one.newer]!r}?"
        for each in owners
        for one in each.proposals
        if not one.is_right
    ]
    return "\n".join([table(header, rows), *(["", "wrong:", *wrong] if wrong else [])])


def _row(owner: Owner, found: int | None = None) -> tuple[str, int, int, int, float, float]:
    proposed, right = len(owner.proposals), sum(each.is_right for each in owner.proposals)
    found = owner.found if found is None else found
    precision, recall = right / proposed if proposed else nan, found / owner.replacing if owner.replacing else nan
    return owner.name, owner.replacing, proposed, right, precision, recall
