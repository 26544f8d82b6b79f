"""What every data set is once it is read: collections of memories, and questions each about one of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from evals.errors import MeasureError
from evals.locomo import Conversation


@dataclass(frozen=True, slots=True)
class Item:
    """A memory before it is stored. `id` is unique in its collection; `created_at` None is the time of the run.

    `replaces` is the id of an earlier one that it makes out of date, where the data set says so.
    """

    id: str
    text: str
    type: str = "note"
    created_at: datetime | None = None
    replaces: str | None = None


@dataclass(frozen=True, slots=True)
class Collection:
    """What one person has in one space: a talk, or else loose items, in the order in which they are stored.

    `sessions` maps the ids of items, or of turns, to the session that they belong to, where there are sessions.
    """

    name: str
    items: tuple[Item, ...] = ()
    talk: Conversation | None = None
    sessions: Mapping[str, str] | None = None

    @property
    def size(self) -> int:
        """Return how many memories it has at most: repeats are merged when they are stored."""
        return len(self.items if self.talk is None else self.talk.turns)


@dataclass(frozen=True, slots=True)
class Question:
    """A question about one collection. `expected` are ids of what answers it; empty when nothing must be returned.

    `apart` keeps its measures out of the overall means: they are reported for its category alone. `person` names who is
    asked about where several collections have notes of the same; None where the collection is the only one.
    """

    id: str
    category: str
    text: str
    collection: str
    expected: frozenset[str]
    apart: bool = False
    person: str | None = None

    @property
    def about(self) -> str:
        """Return who is asked about; a talk, or what nobody's name is known of, counts as somebody."""
        return self.collection if self.person is None else self.person


@dataclass(frozen=True, slots=True)
class DataSet:
    """`unscored` counts the questions whose evidence is missing.

    `kind` is golden, locomo, jsonl, persons, notes or marks. With `persons` each collection belongs to a person of its
    own, else all of them to one. `ignored` names what the file has that means nothing here. `lines` is a digest of the
    file where questions are called by their lines in it, empty where none is.
    """

    kind: str
    name: str
    collections: tuple[Collection, ...]
    questions: tuple[Question, ...]
    unscored: int = 0
    persons: bool = False
    ignored: tuple[str, ...] = ()
    lines: str = ""

    @property
    def size(self) -> int:
        """Return how many memories all collections have at most."""
        return sum(each.size for each in self.collections)


def joined(sets: Sequence[DataSet]) -> DataSet:
    """Return several data sets as one of the first's kind, each one's name before those of its collections.

    Raises `MeasureError` where two have one name: what is of the one could not be told from what is of the other.
    """
    if len(sets) == 1:
        return sets[0]
    names = Counter(each.name for each in sets)
    if twice := [name for name, count in names.items() if count > 1]:
        raise MeasureError(f"two files are called {twice[0]}")
    collections = (replace(each, name=f"{data.name}/{each.name}") for data in sets for each in data.collections)
    questions = (_moved(each, data.name) for data in sets for each in data.questions)
    return replace(
        sets[0],
        name="+".join(names),
        collections=tuple(collections),
        questions=tuple(questions),
        unscored=sum(each.unscored for each in sets),
        persons=any(each.persons for each in sets),
        lines="".join(each.lines for each in sets),
    )


def _moved(question: Question, name: str) -> Question:
    person = None if question.person is None else f"{name}/{question.person}"
    return replace(question, collection=f"{name}/{question.collection}", person=person)
