"""What the layers of the reader can do without: which attention heads, and which numbers of the inner step.

Of each those go whose loss the others make up for best (Hassibi and Stork 1993, "Optimal Brain Surgeon"; by groups as
in Kurtic et al. 2023, "ZipLM"). How many of which layer goes by what each does to the answer when it alone is cut:
layers differ in that by two orders of magnitude, and the errors of several add up as their squares do (Frantar and
Alistarh 2022, "SPDY").
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from evals.lessons import Pair, batched
from evals.reader import Learner

# The log-odds beyond which one answer is as sure as another.
SUREST = 7.0
HEADS, INNER = "attention", "intermediate"
# For each part of a layer, the matrices that produce its numbers; `_PRODUCT` is the matrix that these are multiplied
# with.
_ROWS = {HEADS: ("self.query", "self.key", "self.value"), INNER: ("dense",)}
_PRODUCT = {HEADS: "attention.output.dense", INNER: "output.dense"}
# What one unit costs, relative to another: a head takes four matrices of 32 rows or columns, a number of the inner step
# two single ones.
_TAKES = {HEADS: 64, INNER: 1}
# The share of the notes that reaches each layer, after the stops, in the slowest searches.
_REACHED = (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.7, 0.7, 0.5, 0.45, 0.45, 0.45)
# The sizes tried for each part, as shares of its full size.
_LEFT = {
    HEADS: tuple(n / 12 for n in range(11, 0, -1)),
    INNER: (7 / 8, 3 / 4, 2 / 3, 7 / 12, *(1 / n for n in (2, 3, 4, 6, 12, 24))),
}
# Heads are left out one by one; the numbers of the inner step, of which there are many, sixteen at a time.
_AT_ONCE = 16
# Added to the diagonal, as a share of it, so that numbers which always go together can be told apart.
_RIDGE = 1e-4
# One batch in so many is read to measure what a cut does to the answers.
_TOLD_BY = 4
_ROUNDS = 60

States = list[torch.Tensor]
# `Sizes`: how many units there are, by the number of a layer and its part. `Errors`: what it costs to leave only so
# many of them, the third of the key.
Sizes = Mapping[tuple[int, str], int]
Errors = Mapping[tuple[int, str, int], float]


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a layer as it is read: its values go into `output`, which adds them to the states before."""

    name: str
    output: Any
    values: States
    states: States
    group: int

    @property
    def size(self) -> int:
        """How many there are that can be left out."""
        return self.values[0].shape[-1] // self.group

    def after(self) -> States:
        """Return what comes out of it."""
        return [self.output(value, state) for value, state in zip(self.values, self.states, strict=True)]


class Walk:
    """Pairs of question and note on their way through the layers of a learner."""

    def __init__(self, learner: Learner, pairs: Sequence[Pair]) -> None:
        self.learner, self.layers = learner, learner.model.encoder.layer
        batches = [learner.tokens(batch) for batch in batched(pairs, lambda pair: pair)]
        self.masks = [each["attention_mask"].bool() for each in batches]
        self._unseen = [(~each[:, None, None, :]).float() * torch.finfo(torch.float32).min for each in self.masks]
        self.states = [learner.model.embeddings(each["input_ids"], each["token_type_ids"]) for each in batches]

    def attention(self, number: int) -> Part:
        """Return the attention of a layer, over where the pairs are."""
        attention = self.layers[number].attention
        seen = [attention.self(*each)[0] for each in zip(self.states, self._unseen, strict=True)]
        return Part(HEADS, attention.output, seen, self.states, self.learner.head_size)

    def inner(self, number: int, states: States) -> Part:
        """Return the inner step of a layer, over what came out of its attention."""
        layer = self.layers[number]
        return Part(INNER, layer.output, [layer.intermediate(each) for each in states], states, 1)

    def answers(self, number: int, states: States) -> torch.Tensor:
        """Return the log-odds, shape (pairs,), of some batches that have come as far as before a layer."""
        given = []
        for before, unseen in zip(states, self.some(self._unseen), strict=True):
            state = before
            for layer in self.layers[number:]:
                seen = layer.attention.output(layer.attention.self(state, unseen)[0], state)
                state = layer.output(layer.intermediate(seen), seen)
            given.append(self.learner.head(self.learner.model.pooler(state)).squeeze(1))
        return torch.cat(given).clamp(-SUREST, SUREST)

    @staticmethod
    def some(states: States) -> States:
        """Return every `_TOLD_BY`th of a list that has one for each batch."""
        return states[1::_TOLD_BY] or states

    def left(self, part: Part, levels: Collection[int]) -> Iterator[tuple[int, torch.Tensor, torch.Tensor]]:
        """Give for each level which numbers that go into a part's product stay, and the weights that it has then."""
        dense, norm = part.output.dense, part.output.LayerNorm
        gram = torch.zeros(part.values[0].shape[-1], part.values[0].shape[-1])
        for value, state, mask in zip(part.values, part.states, self.masks, strict=True):
            # The layer norm divides the result by its deviation, so an error counts the less the wider a token's
            # numbers are spread.
            width = (dense(value) + state)[mask].var(dim=-1, unbiased=False)
            rows = value[mask]
            gram += (rows / width[:, None]).T @ rows
        yield from without(gram, dense.weight, norm.weight.double() ** 2, levels, group=part.group)


@torch.no_grad()
def errors(learner: Learner, pairs: Sequence[Pair]) -> dict[tuple[int, str, int], float]:
    """Return how far log-odds move, as a mean of squares over pairs, with so many left of a part of one layer alone."""
    walk, found = Walk(learner, pairs), {}
    before = walk.answers(0, walk.some(walk.states))
    for number, layer in enumerate(walk.layers):
        seen = walk.attention(number)
        for part in (seen, inner := walk.inner(number, seen.after())):
            levels = {round(each * part.size) for each in _LEFT[part.name]} - {0, part.size}
            for level, kept, weight in walk.left(part, levels):
                states = [
                    part.output.LayerNorm(value[..., kept] @ weight.T + part.output.dense.bias + state)
                    for value, state in zip(walk.some(part.values), walk.some(part.states), strict=True)
                ]
                if part.name == HEADS:
                    states = [layer.output(layer.intermediate(each), each) for each in states]
                moved = walk.answers(number + 1, states) - before
                found[number, part.name, level] = float((moved**2).mean())
        walk.states = inner.after()
    return found


def sizes_of(learner: Learner) -> Sizes:
    """Return how many there are of each part of each layer."""
    found = {}
    for number, layer in enumerate(learner.model.encoder.layer):
        found[number, HEADS] = len(layer.attention.self.query.bias) // learner.head_size
        found[number, INNER] = len(layer.intermediate.dense.bias)
    return found


def plan(found: Errors, sizes: Sizes, share: float) -> Sizes:
    """Return how many of each part are left, such that it takes a share in (0, 1] of the time at least error.

    The inner step of the last layer stays: only the first token takes it.
    """
    last = max(number for number, _ in sizes)
    parts = [each for each in sizes if each != (last, INNER)]
    levels = {part: {sizes[part]: 0.0} for part in parts}
    for (number, name, left), error in found.items():
        if (number, name) in levels:
            levels[number, name][left] = error

    def takes(part: tuple[int, str], left: int) -> float:
        return _REACHED[part[0]] * _TAKES[part[1]] * left

    def worth(part: tuple[int, str], price: float, left: int) -> float:
        return levels[part][left] + price * takes(part, left)

    def chosen(price: float) -> dict[tuple[int, str], int]:
        return {part: min(levels[part], key=partial(worth, part, price)) for part in parts}

    everything = sum(takes(part, sizes[part]) for part in parts)
    low, high = 0.0, 1.0
    for _ in range(_ROUNDS):
        price = (low + high) / 2
        time = sum(takes(*each) for each in chosen(price).items())
        low, high = (price, high) if time > share * everything else (low, price)
    return {**sizes, **chosen(high)}


@torch.no_grad()
def leave_out(learner: Learner, pairs: Sequence[Pair], left: Sizes) -> None:
    """Leave of the parts of each layer so many, by what pairs look like in it when those before are cut."""
    walk = Walk(learner, pairs)
    for number in range(len(walk.layers)):
        states = _narrowed(walk, number, walk.attention(number), left[number, HEADS])
        walk.states = _narrowed(walk, number, walk.inner(number, states), left[number, INNER])


def _narrowed(walk: Walk, number: int, part: Part, most: int) -> States:
    """Leave so much of a part, give the product over it other weights, and return what comes out of it."""
    if most < part.size:
        [(_, kept, weight)] = walk.left(part, [most])
        layer = f"encoder.layer.{number}"
        weights = dict(walk.learner.model.named_parameters())
        for row in _ROWS[part.name]:
            for half in ("weight", "bias"):
                walk.learner.put(name := f"{layer}.{part.name}.{row}.{half}", weights[name].detach()[kept])
        walk.learner.put(f"{layer}.{_PRODUCT[part.name]}.weight", weight)
        part = Part(part.name, part.output, [each[..., kept] for each in part.values], part.states, part.group)
    return part.after()


def without(
    gram: torch.Tensor, weight: torch.Tensor, cost: torch.Tensor, levels: Collection[int], *, group: int = 1
) -> Iterator[tuple[int, torch.Tensor, torch.Tensor]]:
    """Leave out inputs of a product, `group` neighbours at a time, until so many groups are left as each level says.

    `gram`, shape (inputs, inputs), is the sum over rows of what goes in of their outer products; `weight` has shape
    (outputs, inputs), and `cost`, shape (outputs,), says how much the square of an error of each counts. Gives for each
    level, the largest first, which inputs stay, and the weights, shape (outputs, stay), by which they come nearest to
    what all gave.
    """
    bent = gram.double() + torch.eye(len(gram)).double() * _RIDGE * gram.diag().mean()
    inverse, rows = torch.linalg.inv(bent), weight.detach().T.double().clone()
    groups = torch.arange(len(gram)).view(-1, group)
    stays = torch.ones(len(groups), dtype=torch.bool)
    for most in sorted(levels, reverse=True):
        while (left := int(stays.sum())) > most:
            there = stays.nonzero()[:, 0]
            found = _losses(inverse, rows, cost, groups[there])
            going = there[found.topk(min(left - most, _AT_ONCE if group == 1 else 1), largest=False).indices]
            gone = groups[going].flatten()
            made_up = torch.linalg.solve(inverse[gone][:, gone], torch.cat([rows[gone], inverse[gone]], dim=1))
            shares = inverse[:, gone].clone()
            rows -= shares @ made_up[:, : rows.shape[1]]
            inverse -= shares @ made_up[:, rows.shape[1] :]
            stays[going] = False
        kept = groups[stays].flatten()
        yield most, kept, rows[kept].T.float().contiguous()


def _losses(inverse: torch.Tensor, rows: torch.Tensor, cost: torch.Tensor, groups: torch.Tensor) -> torch.Tensor:
    """Return what is lost with each group, shape (groups,), when the others make up for it as well as they can."""
    weights = rows[groups]
    if groups.shape[1] == 1:  # The same, and quicker.
        alone: torch.Tensor = (weights[:, 0] ** 2 * cost).sum(dim=1) / inverse.diag()[groups[:, 0]]
        return alone
    own = inverse[groups[:, :, None], groups[:, None, :]]
    lost: torch.Tensor = (torch.linalg.solve(own, weights) * weights * cost).sum(dim=(1, 2))
    return lost
