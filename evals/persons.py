"""Read persons with notes (`evals.blocks`) as a data set: what their notes answer, and what they leave open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from evals.blocks import Block, read_file
from evals.dataset import Collection, DataSet, Item, Question

# Persons that no reader has learned from. On those whose file says that they are held out, nothing is tuned either.
UNSEEN = Path(__file__).with_name("unseen")


def read(path: Path) -> DataSet:
    """Return the persons of a file; raises `ValueError` that says what is wrong, and where.

    A question that no note answers is asked twice: of the notes, which must bring nothing (`nothing`), and of the
    notes with all that would answer such questions among them, which must bring the one that does (`told`).
    """
    blocks = read_file(path)
    named = {f"{path.stem}-{number}": block for number, block in enumerate(blocks, 1)}
    collections = tuple(each for name, block in named.items() for each in _collections(block, name))
    questions = tuple(each for name, block in named.items() for each in _questions(block, name))
    return DataSet("persons", path.stem, collections, questions)


def _collections(block: Block, name: str) -> Iterator[Collection]:
    yield Collection(name, _items(block.notes))
    wanted = {f"told {place}": block.wanted[text] for place, (text, _) in _asked(block) if text in block.wanted}
    yield Collection(f"{name} told", _items({**block.notes, **wanted}))


def _items(notes: Mapping[str, str]) -> tuple[Item, ...]:
    return tuple(Item(name, text) for name, text in notes.items())


def _questions(block: Block, name: str) -> Iterator[Question]:
    for place, (text, ids) in _asked(block):
        category = "nothing" if not ids else "several" if len(ids) > 1 else "one"
        yield Question(f"{name}-{place}", category, text, name, frozenset(ids))
        if text in block.wanted:
            expected = frozenset({f"told {place}"})
            yield Question(f"{name}-{place} told", "told", text, f"{name} told", expected, person=name)


def _asked(block: Block) -> Iterator[tuple[int, tuple[str, tuple[str, ...]]]]:
    return enumerate(block.questions, 1)
