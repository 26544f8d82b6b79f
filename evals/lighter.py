"""Make the reader lighter: leave out what its layers can do without, and learn what is left from the reader before.

What is left learns to give, layer by layer and at the end, what the reader before gives (Jiao et al. 2020, "TinyBERT").
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch.nn.functional import smooth_l1_loss

from evals.asked import drawn
from evals.blocks import Block, read_file
from evals.lessons import BATCH, Lessons, Near, Pair, in_batches, texts_of
from evals.narrower import SUREST, errors, leave_out, plan, sizes_of
from evals.persons import UNSEEN
from evals.reader import Learner
from evals.training import Steps, half_bits

# How many pairs are read to find out what a layer can do without.
SEEN = 2400
_RATE = 5e-5
# How much the states of the layers weigh in the loss, against the answers.
_BETWEEN = 4.0
# Persons whose questions are read without learning what answers them. No reader has learned from them, so the reader
# that is imitated is less sure of their notes than of those that it has learned.
STRANGE = ("78", "79", "80", "81", "82", "83", "84", "85")
# With how many notes each of their questions is read.
_NEAREST = 8

# Called after each step with the number of steps made, the number of all steps, and the loss of the last.
OnStep = Callable[[int, int, float], None]


def made_lighter(before: Path, blocks: Sequence[Block], *, share: float, on_step: OnStep) -> Learner:
    """Return a reader that takes a share of the time, after it has learned to read as the one before."""
    teacher, learner, lessons = Learner(before), Learner(before), Lessons(blocks).texts()
    strange = nearest([block for name in STRANGE for block in read_file(UNSEEN / f"{name}.txt")])
    some = drawn(lessons, SEEN)
    leave_out(learner, some, plan(errors(learner, some), sizes_of(learner), share))
    follow(learner, teacher, lessons + drawn(strange, len(lessons) // 2), on_step=on_step)
    return learner


def nearest(blocks: Sequence[Block]) -> list[Pair]:
    """Return all questions, each with the notes that are most like it, whether or not they answer it."""
    near = Near(text for block in blocks for text in texts_of(block))
    return [
        (asked, text)
        for block in blocks
        for asked, _ in block.questions
        for text in near.nearest(asked, list(block.notes.values()))[:_NEAREST]
    ]


def follow(learner: Learner, before: Learner, pairs: Sequence[Pair], *, on_step: OnStep) -> None:
    """Train a learner for one round over the pairs to give what another with as many layers gives."""
    weights = [each for each in learner.parameters() if each.requires_grad]
    steps = Steps(weights, _RATE, total := -(-len(pairs) // BATCH))
    for done, batch in enumerate(in_batches(pairs, lambda pair: pair, random.Random(0)), 1):
        made = learner.tokens(batch)
        with half_bits():
            with torch.no_grad():
                wanted, between = before.read(made)
            found, own = learner.read(made)
        mask = made["attention_mask"][..., None]
        apart = sum(_apart(one, other, mask) for one, other in zip(own, between, strict=True)) / len(own)
        given, wanted = (each.float().clamp(-SUREST, SUREST) for each in (found, wanted))
        loss = smooth_l1_loss(given, wanted) + _BETWEEN * apart
        steps.make(loss)
        on_step(done, total, loss.item())


def _apart(found: torch.Tensor, wanted: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return the square of how far states are apart, as a share of the square of how far they reach."""
    wanted = wanted.float()
    return ((found.float() - wanted) ** 2 * mask).sum() / (wanted**2 * mask).sum()
