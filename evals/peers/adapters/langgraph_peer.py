"""LangGraph's `PostgresStore`: a namespace for each user, its vector index over the field `text`."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from langgraph.store.base import PutOp
from langgraph.store.postgres import PostgresStore
from tokenizers import Tokenizer

BATCH = 32
LONGEST = 256


class Embedder:
    """The function that makes vectors, which the store wants to be given: the model by onnxruntime."""

    def __init__(self, model: str, onnx: str) -> None:
        self._tokenizer = Tokenizer.from_file(str(Path(model) / "tokenizer.json"))
        self._tokenizer.enable_truncation(LONGEST)
        self._tokenizer.enable_padding()
        self._session = onnxruntime.InferenceSession(onnx, providers=["CPUExecutionProvider"])

    def __call__(self, texts: list[str]) -> list[list[float]]:
        """Return a unit vector for each text."""
        return [row for start in range(0, len(texts), BATCH) for row in self._batch(texts[start : start + BATCH])]

    def _batch(self, texts: list[str]) -> list[list[float]]:
        encoded = self._tokenizer.encode_batch(texts)
        ids = np.array([each.ids for each in encoded], dtype=np.int64)
        mask = np.array([each.attention_mask for each in encoded], dtype=np.int64)
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        states = self._session.run(None, inputs)[0]
        means = (states * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        rows: list[list[float]] = (means / np.linalg.norm(means, axis=1, keepdims=True)).tolist()
        return rows


class Peer:
    """Option `index`: `hnsw`, the store's default, or `flat`, which compares with every vector.

    Option `embed`: `onnx`, a function of ours, or `huggingface`, the name that the store's documentation has for a
    local model, which is sentence-transformers.
    """

    packages = ("langgraph", "langgraph-checkpoint-postgres", "psycopg", "onnxruntime", "langchain-huggingface")

    def open(self, options: dict[str, Any]) -> str:
        """Set the tables up."""
        kind, named = options["options"].get("index", "hnsw"), options["options"].get("embed") == "huggingface"
        index = {
            "dims": options["dimensions"],
            "embed": f"huggingface:{options['model']}" if named else Embedder(options["model"], options["onnx"]),
            "fields": ["text"],
            "distance_type": "cosine",
            "ann_index_config": {"kind": kind, "vector_type": "vector"},
        }
        self._open = ExitStack()
        self._store = self._open.enter_context(PostgresStore.from_conn_string(options["postgres"], index=index))
        self._store.setup()
        by = "sentence-transformers" if named else "onnxruntime"
        return f"PostgresStore, {kind} index, cosine, field text; the model by {by}"

    def store(self, user: str, memories: list[dict[str, Any]]) -> None:
        """Put in batches, as `batch` is there for."""
        for start in range(0, len(memories), 100):
            part = memories[start : start + 100]
            self._store.batch([PutOp(("memories", user), each["id"], each) for each in part])

    def search(self, user: str, text: str, limit: int) -> list[tuple[str, float | None]]:
        """Search the user's namespace."""
        return [(item.key, item.score) for item in self._store.search(("memories", user), query=text, limit=limit)]

    def close(self) -> None:
        """Close the connection."""
        self._open.close()
