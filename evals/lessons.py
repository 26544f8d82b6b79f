"""The pairs of question and note that the reader learns from."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from evals.blocks import Block
from memory.embedding.bundled import MINILM
from memory.embedding.local import LocalEmbedder

BATCH = 48
# So many of a block's notes that are most like the question are told not to answer it.
_NEAREST = 3

Pair = tuple[str, str]


class Lessons:
    """The pairs of question and note that are learned: 1.0 for what answers, 0.0 for what is most like it and does not.

    Of the notes that would answer other questions one is always among the latter, so that nothing is learned of how
    those are written.
    """

    def __init__(self, blocks: Sequence[Block]) -> None:
        texts = sorted({text for block in blocks for text in _texts(block)})
        self._vectors = dict(zip(texts, LocalEmbedder(MINILM, None).embed(texts), strict=True))
        self.pairs = [
            pair for block in blocks for asked, ids in block.questions for pair in self._of(block, asked, ids)
        ]

    def _of(self, block: Block, question: str, ids: Sequence[str]) -> Iterator[tuple[Pair, float]]:
        right = [block.notes[each] for each in ids] + [
            text for asked, text in block.wanted.items() if asked == question
        ]
        notes = self._nearest(question, [text for name, text in block.notes.items() if name not in ids])
        others = self._nearest(question, [text for asked, text in block.wanted.items() if asked != question])
        yield from (((question, text), 1.0) for text in right)
        yield from (((question, text), 0.0) for text in (*notes[:_NEAREST], *others[:1]))

    def _nearest(self, question: str, texts: Sequence[str]) -> list[str]:
        return sorted(texts, key=lambda text: -float(self._vectors[question] @ self._vectors[text]))

    def batches(self, chance: random.Random) -> Iterator[list[tuple[Pair, float]]]:
        """Give all pairs once, in any order, in batches of about one length."""
        pairs, slab = list(self.pairs), BATCH * 20
        chance.shuffle(pairs)
        batches = []
        for start in range(0, len(pairs), slab):
            part = sorted(pairs[start : start + slab], key=lambda each: len(each[0][0]) + len(each[0][1]))
            batches += [part[first : first + BATCH] for first in range(0, len(part), BATCH)]
        chance.shuffle(batches)
        yield from batches

    def texts(self) -> list[Pair]:
        """Return the pairs without what is told of them."""
        return [pair for pair, _ in self.pairs]


def _texts(block: Block) -> Iterator[str]:
    yield from block.notes.values()
    yield from block.wanted.values()
    yield from (asked for asked, _ in block.questions)
