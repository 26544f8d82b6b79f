"""What a space has summed up once all of it has grown old: what of it is found still."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from uuid import UUID

import numpy as np

from evals.dataset import Collection, DataSet, Item, Question
from memory.embedding.bundled import MINILM
from memory.embedding.local import LocalEmbedder
from retrieval.history.extract import tidy
from retrieval.history.rollup import Group, grouped
from retrieval.ranking.types import Vector

KIND = "rolled"


@dataclass(frozen=True, slots=True)
class _Old:
    """An item as a memory that is about to be archived."""

    item: Item
    id: UUID
    created_at: datetime
    tags: Sequence[str] = ()
    theme: str | None = None
    importance: float = 0.2

    @property
    def text(self) -> str:
        return self.item.text


def summed_up(data: DataSet, now: datetime) -> DataSet:
    """Return a data set of loose items after all of these were archived and summed up by extracts.

    What is in no summary is in no search any more. An item is answered by the summary that has its words, if any has:
    one that does not is no answer, though it names the item as its source.
    """
    embedder = LocalEmbedder(MINILM, None)
    collections, answers = [], {}
    for each in data.collections:
        # The ids follow the order of the items, so that a run always groups those without a date in the same way.
        old = [_Old(item, UUID(int=place), item.created_at or now) for place, item in enumerate(each.items)]
        groups, _ = grouped(old, _vectors(embedder, old), 0.0)
        items = tuple(_item(number, group) for number, group in enumerate(groups, 1))
        collections.append(Collection(each.name, items))
        for item, group in zip(items, groups, strict=True):
            said = tidy(item.text)
            answers.update({(each.name, one.item.id): item.id for one in group.memories if tidy(one.text) in said})

    def answering(question: Question) -> frozenset[str]:
        return frozenset(answers.get((question.collection, part), f"lost {part}") for part in question.expected)

    questions = tuple(replace(each, expected=answering(each)) for each in data.questions)
    name = f"{data.name}_{KIND}"
    return replace(data, kind=KIND, name=name, collections=tuple(collections), questions=questions)


def _vectors(embedder: LocalEmbedder, old: Sequence[_Old]) -> Mapping[UUID, Vector]:
    if not old:
        return {}
    made = embedder.embed([each.text for each in old])
    units = made / np.linalg.norm(made, axis=1, keepdims=True)
    return {each.id: vector for each, vector in zip(old, units, strict=True)}


def _item(number: int, group: Group[_Old]) -> Item:
    draft = group.draft(group.extract(), UTC)
    return Item(f"r{number}", draft.text, "summary", draft.created_at)
