"""What is learned from: what somebody has, and questions with what answers each of them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from evals import jsonl
from evals.blocks import Block
from evals.dataset import Collection, DataSet
from evals.locomo import memory_text

# Talks, in the format of docs/evaluation.md. Those that nothing has learned from are in `unseen`.
TALKS = Path(__file__).with_name("talks")

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Searched:
    """Texts that are searched together, and questions with the texts that answer them, maybe another person's."""

    texts: tuple[str, ...]
    asked: tuple[tuple[str, tuple[str, ...]], ...]


def drawn(found: Sequence[_T], count: int | None = None) -> list[_T]:
    """Return a sample of what there is to learn from, or all of it, in an order that is the same in every run."""
    return random.Random(3).sample(found, len(found))[:count]


def of_persons(blocks: Sequence[Block]) -> list[Searched]:
    """Return the notes of each person. What nothing answers is asked of the note that would, if there is one."""
    return [Searched(tuple(each.notes.values()), tuple(_about(each))) for each in blocks]


def of_talks(folder: Path = TALKS) -> list[Searched]:
    """Return the turns of each talk in a folder's files; raises `ValueError` that names the file and line."""
    sets = [jsonl.read(path) for path in sorted(folder.glob("*.jsonl"))]
    return [_turns(data, each) for data in sets for each in data.collections]


def _about(block: Block) -> Iterator[tuple[str, tuple[str, ...]]]:
    for text, ids in block.questions:
        if ids:
            yield text, tuple(block.notes[each] for each in ids)
        elif text in block.wanted:
            yield text, (block.wanted[text],)


def _turns(data: DataSet, collection: Collection) -> Searched:
    texts = {each.id: each.text for each in collection.items}
    if collection.talk is not None:
        texts = {each.dia_id: memory_text(each) for each in collection.talk.turns}
    asked = (
        (each.text, tuple(texts[name] for name in sorted(each.expected)))
        for each in data.questions
        if each.collection == collection.name and each.expected
    )
    return Searched(tuple(texts.values()), tuple(asked))
