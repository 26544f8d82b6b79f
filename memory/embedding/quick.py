"""Questions by a compiled model, in half the time: somebody waits for them. What is stored is computed exactly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper

from memory.embedding.base import Batch, encodable, unit
from memory.embedding.bert import Bert, BertGraph, CannotCompileError
from memory.embedding.compiled import CompiledModel, session_of
from memory.embedding.proof import TEXTS
from memory.embedding.rounded import Arithmetic, Floats, RoundedGraph, arithmetics

# Of the texts that prove a model those up to so many characters: longer ones would take most of the time.
_LONGEST_SAMPLE = 200
# The least cosine to the exact vectors. By the bundled model samples have 0.9977 or more, questions 0.9995 on average.
# Where products of eight bits overflow a sample would have 0.989.
ALIKE = 0.995
# One leaves a ninth more of error in as much time, four a twentieth less in an eighth more (file 59 of evals/unseen).
_TOKEN_SCALES = 2


class QuickModel:
    """A compiled model that rounds, with weights that were `learned` further; safe to share between threads.

    Raises `CannotCompileError` where its vectors are too far from the exact ones, and whatever the runtime raises.
    """

    def __init__(self, exact: CompiledModel, learned: Mapping[str, Floats] | None = None) -> None:
        self._exact = exact
        self.dimensions = exact.dimensions
        # Not kept: what runs has them rounded.
        bert = replace(exact.bert, learned=learned or {})
        samples = [text for text in encodable(TEXTS) if len(text) <= _LONGEST_SAMPLE]
        widest, vectors = _watch(exact, samples, bert)
        least = -1.0
        for arithmetic in arithmetics():
            if arithmetic is Arithmetic.SINGLE:
                break
            self._session = session_of(QuickGraph(bert, widest, arithmetic).model(), bert)
            least = min(float(cosine) for cosine in (unit(vectors) * unit(self._vectors(samples))).sum(axis=1))
            if least >= ALIKE:
                return
        raise CannotCompileError(f"rounded, a vector has a cosine of {least:.3f} to the exact one")

    def batches(self, texts: Sequence[str]) -> Iterator[Batch]:
        """Cut each text into tokens, one a batch."""
        for place, text in enumerate(texts):
            yield Batch([place], [self._exact.tokens(text)])

    def _vectors(self, texts: Sequence[str]) -> Floats:
        return np.concatenate([self.run(batch) for batch in self.batches(texts)])

    def run(self, batch: Batch) -> NDArray[np.float32]:
        """Return the mean of each row's token vectors: shape (rows, dimensions), of any length.

        Each text by itself: with others beside it, theirs would decide what it is rounded to.
        """
        return np.stack([self._session.run(None, {"ids": [row]})[0][0, 0] for row in batch.items])


class QuickGraph(RoundedGraph):
    """Builds the graph over a checkpoint's weights. Input: `ids` (1, tokens) int64. Output: (1, 1, hidden)."""

    def __init__(self, bert: Bert, widest: Mapping[str, Floats], arithmetic: Arithmetic) -> None:
        super().__init__(bert, widest, token_scales=_TOKEN_SCALES, arithmetic=arithmetic)
        self._bert = bert

    def model(self) -> ModelProto:
        """Return the model; only its vocabulary is looked for beside it, in the file `bert.weights.name`."""
        state = self._layers(self._normal(self._embedded(self._bert)))
        self._add("ReduceMean", [state], "mean", axes=[1], keepdims=1)
        return self._model([helper.make_tensor_value_info("ids", TensorProto.INT64, ["texts", "tokens"])])

    def _numbers(self, name: str) -> Floats:
        return self._bert.numbers(name)


class _Watched(BertGraph):
    """The exact graph, whose outputs are what goes into its products."""

    def __init__(self, bert: Bert) -> None:
        super().__init__(bert)
        self.going_in: dict[str, str] = {}

    def _product(self, value: str, part: str) -> str:
        self.going_in[part] = value
        return super()._product(value, part)

    def _attention(self, layer: str, state: str) -> str:
        self.going_in[f"{layer}.attention"] = state
        return super()._attention(layer, state)

    def model(self) -> ModelProto:
        """Return the exact model with more outputs."""
        made = super().model()
        values = dict.fromkeys(self.going_in.values())
        made.graph.output.extend(helper.make_tensor_value_info(each, TensorProto.FLOAT, None) for each in values)
        return made


def _watch(exact: CompiledModel, texts: Sequence[str], bert: Bert) -> tuple[dict[str, Floats], Floats]:
    """Return the largest absolute value of each channel that goes into a product, by its part, and the vectors."""
    graph = _Watched(bert)
    session = session_of(graph.model(), bert)
    values = list(dict.fromkeys(graph.going_in.values()))
    widest: dict[str, Floats] = {}
    vectors = []
    for text in texts:
        row = exact.tokens(text)
        shares = np.full((1, 1, len(row)), 1 / len(row), dtype=np.float32)
        inputs = {"ids": [row], "lengths": np.array([len(row)], dtype=np.int32), "shares": shares}
        mean, *made = session.run(["mean", *values], inputs)
        vectors.append(mean[0, 0])
        for value, tokens in zip(values, made, strict=True):
            widths = np.abs(tokens[0]).max(axis=0)
            widest[value] = np.maximum(widest.get(value, 0.0), widths)
    return {part: widest[value] for part, value in graph.going_in.items()}, np.stack(vectors)
