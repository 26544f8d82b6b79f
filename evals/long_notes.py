"""Put what was said, or several notes, together into long ones, as somebody keeps who pastes in whatever there is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby

from evals.dataset import Collection, DataSet, Item
from evals.locomo import Turn
from memory.portions import portions

KIND = "notes"


def in_notes(data: DataSet, most: int) -> DataSet:
    """Return loose notes of at most so many turns of one session each, or of so many items.

    A note answers what something in it does.
    """
    collections, note_of = [], {}
    for each in data.collections:
        notes = list(_cut(each, most))
        items = tuple(_item(number, note) for number, note in enumerate(notes, 1))
        collections.append(Collection(each.name, items))
        note_of.update(
            {(each.name, part.id): item.id for item, note in zip(items, notes, strict=True) for part in note}
        )
    questions = tuple(
        replace(each, expected=frozenset(note_of[each.collection, part] for part in each.expected))
        for each in data.questions
    )
    name = f"{data.name}_{KIND}_{most}"
    return replace(data, kind=KIND, name=name, collections=tuple(collections), questions=questions)


def _cut(collection: Collection, most: int) -> Iterator[Sequence[Item]]:
    """Give the items that become a note each."""
    if collection.talk is None:
        yield from portions(collection.items, most)
        return
    for _, session in groupby(collection.talk.turns, key=lambda turn: turn.session):
        yield from portions((_said(turn) for turn in session), most)


def _said(turn: Turn) -> Item:
    caption = f" [{turn.caption}]" if turn.caption is not None else ""
    return Item(turn.dia_id, f"{turn.speaker}: {turn.text}{caption}", created_at=turn.said_at)


def _item(number: int, parts: Sequence[Item]) -> Item:
    said_at: datetime | None = parts[0].created_at
    # A heading goes before the turns: a note that began with a name and a colon would be taken for a turn itself.
    head = [f"Notes of {said_at:%d %B %Y}", ""] if said_at is not None else []
    return Item(f"n{number}", "\n".join([*head, *(each.text for each in parts)]), created_at=said_at)
