"""Put what many persons have into the memory of one, who then has hundreds of notes to search instead of ten."""

from __future__ import annotations

from dataclasses import replace

from evals.dataset import Collection, DataSet, Item, Question
from evals.errors import MeasureError

NAME = "together"


def together(data: DataSet) -> DataSet:
    """Return the data set as one collection, ids with the name of their own before them.

    Questions that nothing answers are left out: something of another person may answer them. What answers a question
    stays what was named for it, so another person's note that fits as well counts as wrong, for whatever is measured.
    Raises `MeasureError` for talks, whose turns have their places beside each other, and for a single collection.
    """
    if len(data.collections) < 2 or any(each.talk is not None or each.sessions for each in data.collections):
        raise MeasureError(f"{data.name}: only the loose memories of several persons can be put together")
    items = tuple(_moved(each, item) for each in data.collections for item in each.items)
    return replace(
        data,
        name=f"{data.name}_{NAME}",
        collections=(Collection(NAME, items),),
        questions=tuple(_asked(each) for each in data.questions if each.expected),
    )


def _moved(collection: Collection, item: Item) -> Item:
    return replace(item, id=_id(collection.name, item.id))


def _asked(question: Question) -> Question:
    expected = frozenset(_id(question.collection, each) for each in question.expected)
    return replace(question, collection=NAME, expected=expected, person=None)


def _id(collection: str, item: str) -> str:
    return f"{collection}/{item}"
