"""The pairs of question and note that the reader learns from."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from evals.blocks import Block
from memory.embedding.bundled import MINILM
from memory.embedding.local import LocalEmbedder

BATCH = 48
# How many of a block's notes, the most like the question, are given to the reader as notes that do not answer it.
_NEAREST = 3

Pair = tuple[str, str]
_T = TypeVar("_T")


class Near:
    """Which texts are most like a question, by the bundled model."""

    def __init__(self, texts: Iterable[str]) -> None:
        kept = sorted(set(texts))
        self._vectors = dict(zip(kept, LocalEmbedder(MINILM, None).embed(kept), strict=True))

    def nearest(self, question: str, texts: Sequence[str]) -> list[str]:
        """Return texts, the one that is most like the question first."""
        return sorted(texts, key=lambda text: -float(self._vectors[question] @ self._vectors[text]))


class Lessons:
    """The pairs of question and note that are learned: 1.0 for what answers, 0.0 for what is most like it and does not.

    Of the notes that would answer other questions one is always among the latter, so that nothing is learned of how
    those are written.
    """

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._near = Near(text for block in blocks for text in texts_of(block))
        self.pairs = [
            pair for block in blocks for asked, ids in block.questions for pair in self._of(block, asked, ids)
        ]

    def _of(self, block: Block, question: str, ids: Sequence[str]) -> Iterator[tuple[Pair, float]]:
        right = [block.notes[each] for each in ids] + [
            text for asked, text in block.wanted.items() if asked == question
        ]
        notes = self._near.nearest(question, [text for name, text in block.notes.items() if name not in ids])
        others = self._near.nearest(question, [text for asked, text in block.wanted.items() if asked != question])
        yield from (((question, text), 1.0) for text in right)
        yield from (((question, text), 0.0) for text in (*notes[:_NEAREST], *others[:1]))

    def batches(self, chance: random.Random) -> Iterator[list[tuple[Pair, float]]]:
        """Give all pairs once, in any order, in batches of about one length."""
        return in_batches(self.pairs, lambda each: each[0], chance)

    def texts(self) -> list[Pair]:
        """Return the pairs without what is told of them."""
        return [pair for pair, _ in self.pairs]


def in_batches(items: Sequence[_T], pair: Callable[[_T], Pair], chance: random.Random) -> Iterator[list[_T]]:
    """Give all items once, in any order, in batches whose pairs of question and note are of about one length."""
    shuffled, slab = list(items), BATCH * 20
    chance.shuffle(shuffled)
    batches: list[list[_T]] = []
    for start in range(0, len(shuffled), slab):
        batches += batched(shuffled[start : start + slab], pair)
    chance.shuffle(batches)
    yield from batches


def batched(items: Iterable[_T], pair: Callable[[_T], Pair]) -> Iterator[list[_T]]:
    """Give all items once, in batches whose pairs are of about one length, the shortest first."""
    ordered = sorted(items, key=lambda each: sum(map(len, pair(each))))
    yield from (ordered[at : at + BATCH] for at in range(0, len(ordered), BATCH))


def texts_of(block: Block) -> Iterator[str]:
    """Give whatever texts there are of a person, the questions too."""
    yield from block.notes.values()
    yield from block.wanted.values()
    yield from (asked for asked, _ in block.questions)
