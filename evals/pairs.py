"""Put two questions of one person into one, as somebody asks who wants to know two things at once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from evals.dataset import DataSet, Question
from evals.errors import MeasureError

NAME = "pairs"
# A question of one sentence that begins with a question word or a verb: only such a one can stand behind "and".
_WHOLE = re.compile(
    r"(?:who|whom|whose|what|which|when|where|why|how|is|are|do|does|did|has|have|can)\b[^?]*[^?.!\s]\?", re.IGNORECASE
)
_CATEGORIES = ("nothing", "one of two", "two")


def in_pairs(data: DataSet) -> DataSet:
    """Return the data set with two questions in each of its own, half of them as two sentences, half joined by "and".

    What answers one of both answers the pair. Each question of a person is paired with the next, which is of its kind
    as a rule, and with the one half of their number on. Raises `MeasureError` where no two of a person can be put so.
    """
    whole = [each for each in data.questions if _WHOLE.fullmatch(each.text)]
    by_person = sorted(whole, key=lambda each: each.collection)
    questions = [pair for _, some in groupby(by_person, key=lambda each: each.collection) for pair in _pairs([*some])]
    if not questions:
        raise MeasureError(f"{data.name}: no two questions of one person can be asked together")
    return replace(data, name=f"{data.name}_{NAME}", questions=tuple(questions))


def _pairs(questions: Sequence[Question]) -> Iterator[Question]:
    half = len(questions) // 2
    across = zip(questions[:half], questions[half:], strict=False)
    for number, (one, other) in enumerate(
        dict.fromkeys([*across, *zip(questions[::2], questions[1::2], strict=False)])
    ):
        joined = f"{one.text.rstrip('?')} and {other.text[0].lower()}{other.text[1:]}"
        yield replace(
            one,
            id=f"{one.id}+{other.id}",
            category=_CATEGORIES[bool(one.expected) + bool(other.expected)],
            text=joined if number % 2 else f"{one.text} {other.text}",
            expected=one.expected | other.expected,
        )
