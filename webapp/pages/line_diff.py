"""The lines in which two texts differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Literal

Kind = Literal["same", "gone", "new", "skipped"]

# Lines around a change that stay the same.
CONTEXT = 3
# Comparing takes up to the square of the lines that differ; longer parts count as replaced in one piece.
MOST_COMPARED = 1000


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a comparison; `skipped` stands for unchanged lines that are left out."""

    kind: Kind
    text: str = ""


def compare(older: str, newer: str) -> list[Line]:
    """Return what becomes of the older text's lines in the newer one, in order; empty if nothing does."""
    before, after = older.splitlines(), newer.splitlines()
    if before == after:
        return []
    lines = list(_compared(before, after))
    near = _near_a_change(lines)
    kept = [number for number, is_near in enumerate(near) if is_near]
    shown = [Line("skipped")] if kept[0] > 0 else []
    for number, following in pairwise([*kept, len(lines)]):
        shown.append(lines[number])
        if following > number + 1:
            shown.append(Line("skipped"))
    return shown


def _compared(before: Sequence[str], after: Sequence[str]) -> Iterator[Line]:
    head = _shared(before, after)
    tail = _shared(before[head:][::-1], after[head:][::-1])
    yield from (Line("same", text) for text in before[:head])
    yield from _middle(before[head : len(before) - tail], after[head : len(after) - tail])
    yield from (Line("same", text) for text in before[len(before) - tail :])


def _shared(before: Sequence[str], after: Sequence[str]) -> int:
    """Return how many lines are the same from the beginning."""
    return next(
        (n for n, (old, new) in enumerate(zip(before, after, strict=False)) if old != new), _shorter(before, after)
    )


def _shorter(before: Sequence[str], after: Sequence[str]) -> int:
    return min(len(before), len(after))


def _middle(before: Sequence[str], after: Sequence[str]) -> Iterator[Line]:
    for tag, old_start, old_end, new_start, new_end in _changes(before, after):
        if tag == "equal":
            yield from (Line("same", text) for text in before[old_start:old_end])
        else:
            yield from (Line("gone", text) for text in before[old_start:old_end])
            yield from (Line("new", text) for text in after[new_start:new_end])


def _changes(before: Sequence[str], after: Sequence[str]) -> Sequence[tuple[str, int, int, int, int]]:
    if max(len(before), len(after)) > MOST_COMPARED:
        return [("replace", 0, len(before), 0, len(after))]
    return SequenceMatcher(None, before, after).get_opcodes()


def _near_a_change(lines: Sequence[Line]) -> list[bool]:
    near = [False] * len(lines)
    for number, line in enumerate(lines):
        if line.kind != "same":
            first, behind = max(0, number - CONTEXT), min(len(lines), number + CONTEXT + 1)
            near[first:behind] = [True] * (behind - first)
    return near
