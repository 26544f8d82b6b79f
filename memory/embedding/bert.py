"""A BERT encoder with mean pooling as an ONNX graph over the model's own weights file, which it only points into."""

from __future__ import annotations

import json
import struct
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

Floats = NDArray[np.float32]

WEIGHTS = "model.safetensors"

_FUSED = "com.microsoft"  # onnxruntime's own operators: several steps of a layer in one
_LAYER = {
    "attention.self.query": ("hidden", "hidden"),
    "attention.self.key": ("hidden", "hidden"),
    "attention.self.value": ("hidden", "hidden"),
    "attention.output.dense": ("hidden", "hidden"),
    "intermediate.dense": ("inner", "hidden"),
    "output.dense": ("hidden", "inner"),
}
_NORMS = ("attention.output.LayerNorm", "output.LayerNorm")
_UNUSED = ("pooler.", "embeddings.position_ids")


class CannotCompileError(Exception):
    """This is not a model that is known to be computed rightly here; the message says what is different."""


@dataclass(frozen=True, slots=True)
class Bert:
    """The measures of an encoder: `tensors` are the header of its weights file, whose data begin at byte `begin`.

    `learned` has weights of its layers by name that take the place of the file's.
    """

    layers: int
    heads: int
    hidden: int
    epsilon: float
    positions: int
    weights: Path
    begin: int
    tensors: Mapping[str, Any]
    learned: Mapping[str, Floats] = field(default_factory=dict)

    def numbers(self, name: str) -> Floats:
        """Return weights by their name."""
        if name in self.learned:
            return self.learned[name]
        first, last = (self.begin + place for place in self.tensors[name]["data_offsets"])
        data = np.memmap(self.weights, dtype=np.uint8, mode="r")
        return data[first:last].view("<f4").reshape(self.tensors[name]["shape"])


def read_bert(folder: Path) -> Bert:
    """Read what a folder's config.json and weights file say.

    Raises `CannotCompileError` unless it is a plain BERT encoder in single precision with the usual names.
    """
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    expected = {"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute", "is_decoder": False}
    for key, value in expected.items():
        if config.get(key, None if key == "model_type" else value) != value:
            raise CannotCompileError(f"its {key} is {config.get(key)!r}, not {value!r}")
    weights = (folder / WEIGHTS).resolve()
    begin, tensors = _header(weights)
    bert = Bert(
        layers=config["num_hidden_layers"],
        heads=config["num_attention_heads"],
        hidden=config["hidden_size"],
        epsilon=config["layer_norm_eps"],
        positions=config["max_position_embeddings"],
        weights=weights,
        begin=begin,
        tensors=tensors,
    )
    _check(bert, _shapes(bert, config))
    return bert


def _header(path: Path) -> tuple[int, dict[str, Any]]:
    with path.open("rb") as file:
        length = struct.unpack("<Q", file.read(8))[0]
        if length > path.stat().st_size:
            raise CannotCompileError("its weights file is damaged")
        tensors = json.loads(file.read(length))
    tensors.pop("__metadata__", None)
    return 8 + length, tensors


def _shapes(bert: Bert, config: Mapping[str, Any]) -> dict[str, list[int]]:
    sizes = {"hidden": bert.hidden, "inner": config["intermediate_size"]}
    shapes = {
        "embeddings.word_embeddings.weight": [config["vocab_size"], bert.hidden],
        "embeddings.position_embeddings.weight": [bert.positions, bert.hidden],
        "embeddings.token_type_embeddings.weight": [config["type_vocab_size"], bert.hidden],
    }
    norms = ["embeddings.LayerNorm"]
    for layer in range(bert.layers):
        norms += [f"encoder.layer.{layer}.{norm}" for norm in _NORMS]
        for part, (rows, columns) in _LAYER.items():
            shapes[f"encoder.layer.{layer}.{part}.weight"] = [sizes[rows], sizes[columns]]
            shapes[f"encoder.layer.{layer}.{part}.bias"] = [sizes[rows]]
    return shapes | {f"{norm}.{half}": [bert.hidden] for norm in norms for half in ("weight", "bias")}


def _check(bert: Bert, shapes: Mapping[str, list[int]]) -> None:
    used = {name: tensor for name, tensor in bert.tensors.items() if not name.startswith(_UNUSED)}
    if used.keys() != shapes.keys():
        raise CannotCompileError(f"its weights are named differently: {sorted(used.keys() ^ shapes.keys())[:3]}")
    size = bert.weights.stat().st_size - bert.begin
    for name, tensor in used.items():
        first, last = tensor["data_offsets"]
        # The file is mapped into memory, where reading behind its end would kill the process.
        whole = 0 <= first <= last <= size and last - first == _bytes(shapes[name])
        if tensor["dtype"] != "F32" or tensor["shape"] != shapes[name] or not whole:
            raise CannotCompileError(f"its weights {name} are not of the expected kind")


def _bytes(shape: Sequence[int]) -> int:
    count = 4
    for side in shape:
        count *= side
    return count


class Measures(Protocol):
    """What a graph needs to know of an encoder."""

    @property
    def layers(self) -> int:
        """The number of layers."""
        ...

    @property
    def heads(self) -> int:
        """The number of attention heads of a layer."""
        ...

    @property
    def hidden(self) -> int:
        """The numbers of a token's vector."""
        ...

    @property
    def epsilon(self) -> float:
        """What keeps the normalisation of a layer from dividing by zero."""
        ...


class Graph(ABC):
    """Builds the layers of an encoder; where weights come from, and how they are multiplied, its heirs say."""

    def __init__(self, encoder: Measures) -> None:
        self._encoder = encoder
        self._nodes: list[NodeProto] = []
        self._constants: dict[str, TensorProto] = {}

    def _model(self, inputs: Sequence[ValueInfoProto], output: str = "mean") -> ModelProto:
        given = helper.make_tensor_value_info(output, TensorProto.FLOAT, ["texts", None, self._encoder.hidden])
        graph = helper.make_graph(self._nodes, "bert", inputs, [given], list(self._constants.values()))
        operators = [helper.make_opsetid("", 17), helper.make_opsetid(_FUSED, 1)]
        return helper.make_model(graph, opset_imports=operators, ir_version=8)

    def _embedded(self, bert: Bert) -> str:
        """The vectors of the tokens `ids`, words and places added, from the file of a checkpoint."""
        zero, one = self._place(0), self._place(1)
        words = self._add("Gather", [self._pointer(bert, "embeddings.word_embeddings.weight"), "ids"], "words")
        # Every text is one segment, the first kind, so that the kind's vector belongs to every position.
        kinds = self._pointer(bert, "embeddings.token_type_embeddings.weight")
        kind = self._add("Slice", [kinds, zero, one], "kind")
        places = self._add("Add", [self._pointer(bert, "embeddings.position_embeddings.weight"), kind], "places")
        self._add("Shape", ["ids"], "width", start=1, end=2)
        self._add("Slice", [places, zero, "width"], "used_places")
        return self._add("Add", [words, "used_places"], "embedded")

    def _place(self, number: int) -> str:
        """A whole number that says where to cut."""
        name = f"place.{number}"
        self._constants[name] = helper.make_tensor(name, TensorProto.INT64, [1], [number])
        return name

    def _pointer(self, bert: Bert, name: str) -> str:
        """A weight that stays in its file."""
        if name not in self._constants:
            tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL)
            tensor.dims.extend(bert.tensors[name]["shape"])
            first, last = bert.tensors[name]["data_offsets"]
            where = {"location": bert.weights.name, "offset": bert.begin + first, "length": last - first}
            for key, value in where.items():
                tensor.external_data.add(key=key, value=str(value))
            self._constants[name] = tensor
        return name

    def _layers(self, state: str, *, numbers: range | None = None, first: bool = False) -> str:
        """All layers, or those of these `numbers`.

        With `first`, what becomes of the first token alone, which spares most of the last layer.
        """
        for number in range(self._encoder.layers) if numbers is None else numbers:
            layer = f"encoder.layer.{number}"
            seen = self._attention(layer, state)
            if first and number == self._encoder.layers - 1:
                seen, state = self._first(seen), self._first(state)
            state = self._joined(f"{layer}.attention.output", seen, state)
            inner = self._product(state, f"{layer}.intermediate.dense")
            inputs = [inner, self._weight(f"{layer}.intermediate.dense.bias")]
            bent = self._fused("BiasGelu", inputs, f"{layer}.bent")
            state = self._joined(f"{layer}.output", bent, state)
        return state

    def _first(self, value: str) -> str:
        """The first token of a value."""
        return self._add("Slice", [value, *map(self._place, (0, 1, 1))], f"{value}.first")

    @abstractmethod
    def _attention(self, layer: str, state: str) -> str:
        """What the tokens of a layer see of each other."""

    @abstractmethod
    def _product(self, value: str, part: str) -> str:
        """A value multiplied by the weights of a part."""

    @abstractmethod
    def _weight(self, name: str) -> str:
        """A weight that is added or that scales."""

    def _joined(self, part: str, value: str, state: str) -> str:
        """A dense step, what was there before added, and the sum normalised."""
        whole = self._dense(value, f"{part}.dense")
        # The runtime has one operator for this and the next step, which takes four times as long as both.
        added = self._add("Add", [whole, state], f"{part}.added")
        return self._normal(added, f"{part}.LayerNorm", f"{part}.state")

    def _dense(self, value: str, part: str) -> str:
        """A value multiplied by the weights of a part, and its bias added."""
        return self._add("Add", [self._product(value, part), self._weight(f"{part}.bias")], f"{part}.whole")

    def _normal(self, value: str, norm: str = "embeddings.LayerNorm", output: str = "state") -> str:
        """The embeddings, or what a norm is for, normalised."""
        inputs, epsilon = [value, *self._pair(norm)], self._encoder.epsilon
        return self._add("LayerNormalization", inputs, output, epsilon=epsilon, axis=-1)

    def _pair(self, norm: str) -> tuple[str, str]:
        return self._weight(f"{norm}.weight"), self._weight(f"{norm}.bias")

    def _fused(self, operator: str, inputs: Sequence[str], output: str, **attributes: Any) -> str:
        return self._add(operator, inputs, output, domain=_FUSED, **attributes)

    def _add(self, operator: str, inputs: Sequence[str], output: str, domain: str = "", **attributes: Any) -> str:
        self._nodes.append(helper.make_node(operator, inputs, [output], domain=domain, **attributes))
        return output


class BertGraph(Graph):
    """Builds the graph of one encoder.

    Inputs: `ids` (texts, tokens) int64, padded on the right by anything; `lengths` (texts,) int32, the tokens of each
    that count; `shares` (texts, 1, tokens) float32, the share of each token in the mean. Output: (texts, 1, hidden).
    """

    def __init__(self, bert: Bert) -> None:
        super().__init__(bert)
        self._bert = bert

    def model(self) -> ModelProto:
        """Return the model; its weights are looked for beside it, in the file `bert.weights.name`."""
        self._add("MatMul", ["shares", self._layers(self._normal(self._embedded(self._bert)))], "mean")
        inputs = [
            helper.make_tensor_value_info("ids", TensorProto.INT64, ["texts", "tokens"]),
            helper.make_tensor_value_info("lengths", TensorProto.INT32, ["texts"]),
            helper.make_tensor_value_info("shares", TensorProto.FLOAT, ["texts", 1, "tokens"]),
        ]
        return self._model(inputs)

    def _attention(self, layer: str, state: str) -> str:
        parts = [f"{layer}.attention.self.{part}" for part in ("query", "key", "value")]
        kernel = self._add("Concat", [self._turned(part) for part in parts], f"{layer}.kernel", axis=1)
        bias = self._add("Concat", [self._weight(f"{part}.bias") for part in parts], f"{layer}.bias", axis=0)
        inputs = [state, kernel, bias, "lengths"]
        return self._fused("Attention", inputs, f"{layer}.seen", num_heads=self._bert.heads)

    def _product(self, value: str, part: str) -> str:
        return self._add("MatMul", [value, self._turned(part)], f"{part}.product")

    def _turned(self, part: str) -> str:
        # Weights are stored (outputs, inputs). The runtime turns constants once, while it loads the graph.
        return self._add("Transpose", [self._weight(f"{part}.weight")], f"{part}.turned", perm=[1, 0])

    def _weight(self, name: str) -> str:
        if name in self._bert.learned and name not in self._constants:
            self._constants[name] = numpy_helper.from_array(np.ascontiguousarray(self._bert.learned[name]), name)
        return self._pointer(self._bert, name)
