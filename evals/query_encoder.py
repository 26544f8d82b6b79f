"""Teach the encoder of questions (`memory.embedding.query_encoder`) where what answers them lies: in notes, in talks.

It begins as the model that embeds what is stored, whose vectors stay as they are: only questions move (Karpukhin et al.
2020, with one encoder frozen). A question should come nearer to the texts that answer it than to any other of those who
are asked about at once, and than to others drawn by lot. The vocabulary stays as it is.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import normalize
from transformers import AutoTokenizer, BertModel

from evals.asked import Searched
from evals.training import Steps, half, half_bits
from memory.embedding.bundled import MINILM
from memory.embedding.compiled import fingerprint
from memory.embedding.local import LocalEmbedder

# Questions in one step, and how many of them may be of one memory: these are compared with all its texts.
BATCH, _TOGETHER = 128, 8
# How many texts of other persons each question is compared with, too. A person's notes are few, so those of others
# stand in for more; a talk is long enough, and is searched alone.
OTHER_NOTES, OTHER_TURNS = 1500, 0
# Rounds over all questions about notes, and over those about talks, which are far fewer.
NOTE_ROUNDS, TALK_ROUNDS = 1, 4
# The factor that cosines are multiplied with, the same as when the model was trained (sentence-transformers'
# MultipleNegativesRankingLoss).
_SCALE = 20.0
_RATE = 3e-5
# The share of the change learned from notes that is kept, and of that learned from talks.
SHARES = (0.6, 0.8)
RANK = 64
_LONGEST = 64  # tokens of a question


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question, the places of the texts that answer it, and those of all that are searched with them."""

    text: str
    right: tuple[int, ...]
    searched: tuple[int, ...]


class Learner:
    """The model of questions, at first as it came."""

    def __init__(self) -> None:
        self._tokenizer: Any = AutoTokenizer.from_pretrained(MINILM)
        self.model: Any = BertModel.from_pretrained(MINILM, add_pooling_layer=False)
        # No dropout: the model is to change little, and learns from each question once.
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
    memories: Sequence[Searched],
    *,
    rounds: int = 1,
    others: int = OTHER_NOTES,
    seed: int = 0,
    on_step: Callable[[int, int, float], None],
) -> Learner:
    """Return the encoder after so many `rounds` over all questions, each compared with `others` drawn by lot, too.

    `on_step` gets after each step how many were made, of how many, and the loss of the last.
    """
    chance = random.Random(seed)  # To be the same again, not to be secret.
    texts = sorted({text for each in memories for text in (*each.texts, *chain(*(right for _, right in each.asked)))})
    vectors = torch.tensor(LocalEmbedder(MINILM, None).embed(texts))
    asked = _asked(memories, {text: place for place, text in enumerate(texts)})
    learner = Learner()
    weights = [weight for weight in learner.model.parameters() if weight.requires_grad]
    total = rounds * -(-sum(map(len, asked)) // BATCH)
    steps, batches = Steps(weights, _RATE, total), _batches(asked, chance)
    for done in range(1, total + 1):
        batch = next(batches)
        loss = _loss(learner, batch, vectors, _shown(batch, others, len(vectors), chance))
        steps.make(loss)
        on_step(done, total, loss.item())
    return learner


def save(learners: Sequence[Learner], path: Path, *, shares: Sequence[float] = SHARES, rank: int = RANK) -> None:
    """Write what `memory.embedding.query_encoder` reads: of what each has learned a share, added up.

    Added to one model, what several have learned serves what each of them is for (Ilharco et al. 2023, "Editing models
    with task arithmetic"); and part of it keeps more of what the model knew of other texts (Wortsman et al. 2022,
    "Robust fine-tuning of zero-shot models").
    """
    arrays: dict[str, NDArray[Any]] = {"fingerprint": np.array(fingerprint(Path(MINILM)))}
    learned = [learner.model.state_dict() for learner in learners]
    for name, base in learners[0].came.items():
        if not name.startswith("encoder."):
            continue
        added = (share * (each[name] - base) for share, each in zip(shares, learned, strict=True))
        weight = sum(added, start=base)
        arrays |= _factors(name, weight, base, rank) if weight.ndim == 2 else {name: half(weight)}
    np.savez_compressed(path, allow_pickle=False, **arrays)


def _factors(name: str, weight: torch.Tensor, base: torch.Tensor, rank: int) -> dict[str, NDArray[Any]]:
    """Return two factors, named after the weight, of at most this rank, whose product is what was added to `base`.

    Of what training added the largest singular values are kept, a third of the matrix at little loss.
    """
    rows, values, columns = torch.linalg.svd(weight - base, full_matrices=False)
    root = values[:rank].sqrt()
    return {f"{name}.up": half(rows[:, :rank] * root), f"{name}.down": half(root[:, None] * columns[:rank])}


def _asked(memories: Sequence[Searched], places: dict[str, int]) -> list[list[_Asked]]:
    """Return what is asked of each memory."""
    found = []
    for each in memories:
        searched = tuple(places[text] for text in each.texts)
        found.append([_Asked(text, tuple(places[one] for one in right), searched) for text, right in each.asked])
    return found


def _batches(asked: Sequence[Sequence[_Asked]], chance: random.Random) -> Iterator[list[_Asked]]:
    """Give questions of some memories at a time, again and again, each once in a round."""
    while True:
        groups = []
        for memory in asked:
            mixed = chance.sample(memory, len(memory))
            groups += [mixed[start : start + _TOGETHER] for start in range(0, len(mixed), _TOGETHER)]
        chance.shuffle(groups)
        flat = [each for group in groups for each in group]
        yield from (flat[start : start + BATCH] for start in range(0, len(flat), BATCH))


def _shown(batch: Sequence[_Asked], others: int, count: int, chance: random.Random) -> list[int]:
    """Return the places of what a batch is compared with, in order: its own texts, and others of all `count`."""
    shown = {place for each in batch for place in (*each.searched, *each.right)}
    return sorted(shown.union(chance.sample(range(count), min(others, count))))


def _loss(learner: Learner, batch: Sequence[_Asked], vectors: torch.Tensor, shown: Sequence[int]) -> torch.Tensor:
    """Return the mean negative log-likelihood of the right texts among all that are compared."""
    columns = {place: column for column, place in enumerate(shown)}
    right = torch.zeros((len(batch), len(columns)), dtype=torch.bool)
    for row, each in enumerate(batch):
        right[row, [columns[place] for place in each.right]] = True
    scores = _SCALE * learner.vectors([each.text for each in batch]) @ vectors[list(columns)].T
    of_right = torch.logsumexp(scores.masked_fill(~right, -torch.inf), 1)
    return (torch.logsumexp(scores, 1) - of_right).mean()
