"""Fit where the reader may stop reading a note: after which layers it shows that the note will not answer."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import numpy as np
import psutil
from numpy.typing import NDArray

from evals.blocks import Block
from evals.lessons import Lessons, Pair
from retrieval.ranking.silence import SHOWN_EARLY
from retrieval.reading.model import WEIGHTS, Stop, gist, save_stops
from retrieval.reading.reading import Reader

# The layers after which reading may stop. After the first of them, a fifth of the notes that will not answer can be
# told; after the last, most. The layers that follow are narrow, and a stop among them would cost as much as it saves.
LAYERS = (4, 6, 8)
# The share of answering notes that one stop may lose, among persons that it was not fitted to.
COST = 0.005
# One person in so many is left out of the fit; these persons decide where the limit lies.
_APART = 4
_RIDGE = 30.0
_ROUNDS = 12

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen of pairs of question and note.

    `gists` has for each layer rows of shape (pairs, 3 x hidden), `likely` says which pairs must be read to the end.
    """

    gists: dict[int, Floats]
    likely: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Fitted:
    """A stop, and the share of the notes without an answer that it spares, among persons it was not fitted to."""

    stop: Stop
    spares: float


def fit(
    blocks: Sequence[Block],
    *,
    weights: Path = WEIGHTS,
    on_pair: Callable[[int, int], None] = lambda _done, _of: None,
) -> list[Fitted]:
    """Return stops for the weights of a reader, fitted to what the pairs that it learned from look like in it.

    `on_pair` gets how many pairs were read, and of how many.
    """
    told = [Lessons(part).texts() for part in (_all_but(blocks), blocks[::_APART])]
    total = sum(map(len, told))
    reader = _unstopped(weights)
    done = count(1)
    fitted, apart = (_see(reader, pairs, lambda: on_pair(next(done), total)) for pairs in told)
    return [_fit(layer, fitted, apart) for layer in LAYERS]


def _all_but(blocks: Sequence[Block]) -> list[Block]:
    return [block for place, block in enumerate(blocks) if place % _APART]


def _unstopped(weights: Path) -> Reader:
    """Return a reader that pauses after the layers, and stops at none."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stops.npz"
        save_stops([Stop(layer, np.zeros(0, np.float32), 0.0) for layer in LAYERS], path, weights)
        return Reader(weights, path)


def _see(reader: Reader, pairs: Sequence[Pair], on_pair: Callable[[], None]) -> Seen:
    def see(pair: Pair) -> tuple[list[Floats], float]:
        asked, told = next(reader.pieces(*pair))
        *states, last = reader.model.states(asked, told)
        return [gist(state, len(asked)) for state in states], reader.model.answers(last)

    gists: list[list[Floats]] = []
    log_odds: list[float] = []
    with ThreadPoolExecutor(psutil.cpu_count() or 1) as pool:
        for seen, found in pool.map(see, pairs):
            gists.append(seen)
            log_odds.append(found)
            on_pair()
    by_layer = {layer: np.stack(rows) for layer, rows in zip(LAYERS, zip(*gists, strict=True), strict=True)}
    return Seen(by_layer, np.array(log_odds) >= np.log(SHOWN_EARLY / (1 - SHOWN_EARLY)))


def _fit(layer: int, seen: Seen, apart: Seen) -> Fitted:
    weights, bias = regression(seen.gists[layer], seen.likely)
    found = apart.gists[layer] @ weights + bias
    limit = float(np.quantile(found[apart.likely], COST))
    return Fitted(Stop(layer, weights, bias - limit), float((found[~apart.likely] < limit).mean()))


def regression(rows: Floats, right: NDArray[np.bool_]) -> tuple[Floats, float]:
    """Return the weights, shape (columns,), and the bias of a logistic regression with a ridge, by Newton's method.

    Hastie, Tibshirani and Friedman 2009, "The Elements of Statistical Learning", section 4.4.
    """
    mean, width = rows.mean(axis=0), rows.std(axis=0) + 1e-6
    even = np.column_stack([(rows - mean) / width, np.ones(len(rows))]).astype(np.float64)
    ridge = np.full(even.shape[1], _RIDGE)
    ridge[-1] = 0.0
    found = np.zeros(even.shape[1])
    for _ in range(_ROUNDS):
        likely = 1 / (1 + np.exp(-np.clip(even @ found, -30, 30)))
        slope = even.T @ (likely - right) + ridge * found
        bend = (even * (likely * (1 - likely))[:, None]).T @ even + np.diag(ridge)
        found -= np.linalg.solve(bend, slope)
    weights = found[:-1] / width
    return weights.astype(np.float32), float(found[-1] - weights @ mean)
