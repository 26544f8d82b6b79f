"""An encoder as an ONNX graph that computes in whole numbers of eight bits, in half the time of single precision.

A row of weights has one scale. What is multiplied with them is rounded as it comes, with one scale for a text, so that
a channel much wider than the others would leave them few steps: `widest` says how wide each gets, and part of that is
moved into the weights first (SmoothQuant, Xiao et al. 2023). The widest values of all come after the inner step, few
and of no fixed channel, mostly of the same tokens; there each token has a scale of its own, or some parts of its
channels have.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper, numpy_helper

from memory.embedding.bert import Graph, Measures
from memory.embedding.compiled import session_of

Floats = NDArray[np.float32]

_LARGEST = 127  # of eight bits with a sign, the same on both sides
_MOVED_BY = 128  # where there is no sign
# How much of a channel's width goes into the weights. 0.7 leaves questions the least error by the bundled one.
_MOVED = 0.7
_LEAST = 1e-5
_LOWEST = 0.17  # No less than this below zero does GELU give.
_INNER = ".output.dense"
_SEEN = ".attention.output.dense"


class Arithmetic(Enum):
    """What an encoder computes in, quickest first.

    Processors without VNNI add the products of two pairs in sixteen bits, where they overflow if weights have a sign.
    Moved up by 128 weights have none, and nothing overflows, for a fifth more time.
    """

    SIGNED = "whole numbers with a sign"
    UNSIGNED = "whole numbers without a sign"
    SINGLE = "single precision"


@cache
def arithmetics() -> tuple[Arithmetic, ...]:
    """Return what to try on this processor, quickest first: a model takes the first by which it gives what it should.

    Whether numbers with a sign overflow shows in one product of the largest; a whole model takes a second to load.
    """
    made = session_of(_Largest().model()).run(None, {"state": np.ones((1, _ROWS, _COLUMNS), np.float32)})[0]
    exact = np.allclose(made, _COLUMNS * _LARGEST, rtol=0.01)
    return tuple(each for each in Arithmetic if exact or each is not Arithmetic.SIGNED)


class RoundedGraph(Graph):
    """Builds the layers; its heirs say where `numbers` come from.

    `widest` has the largest absolute value of each channel of what goes into a product, by the product's part; without
    it nothing is moved. Each token has so many `token_scales` of its own after the inner step, which takes longer; with
    none a text has one there, as everywhere.
    """

    def __init__(
        self,
        encoder: Measures,
        widest: Mapping[str, Floats] | None = None,
        *,
        token_scales: int = 0,
        arithmetic: Arithmetic = Arithmetic.SIGNED,
    ) -> None:
        super().__init__(encoder)
        self._widest = widest or {}
        self._token_scales = token_scales
        self._arithmetic = arithmetic

    @abstractmethod
    def _numbers(self, name: str) -> Floats:
        """Return the weights of a name as a checkpoint of BERT has them: (outputs, inputs), or (outputs,)."""

    def _attention(self, layer: str, state: str) -> str:
        parts = [f"{layer}.attention.self.{part}" for part in ("query", "key", "value")]
        # One product for all three: what is multiplied is rounded once.
        weights = np.concatenate([self._numbers(f"{part}.weight") for part in parts])
        bias = np.concatenate([self._numbers(f"{part}.bias") for part in parts])
        # What comes of it are sums of the values, which can be divided here, at no time, for the product over them.
        seen = f"{layer}{_SEEN}"
        by = np.ones(len(bias), np.float32)
        if (moved := self._moved(seen, self._numbers(f"{seen}.weight"))) is not None:
            by[-len(moved) :] /= moved
        together = self._multiplied(state, f"{layer}.attention", weights, by)
        split = [f"{part}.product" for part in parts]
        self._nodes.append(helper.make_node("Split", [together], split, axis=-1))
        inputs = [*split, self._constant(f"{layer}.bias", bias * by)]
        # A layer may have fewer heads than the encoder came with, never other ones.
        heads = len(bias) // 3 * self._encoder.heads // self._encoder.hidden
        return self._fused("MultiHeadAttention", inputs, f"{layer}.seen", num_heads=heads)

    def _product(self, value: str, part: str) -> str:
        return self._multiplied(value, part, self._numbers(f"{part}.weight"))

    def _dense(self, value: str, part: str) -> str:
        if self._arithmetic is Arithmetic.SINGLE or self._goes_by_tokens(part):
            return super()._dense(value, part)
        return self._rounded(*self._evened(value, part, self._numbers(f"{part}.weight")), part, bias=f"{part}.bias")

    def _multiplied(self, value: str, part: str, weights: Floats, by: Floats | None = None) -> str:
        """A value multiplied by weights, and what comes out by numbers `by`, where it is computed in whole numbers."""
        if self._arithmetic is Arithmetic.SINGLE:
            return self._add("MatMul", [value, self._constant(part, weights.T)], f"{part}.product")
        if self._goes_by_tokens(part):
            return self._by_tokens(value, part, weights)
        return self._rounded(*self._evened(value, part, weights), part, by)

    def _goes_by_tokens(self, part: str) -> bool:
        return self._token_scales > 0 and part.endswith(_INNER) and not part.endswith(_SEEN)

    def _evened(self, value: str, part: str, weights: Floats) -> tuple[str, Floats]:
        """Move a part of how wide the channels of a value are into the weights that it is multiplied with."""
        if (moved := self._moved(part, weights)) is None:
            return value, weights
        if not part.endswith(_SEEN):  # There the values that it is made of have been divided.
            value = self._add("Mul", [value, self._constant(f"{part}.moved", 1 / moved)], f"{part}.even")
        return value, weights * moved

    def _moved(self, part: str, weights: Floats) -> Floats | None:
        """Return what the channels that go into a product are divided by; None where nothing is moved."""
        widest = self._widest.get(part)
        if widest is None or self._arithmetic is Arithmetic.SINGLE:
            return None
        moved: Floats = _share(widest) ** _MOVED / _share(np.abs(weights).max(axis=0)) ** (1 - _MOVED)
        return moved

    def _by_tokens(self, value: str, part: str, weights: Floats) -> str:
        """Divide each token's values by the widest of them, and multiply what comes out by it.

        A few parts of the channels may have scales of their own besides, weights too.
        """
        widest = self._add("ReduceMax", [value], f"{part}.widest", axes=[-1])
        # Nothing below zero is wider than that.
        least = self._constant("least", np.array([_LOWEST], np.float32))
        width = self._add("Max", [widest, least], f"{part}.width")
        even = self._add("Div", [value, width], f"{part}.even")
        if (scales := self._token_scales) == 1:
            whole = self._rounded(even, weights, f"{part}.weights")
        else:
            pieces = [f"{part}.{number}" for number in range(scales)]
            self._nodes.append(helper.make_node("Split", [even], pieces, axis=-1))
            split = zip(pieces, np.split(weights, scales, axis=1), strict=True)
            whole = self._add("Sum", [self._rounded(*each, f"{each[0]}.weights") for each in split], f"{part}.sum")
        return self._add("Mul", [whole, width], f"{part}.product")

    def _rounded(self, value: str, weights: Floats, part: str, by: Floats | None = None, *, bias: str = "") -> str:
        scales = _steps(np.abs(weights).max(axis=1))
        rounded, no_sign = np.rint(weights / scales[:, None]), self._arithmetic is Arithmetic.UNSIGNED
        whole = (rounded + _MOVED_BY).astype(np.uint8) if no_sign else rounded.astype(np.int8)
        given = scales if by is None else scales * by
        inputs = [value, self._constant(part, whole.T), self._constant(f"{part}.scales", given)]
        zeros = np.full(len(scales), _MOVED_BY, np.uint8)
        inputs.append(self._constant(f"{part}.zeros", zeros) if no_sign else "")
        inputs.append(self._weight(bias) if bias else "")
        return self._fused("DynamicQuantizeMatMul", inputs, f"{part}.product")

    def _weight(self, name: str) -> str:
        return self._constant(name, self._numbers(name))

    def _constant(self, name: str, values: NDArray[np.generic]) -> str:
        if name not in self._constants:
            self._constants[name] = numpy_helper.from_array(np.ascontiguousarray(values), name)
        return name


_ROWS, _COLUMNS = 8, 64


class _Largest(RoundedGraph):
    """One product, of weights that all are the largest."""

    def __init__(self) -> None:
        super().__init__(_Smallest())

    def model(self) -> ModelProto:
        """Return the model: `state` (1, rows, columns) goes in, the product comes out."""
        made = self._product("state", "largest")
        return self._model([helper.make_tensor_value_info("state", TensorProto.FLOAT, [1, _ROWS, _COLUMNS])], made)

    def _numbers(self, name: str) -> Floats:
        assert name == "largest.weight"
        return np.full((_COLUMNS, _COLUMNS), _LARGEST, np.float32)


@dataclass(frozen=True)
class _Smallest:
    """An encoder of no layers."""

    layers: int = 0
    heads: int = 1
    hidden: int = _COLUMNS
    epsilon: float = 1e-12


def _share(widths: Floats) -> Floats:
    """Return widths as shares of their geometric mean."""
    some = np.maximum(widths, _LEAST)
    shares: Floats = (some / np.exp(np.log(some).mean())).astype(np.float32)
    return shares


def _steps(widest: Floats) -> Floats:
    """Return the distance of two whole numbers, such that the widest value is the largest of them."""
    steps: Floats = np.where(widest > 0, widest, 1.0).astype(np.float32) / np.float32(_LARGEST)
    return steps
