"""Teach the encoder of questions (`memory.embedding.query_encoder`) where what answers them lies, from `evals/reading`.

It begins as the model that embeds what is stored, whose vectors stay as they are: only questions move (Karpukhin et al.
2020, with one encoder frozen). A question should come nearer to the notes that answer it than to any other note of the
persons that are asked about at once, and than to others drawn by lot. What nothing answers is asked of the note that
would. The vocabulary stays as it is.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import normalize
from transformers import AutoTokenizer, BertModel

from evals.blocks import Block
from evals.training import Steps, changed, half, half_bits
from memory.embedding.bundled import MINILM
from memory.embedding.compiled import fingerprint
from memory.embedding.local import LocalEmbedder

# Questions of one step, and of one person in it: all notes of these persons are compared, and so many others.
BATCH, _TOGETHER, _OTHERS = 128, 8, 1500
# What cosines are multiplied with, as the model was trained (sentence-transformers' MultipleNegativesRankingLoss).
_SCALE = 20.0
_RATE = 3e-5
# Of what was learned, the share that is kept.
SHARE = 0.2
RANK = 64
_LONGEST = 64  # tokens of a question


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question, the places of the notes that answer it, and those of all notes of the person."""

    text: str
    right: tuple[int, ...]
    notes: tuple[int, ...]


class Learner:
    """The model of questions, at first as it came."""

    def __init__(self) -> None:
        self._tokenizer: Any = AutoTokenizer.from_pretrained(MINILM)
        self.model: Any = BertModel.from_pretrained(MINILM, add_pooling_layer=False)
        # Nothing is left out at random: it is to change little, and learns each question once.
        self.model.train(False)
        for weight in self.model.embeddings.parameters():
            weight.requires_grad = False
        self.came = {name: weight.clone() for name, weight in self.model.state_dict().items()}

    def vectors(self, texts: Sequence[str]) -> torch.Tensor:
        """Return one unit row for each question."""
        options = {"padding": True, "truncation": True, "max_length": _LONGEST, "return_tensors": "pt"}
        made = self._tokenizer(list(texts), **options)
        with half_bits():
            states = self.model(**made).last_hidden_state.float()
        counts = made["attention_mask"].unsqueeze(-1).float()
        found: torch.Tensor = normalize((states * counts).sum(1) / counts.sum(1), dim=1)
        return found


def train(
    blocks: Sequence[Block], *, epochs: int = 1, seed: int = 0, on_step: Callable[[int, int, float], None]
) -> Learner:
    """Return the encoder after `epochs` rounds over the questions of the blocks.

    `on_step` gets after each step how many were made, of how many, and the loss of the last.
    """
    chance = random.Random(seed)  # To be the same again, not to be secret.
    texts = sorted({text for block in blocks for text in (*block.notes.values(), *block.wanted.values())})
    notes = torch.tensor(LocalEmbedder(MINILM, None).embed(texts))
    asked = _asked(blocks, {text: place for place, text in enumerate(texts)})
    learner = Learner()
    weights = [weight for weight in learner.model.parameters() if weight.requires_grad]
    total = epochs * -(-sum(map(len, asked)) // BATCH)
    steps, batches = Steps(weights, _RATE, total), _batches(asked, chance)
    for done in range(1, total + 1):
        loss = _loss(learner, next(batches), notes, chance)
        steps.make(loss)
        on_step(done, total, loss.item())
    return learner


def save(learner: Learner, path: Path, *, share: float = SHARE, rank: int = RANK) -> None:
    """Write what `memory.embedding.query_encoder` reads: a `share` in [0, 1] of what was learned.

    Part of it keeps more of what the model knew of other texts (Wortsman et al. 2022, "Robust fine-tuning of zero-shot
    models").
    """
    arrays: dict[str, NDArray[Any]] = {"fingerprint": np.array(fingerprint(Path(MINILM)))}
    for name, learned in learner.model.state_dict().items():
        if not name.startswith("encoder."):
            continue
        base = learner.came[name]
        weight = base + share * (learned - base)
        arrays |= changed(name, weight, base, rank) if weight.ndim == 2 else {name: half(weight)}
    np.savez_compressed(path, allow_pickle=False, **arrays)


def _asked(blocks: Sequence[Block], places: dict[str, int]) -> list[list[_Asked]]:
    """Return for each person what is asked."""
    return [[*_of(block, places)] for block in blocks]


def _of(block: Block, places: dict[str, int]) -> Iterator[_Asked]:
    notes = tuple(places[text] for text in block.notes.values())
    for text, ids in block.questions:
        right = [block.notes[each] for each in ids]
        if not right and text in block.wanted:
            right = [block.wanted[text]]
        if right:
            yield _Asked(text, tuple(places[each] for each in right), notes)


def _batches(asked: Sequence[Sequence[_Asked]], chance: random.Random) -> Iterator[list[_Asked]]:
    """Give questions of some persons at a time, again and again, each once in a round."""
    while True:
        groups = []
        for person in asked:
            mixed = chance.sample(person, len(person))
            groups += [mixed[start : start + _TOGETHER] for start in range(0, len(mixed), _TOGETHER)]
        chance.shuffle(groups)
        flat = [each for group in groups for each in group]
        yield from (flat[start : start + BATCH] for start in range(0, len(flat), BATCH))


def _loss(learner: Learner, batch: Sequence[_Asked], notes: torch.Tensor, chance: random.Random) -> torch.Tensor:
    """Return the mean negative log-likelihood of the right notes among all that are compared."""
    shown = {place for each in batch for place in (*each.notes, *each.right)}
    shown.update(chance.sample(range(len(notes)), min(_OTHERS, len(notes))))
    columns = {place: column for column, place in enumerate(sorted(shown))}
    right = torch.zeros((len(batch), len(columns)), dtype=torch.bool)
    for row, each in enumerate(batch):
        right[row, [columns[place] for place in each.right]] = True
    scores = _SCALE * learner.vectors([each.text for each in batch]) @ notes[list(columns)].T
    of_right = torch.logsumexp(scores.masked_fill(~right, -torch.inf), 1)
    return (torch.logsumexp(scores, 1) - of_right).mean()
