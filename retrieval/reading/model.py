"""The network that the reader runs: pieces of a question and of a note become log-odds that the one answers the other.

It need not run to its end. Most notes that do not answer show it after some of the layers already, to a logistic
regression over what these layers make of question and note (early exit, as in Schwartz et al. 2020, "The Right Tool
for the Job"). `evals.stops` fits such stops to the weights, and they hold for these weights alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper

from memory.embedding.bundled import cross_encoder_weights
from memory.embedding.compiled import session_of
from memory.embedding.cross_encoder import CrossEncoder
from memory.embedding.rounded import Arithmetic, RoundedGraph

WEIGHTS = Path(__file__).with_name("reader.npz")
STOPS = Path(__file__).with_name("stops.npz")
# What follows the name of a matrix where its scales are.
SCALES = ".scales"
# Four leave no less error, and take a twentieth more time.
_TOKEN_SCALES = 1
# Pieces of words of a question with a note in training.
LONGEST = 192

Floats = NDArray[np.float32]


def open_cross_encoder() -> CrossEncoder:
    """Return the encoder that the reader was trained on from; raises `FileNotFoundError` where there is none."""
    path = cross_encoder_weights()
    if path is None:
        raise FileNotFoundError("the package of the cross-encoder is not installed here")
    return CrossEncoder(path)


@dataclass(frozen=True, slots=True)
class Stop:
    """After `layer` layers a note is hopeless where `weights` (3 x hidden,) times its gist and `bias` are below 0."""

    layer: int
    weights: Floats
    bias: float

    def is_hopeless(self, gist: Floats) -> bool:
        """Tell whether a note is as good as sure not to answer."""
        return float(self.weights @ gist) + self.bias < 0


def read_stops(path: Path, weights: Path = WEIGHTS) -> list[Stop]:
    """Return the stops of a file in order of their layers; none where they were fitted to other weights."""
    with np.load(path) as file:
        if file["weights_digest"].tobytes() != _digest(weights):
            return []
        return [Stop(int(layer), file[f"weights.{layer}"], float(file[f"bias.{layer}"])) for layer in file["layers"]]


def save_stops(stops: Sequence[Stop], path: Path, weights: Path = WEIGHTS) -> None:
    """Write stops that were fitted to the weights of a reader."""
    arrays: dict[str, Any] = {
        "weights_digest": np.frombuffer(_digest(weights), dtype=np.uint8),
        "layers": np.array([each.layer for each in stops], dtype=np.int64),
    }
    for each in stops:
        arrays |= {f"weights.{each.layer}": each.weights, f"bias.{each.layer}": np.float32(each.bias)}
    np.savez_compressed(path, allow_pickle=False, **arrays)


def _digest(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def gist(state: Floats, asked: int) -> Floats:
    """Return what a stop looks at, of vectors of shape (tokens, hidden) of which the first `asked` are the question's.

    That is the first of them, and the means of the question's and of the note's: shape (3 x hidden,).
    """
    return np.concatenate([state[0], state[:asked].mean(axis=0), state[asked:].mean(axis=0)])


class ReaderModel:
    """The cross-encoder with what training changed; safe to share between threads."""

    def __init__(
        self, encoder: CrossEncoder, arrays: Mapping[str, NDArray[Any]], arithmetic: Arithmetic, stops: Sequence[Stop]
    ) -> None:
        self._words = encoder.words
        places, kinds = (encoder.numbers(f"embeddings.{each}_embeddings.weight") for each in ("position", "token_type"))
        self._places, self._kinds = places[:LONGEST], kinds
        self._pooler = _changed("pooler.dense.weight", encoder, arrays), _changed("pooler.dense.bias", encoder, arrays)
        self._head, self._bias = arrays["head.weight"], float(arrays["head.bias"][0])
        self._stops = stops
        bounds = pairwise([0, *(each.layer for each in stops), encoder.layers])
        graphs = (_ReaderGraph(encoder, arrays, arithmetic, range(*each)) for each in bounds)
        self._stages = [session_of(each.model()) for each in graphs]

    def log_odds(self, asked: Sequence[int], told: Sequence[int], *, to_the_end: bool = False) -> float | None:
        """Return the log-odds that a note answers; None where a stop says that it will not, unless read `to_the_end`.

        `asked` and `told` are the pieces of both with what begins and ends them, at most `LONGEST` together.
        """
        state: Floats | None = None
        for stop, state in zip_longest(self._stops, self.states(asked, told)):
            if stop is not None and not to_the_end and stop.is_hopeless(gist(state, len(asked))):
                return None
        assert state is not None
        return self.answers(state)

    def states(self, asked: Sequence[int], told: Sequence[int]) -> Iterator[Floats]:
        """Give the vectors of the tokens after the layers of each stop, and the first's after the last layer.

        Shape (tokens, hidden), and (1, hidden) at the end.
        """
        ids = [*asked, *told]
        state = self._words.rows(ids) + self._places[: len(ids)]
        state[: len(asked)] += self._kinds[0]
        state[len(asked) :] += self._kinds[1]
        for stage in self._stages:
            state = stage.run(None, {"state": state[None]})[0][0]
            yield state

    def answers(self, state: Floats) -> float:
        """Return the log-odds that go with what comes after the last layer."""
        weight, bias = self._pooler
        return float(np.tanh(weight @ state[0] + bias) @ self._head) + self._bias


class _ReaderGraph(RoundedGraph):
    """Some layers of the encoder with what training changed: `state` (1, tokens, hidden) goes in.

    Out comes the same after them, after the last layer (1, 1, hidden).
    """

    def __init__(
        self, encoder: CrossEncoder, arrays: Mapping[str, NDArray[Any]], arithmetic: Arithmetic, layers: range
    ) -> None:
        widest = {name.removeprefix("widest."): _single(arrays[name]) for name in arrays if name.startswith("widest.")}
        super().__init__(encoder, widest, token_scales=_TOKEN_SCALES, arithmetic=arithmetic)
        self._weights = encoder
        self._arrays = arrays
        self._layers_here = layers

    def model(self) -> ModelProto:
        """Return the model."""
        here = self._layers_here
        state = self._normal("state", output="embedded") if here.start == 0 else "state"
        last = self._layers(state, numbers=here, first=True)
        shape: list[str | int | None] = ["texts", "tokens", self._encoder.hidden]
        return self._model([helper.make_tensor_value_info("state", TensorProto.FLOAT, shape)], last)

    def _numbers(self, name: str) -> Floats:
        return _changed(name, self._weights, self._arrays)


def _changed(name: str, encoder: CrossEncoder, arrays: Mapping[str, NDArray[Any]]) -> Floats:
    """Return weights as training left them, else as they came."""
    return learned(name, arrays) if name in arrays else encoder.numbers(name)


def learned(name: str, arrays: Mapping[str, NDArray[Any]]) -> Floats:
    """Return weights that a reader has learned: a matrix has whole numbers, and a scale for each row."""
    values = _single(arrays[name])
    scales = arrays.get(name + SCALES)
    return values if scales is None else values * scales[:, None]


def _single(values: NDArray[Any]) -> Floats:
    return values.astype(np.float32)
