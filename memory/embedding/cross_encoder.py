"""ms-marco-MiniLM-L-12-v2, an encoder that reads a question together with a text, as its package carries it.

It is of the sentence-transformers project (Apache-2.0), trained on from MiniLM (Wang et al. 2020). The file is a graph
whose matrices are whole numbers of eight bits, with one scale each; only the weights are taken from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

Floats = NDArray[np.float32]

_PREFIX = "bert."
_ROUNDED, _SCALE, _ZERO = "_quantized", "_scale", "_zero_point"
_PRODUCT = "MatMulInteger"
_WORDS = "embeddings.word_embeddings.weight"
# Of the weights that the graph uses in a product their names are lost, but not whose product it is.
_NODE = "/MatMul_quant"


@dataclass(frozen=True, slots=True)
class Rounded:
    """A matrix of whole numbers of eight bits: what they are away from `zero`, times `scale`."""

    values: NDArray[Any]
    scale: float
    zero: int

    def numbers(self) -> Floats:
        """Return what the matrix stands for."""
        found: Floats = (self.values.astype(np.float32) - np.float32(self.zero)) * np.float32(self.scale)
        return found

    def rows(self, places: list[int]) -> Floats:
        """Return what some of its rows stand for."""
        return Rounded(self.values[places], self.scale, self.zero).numbers()


class CrossEncoder:
    """The encoder's weights, by the names that a checkpoint of BERT has for them, and its measures.

    Raises `OSError` for a file that is not there, `ValueError` for one of another layout, and what finds it damaged.
    """

    heads = 12
    epsilon = 1e-12

    def __init__(self, path: Path) -> None:
        graph = onnx.load(str(path)).graph
        held = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
        plain = {_short(name): values for name, values in held.items() if values.dtype == np.float32 and values.ndim}
        self._weights: Mapping[str, Floats | Rounded] = {**plain, **dict(_matrices(graph, held))}
        words = self._weights.get(_WORDS)
        if not isinstance(words, Rounded) or "classifier.weight" not in self._weights:
            raise ValueError(f"{path.name} is not the encoder that is known here")
        self.words = words
        self.hidden = words.values.shape[1]
        self.layers = sum(name.endswith(".intermediate.dense.weight") for name in self._weights)

    @property
    def names(self) -> list[str]:
        """The names of all weights."""
        return list(self._weights)

    def numbers(self, name: str) -> Floats:
        """Return the weights of a name: (outputs, inputs) or (outputs,). Raises `KeyError` for one that it lacks."""
        found = self._weights[name]
        return found.numbers() if isinstance(found, Rounded) else found


def _matrices(graph: onnx.GraphProto, held: Mapping[str, NDArray[Any]]) -> Iterator[tuple[str, Rounded]]:
    used = {node.input[1]: node.name for node in graph.node if node.op_type == _PRODUCT}
    for whole in held:
        name = whole.removesuffix(_ROUNDED)
        if name == whole:
            continue
        found = Rounded(held[whole], float(held[name + _SCALE]), int(held[name + _ZERO]))
        if whole not in used:
            yield _short(name), found
            continue
        # A product has them turned.
        turned = Rounded(found.values.T, found.scale, found.zero)
        yield _short(name) if "::" not in name else _part(used[whole]), turned


def _part(node: str) -> str:
    return _short(node.removesuffix(_NODE).strip("/").replace("/", ".")) + ".weight"


def _short(name: str) -> str:
    return name.removeprefix(_PREFIX)
