"""Teach the reader (`retrieval.reading.reading`) which notes answer which questions, from `evals/reading`.

A cross-encoder (Nogueira and Cho 2019) that has learned from the questions of a web search which passage answers them
is trained on: question and note together go through all layers, and the vector of the first token is weighed to one
number. The vocabulary stays as it is. A matrix is kept as what it is computed with, whole numbers of eight bits with a
scale for each row.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import binary_cross_entropy_with_logits
from transformers import AutoTokenizer, BertConfig, BertModel

from evals.asked import drawn
from evals.blocks import Block, read_blocks, read_known_blocks
from evals.lessons import BATCH, Lessons, Pair
from evals.training import Steps, half, half_bits
from memory.embedding.bundled import MINILM
from retrieval.reading.model import LONGEST, SCALES, learned, open_cross_encoder

# When an existing reader is trained further, it also learns this many of the persons that it knows again, so as not to
# forget them.
AGAIN = 60
# The share of the persons who are learned with the notes that answer: these are more texts, so this makes both parts
# take as long.
_WITH = 3 / 7
# The share of the first part in the mean of the weights, for a new reader and for one that is trained further.
SHARE, _FURTHER_SHARE = 0.6, 0.5
_LARGEST = 127  # of eight bits with a sign
_RATE, _FURTHER_RATE = 5e-5, 3e-5
# The cross-encoder's own head gave values twice as wide as the log-odds that are learned here.
_OF_ITS_HEAD = 0.5
_SAMPLES = 24

Floats = NDArray[np.float32]
# A batch of pairs as the encoder takes it: the ids of the tokens, their kinds, and the mask that marks padding.
Batch = Mapping[str, torch.Tensor]


class Learner:
    """The cross-encoder, as it came or as a reader has it."""

    def __init__(self, reader: Path | None = None) -> None:
        encoder = open_cross_encoder()
        self.tokenizer: Any = AutoTokenizer.from_pretrained(MINILM)
        came = {name: torch.tensor(encoder.numbers(name)) for name in encoder.names}
        head = [came.pop(f"classifier.{part}") * _OF_ITS_HEAD for part in ("weight", "bias")]
        words, hidden = came["embeddings.word_embeddings.weight"].shape
        config = BertConfig(
            vocab_size=words,
            hidden_size=hidden,
            num_hidden_layers=encoder.layers,
            num_attention_heads=encoder.heads,
            intermediate_size=len(came["encoder.layer.0.intermediate.dense.bias"]),
            layer_norm_eps=encoder.epsilon,
        )
        self.model: Any = BertModel(config)
        self.model.load_state_dict(came)
        self.head = torch.nn.Linear(hidden, 1)
        self.head_size = hidden // encoder.heads
        if reader is not None:
            head = self._take(reader)
        self.head.load_state_dict(dict(zip(("weight", "bias"), head, strict=True)))
        self.model.train(False)
        for weight in self.model.embeddings.parameters():
            weight.requires_grad = False

    def _take(self, reader: Path) -> list[torch.Tensor]:
        """Go on with what was learned before; returns the head."""
        with np.load(reader) as file:
            arrays = dict(file)
        for name in arrays.keys() & self.model.state_dict().keys():
            self.put(name, torch.tensor(learned(name, arrays)))
        head = arrays["head.weight"][None], arrays["head.bias"]
        return [torch.tensor(values.astype(np.float32)) for values in head]

    def put(self, name: str, values: torch.Tensor) -> None:
        """Give the model weights of any shape that fits those around."""
        module, _, kind = name.rpartition(".")
        setattr(self.model.get_submodule(module), kind, torch.nn.Parameter(values))

    def parameters(self) -> Iterator[Any]:
        """Give all weights, always in the same order."""
        yield from self.model.parameters()
        yield from self.head.parameters()

    def logits(self, pairs: Sequence[Pair]) -> torch.Tensor:
        """Return the log-odds that the note of each pair answers its question."""
        return self.read(self.tokens(pairs))[0].float()

    def tokens(self, pairs: Sequence[Pair]) -> Batch:
        """Return what the encoder is given of pairs."""
        questions, notes = zip(*pairs, strict=True)
        options = {"padding": True, "truncation": True, "max_length": LONGEST, "return_tensors": "pt"}
        made: Batch = self.tokenizer(list(questions), list(notes), **options)
        return made

    def read(self, made: Batch) -> tuple[torch.Tensor, Sequence[torch.Tensor]]:
        """Return the log-odds of pairs, shape (pairs,), and what each layer makes: (pairs, tokens, hidden) each."""
        out = self.model(**made, output_hidden_states=True)
        return self.head(out.pooler_output).squeeze(1), out.hidden_states[1:]


def train(
    blocks: Sequence[Block],
    *,
    epochs: int = 1,
    seed: int = 0,
    reader: Path | None = None,
    on_step: Callable[[int, int, float], None],
) -> Learner:
    """Return the encoder, or a `reader` that is there, after `epochs` rounds over the blocks.

    `on_step` gets after each step how many were made, of how many, and the loss of the last.
    """
    torch.manual_seed(seed)
    chance = random.Random(seed)  # To be the same again, not to be secret.
    learner = Learner(reader)
    lessons = Lessons(blocks)
    total = epochs * -(-len(lessons.pairs) // BATCH)
    weights = [weight for weight in learner.model.parameters() if weight.requires_grad]
    weights += learner.head.parameters()
    steps = Steps(weights, _RATE if reader is None else _FURTHER_RATE, total)
    learner.model.train(True)
    done = 0
    for _ in range(epochs):
        for batch in lessons.batches(chance):
            pairs, answers = zip(*batch, strict=True)
            with half_bits():
                found = learner.logits(pairs)
            loss = binary_cross_entropy_with_logits(found, torch.tensor(answers))
            steps.make(loss)
            done += 1
            on_step(done, total, loss.item())
    learner.model.train(False)
    return learner


def learn(
    blocks: Sequence[Block],
    *,
    epochs: int = 1,
    reader: Path | None = None,
    on_step: Callable[[int, int, float], None],
) -> Learner:
    """Train with the notes that would answer and, on other persons, without; return the mean (Wortsman et al. 2022).

    Who goes on from a `reader` learns all persons in both ways.

    The second knows better what notes leave open, as people ask for it again and again; the first, what a plain answer
    is.
    """
    cut = round(len(blocks) * _WITH)
    # A reader that is trained further learns little that is new, so both parts get all persons.
    told, asked = (blocks[:cut], blocks[cut:]) if reader is None else (blocks, blocks)
    share = SHARE if reader is None else _FURTHER_SHARE
    first = train(told, epochs=epochs, reader=reader, on_step=on_step)
    second = train([replace(block, wanted={}) for block in asked], epochs=epochs, reader=reader, on_step=on_step)
    for mine, other in zip(first.parameters(), second.parameters(), strict=True):
        mine.data = share * mine.data + (1 - share) * other.data
    return first


def further(since: str) -> list[Block]:
    """Return what is learned by who goes on: the persons of the files from `since` on, and some of those before.

    Raises as `read_blocks` does, also where there is no such file.
    """
    blocks, known = read_blocks(since=since), read_known_blocks(since)
    if not blocks:
        raise ValueError(f"there is no file {since} or later")
    return [*blocks, *drawn(known, AGAIN)]


def save(learner: Learner, blocks: Sequence[Block], path: Path) -> None:
    """Write what `retrieval.reading.reading.Reader` reads; the learner is left as that will compute.

    Besides the weights that is how wide each channel of what goes into a product gets, and what comes out for a
    few pairs, by which a process proves that it computes the same.
    """
    arrays: dict[str, NDArray[Any]] = {}
    for name, weight in learner.model.state_dict().items():
        if name.startswith(("encoder.", "pooler.")):
            arrays |= rounded(name, weight) if weight.ndim == 2 else {name: half(weight)}
            learner.put(name, torch.tensor(learned(name, arrays)))
    pairs = [pair for pair, _ in _some(blocks)]
    with torch.no_grad(), _Widths(learner.model) as widths:
        logits = torch.cat([learner.logits([pair]) for pair in pairs])
    arrays |= {f"widest.{part}": values.astype(np.float16) for part, values in widths.widest.items()}
    arrays |= {"head.weight": learner.head.weight.detach().numpy()[0], "head.bias": learner.head.bias.detach().numpy()}
    samples = np.frombuffer(json.dumps(pairs).encode(), dtype=np.uint8)
    arrays |= {"samples": samples, "logits": logits.numpy()}
    np.savez_compressed(path, allow_pickle=False, **arrays)


def rounded(name: str, weight: torch.Tensor) -> dict[str, NDArray[Any]]:
    """Return a matrix as whole numbers of eight bits and a scale for each row, by its name."""
    rows = weight.detach().numpy()
    scales = np.maximum(np.abs(rows).max(axis=1), np.finfo(np.float32).tiny) / np.float32(_LARGEST)
    return {name: np.rint(rows / scales[:, None]).astype(np.int8), name + SCALES: scales}


def _some(blocks: Sequence[Block]) -> list[tuple[Pair, float]]:
    """Return one pair of each of some blocks, every other one with a note that does not answer."""
    found: list[tuple[Pair, float]] = []
    for block in blocks[:: max(1, len(blocks) // _SAMPLES)]:
        question, right = next(each for each in block.questions if each[1])
        answers = len(found) % 2 == 0
        name = right[0] if answers else next(each for each in block.notes if each not in right)
        found.append(((question, block.notes[name]), float(answers)))
    return found


class _Widths:
    """Watches the largest absolute value of each channel of what goes into the products of a model."""

    def __init__(self, model: Any) -> None:
        self.widest: dict[str, Floats] = {}
        parts = {}
        for number, layer in enumerate(model.encoder.layer):
            name = f"encoder.layer.{number}"
            parts[f"{name}.attention"] = layer.attention.self.query
            parts[f"{name}.attention.output.dense"] = layer.attention.output.dense
            parts[f"{name}.intermediate.dense"] = layer.intermediate.dense
        self._parts = parts
        self._hooks: list[Any] = []

    def __enter__(self) -> _Widths:
        self._hooks = [part.register_forward_pre_hook(self._watch(name)) for name, part in self._parts.items()]
        return self

    def __exit__(self, *_: object) -> None:
        for hook in self._hooks:
            hook.remove()

    def _watch(self, name: str) -> Callable[[Any, tuple[torch.Tensor, ...]], None]:
        def watch(_module: Any, values: tuple[torch.Tensor, ...]) -> None:
            widths = values[0].abs().amax((0, 1)).numpy()
            self.widest[name] = np.maximum(self.widest.get(name, np.float32(0)), widths)

        return watch
