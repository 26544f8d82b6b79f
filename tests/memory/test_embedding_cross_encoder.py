"""The weights of the cross-encoder: what is computed with them is what the file of its package computes."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from tokenizers import Tokenizer

from memory.embedding.bundled import MINILM, cross_encoder_weights
from memory.embedding.compiled import session_of
from memory.embedding.cross_encoder import CrossEncoder
from memory.embedding.rounded import Arithmetic, RoundedGraph

PAIRS = (
    ("What is my sister's name?", "My sister Anna lives in Bern."),
    ("What is my sister's name?", "I bought new shoes on Monday."),
    ("When does my passport run out?", "My passport runs out in March 2027."),
    ("When does my passport run out?", "Renewed my driving licence last week."),
)


@pytest.fixture(scope="module")
def encoder():
    return CrossEncoder(cross_encoder_weights())


class Exact(RoundedGraph):
    """The encoder in single precision."""

    def __init__(self, encoder):
        super().__init__(encoder, arithmetic=Arithmetic.SINGLE)
        self._weights = encoder

    def model(self):
        state = self._layers(self._normal("embedded"))
        shape = ["texts", "tokens", self._encoder.hidden]
        output = helper.make_tensor_value_info(state, TensorProto.FLOAT, shape)
        model = self._model([helper.make_tensor_value_info("embedded", TensorProto.FLOAT, shape)])
        model.graph.ClearField("output")
        model.graph.output.append(output)
        return model

    def _numbers(self, name):
        return self._weights.numbers(name)


def tokens():
    tokenizer = Tokenizer.from_file(f"{MINILM}/tokenizer.json")
    tokenizer.no_padding()
    for asked, told in PAIRS:
        made = tokenizer.encode(asked, told)
        yield np.array(made.ids), np.array(made.type_ids)


def test_the_graph_computes_what_the_packages_file_computes(encoder):
    own, theirs = session_of(Exact(encoder).model()), onnxruntime.InferenceSession(cross_encoder_weights())
    places, kinds = (encoder.numbers(f"embeddings.{each}_embeddings.weight") for each in ("position", "token_type"))
    parts = ("pooler.dense.weight", "pooler.dense.bias", "classifier.weight", "classifier.bias")
    pooler, pooler_bias, head, bias = map(encoder.numbers, parts)
    for ids, segments in tokens():
        embedded = encoder.words.rows(list(ids)) + places[: len(ids)] + kinds[segments]
        first = own.run(None, {"embedded": embedded[None]})[0][0, 0]
        inputs = {"input_ids": ids, "token_type_ids": segments, "attention_mask": np.ones_like(ids)}
        expected = theirs.run(None, {name: values[None].astype(np.int64) for name, values in inputs.items()})[0][0, 0]
        # It rounds what goes into each product, which this does not: of numbers from -11 to 7.
        assert (head @ np.tanh(pooler @ first + pooler_bias) + bias)[0] == pytest.approx(expected, abs=0.8)


def test_the_encoder_has_the_measures_of_its_checkpoint_and_no_other_weights(encoder):
    assert (encoder.layers, encoder.heads, encoder.hidden) == (12, 12, 384)
    assert encoder.numbers("encoder.layer.11.output.dense.weight").shape == (384, 1536)
    assert encoder.words.rows([0, 5]).shape == (2, 384)
    np.testing.assert_array_equal(encoder.words.rows([7])[0], encoder.numbers("embeddings.word_embeddings.weight")[7])
    with pytest.raises(KeyError):
        encoder.numbers("encoder.layer.12.output.dense.weight")


def test_another_file_is_refused(tmp_path):
    graph = helper.make_graph([helper.make_node("Identity", ["in"], ["out"])], "other", [], [])
    onnx.save(helper.make_model(graph), tmp_path / "other.onnx")
    with pytest.raises(ValueError, match=r"other\.onnx is not the encoder"):
        CrossEncoder(tmp_path / "other.onnx")
    with pytest.raises(OSError, match=r"none\.onnx"):
        CrossEncoder(tmp_path / "none.onnx")
