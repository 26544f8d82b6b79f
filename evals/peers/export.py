"""Write the bundled model as one ONNX file: `python -m evals.peers.export FILE`. It loads torch, so it runs apart."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch
from transformers import AutoModel, AutoTokenizer

from memory.embedding.bundled import MINILM
from memory.embedding.local import LocalEmbedder

_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_OUTPUT = "last_hidden_state"
_PROBES = ["Where is the spare key?", "Ann: it lies under the third flowerpot, next to the blue door, since 2023-05-08"]
# How far the vectors of the two forms of the model may differ, which is by rounding alone.
_TOLERANCE = 1e-4


class _States(torch.nn.Module):
    """The model with its inputs in the order of the file, and its last states alone."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self._model = model

    def forward(self, *inputs: torch.Tensor) -> Any:
        """Return the state of every token: (texts, tokens, dimensions)."""
        return self._model(**dict(zip(_INPUTS, inputs, strict=True))).last_hidden_state


def export(target: Path) -> None:
    """Write ids, mask and kinds of tokens in, states out; raises `ValueError` when that makes other vectors."""
    tokens = AutoTokenizer.from_pretrained(MINILM)(_PROBES, padding=True, return_tensors="pt")
    model = AutoModel.from_pretrained(MINILM, attn_implementation="eager").eval()
    with warnings.catch_warnings():
        # The export warns of what it takes for granted; whether that was right is checked afterwards.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            _States(model),
            tuple(tokens[name] for name in _INPUTS),
            str(target),
            input_names=list(_INPUTS),
            output_names=[_OUTPUT],
            dynamic_axes={name: {0: "texts", 1: "tokens"} for name in (*_INPUTS, _OUTPUT)},
            opset_version=17,
            dynamo=False,
        )
    _prove(target, {name: value.numpy() for name, value in tokens.items()})


def _prove(file: Path, tokens: dict[str, Any]) -> None:
    states: Any = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"]).run(None, tokens)[0]
    mask = tokens["attention_mask"][:, :, None]
    means = (states * mask).sum(axis=1) / mask.sum(axis=1)
    vectors = means / np.linalg.norm(means, axis=1, keepdims=True)
    apart = float(np.abs(vectors - LocalEmbedder(MINILM, None).embed(_PROBES)).max())
    if apart > _TOLERANCE:
        raise ValueError(f"the exported model is {apart:.2g} apart from the bundled one")


if __name__ == "__main__":
    export(Path(sys.argv[1]))
