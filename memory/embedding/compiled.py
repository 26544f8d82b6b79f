"""A local model computed by onnxruntime: the vectors of torch in half the time, and no torch to load.

Only what can be proved is computed so. The model must be a plain BERT encoder with mean pooling, and before its first
use in a process its vectors of a few dozen varied texts are compared with those that sentence-transformers made.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import psutil
from numpy.typing import NDArray
from onnx import ModelProto
from tokenizers import Tokenizer

from memory.embedding.base import Batch
from memory.embedding.bert import WEIGHTS, Bert, BertGraph, CannotCompileError, Floats, read_bert

# Tokens of one thread's part of a batch, padding included. Larger parts leave the core's cache: on cores with 2 MiB,
# parts of 256 and 512 tokens cost the same, parts of 128 a tenth more, and parts of 2048 a quarter more.
_PART_TOKENS = 256
# Texts that are cut into tokens at once, so that a long list is not held in both forms.
_SLAB = 512
_LONGEST = 512  # what the proof's longest text goes beyond
# What the runtime would join into operators that take longer than their parts: see `Graph`.
_SLOWER = ["SkipLayerNormFusion"]


class CompiledModel:
    """A model of a folder, ready to run and safe to share between threads; `fingerprint` names what its files hold.

    `threads` parts of a batch are computed at once, None means one for each core. Raises `CannotCompileError` for a
    model of another make; what is wrong with a damaged one raises whatever finds it.
    """

    def __init__(self, folder: Path, threads: int | None) -> None:
        _check_modules(folder)
        self.bert = read_bert(folder)
        self.dimensions = self.bert.hidden
        self.fingerprint = fingerprint(folder)
        self._tokenizer = _tokenizer(folder, self.bert.positions)
        self._threads = threads or psutil.cpu_count(logical=False) or 1
        self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="embedding")
        self._session = session_of(BertGraph(self.bert).model(), self.bert)

    def with_learned(self, weights: Mapping[str, Floats]) -> CompiledModel:
        """Return the model with weights, by name, that were learned further."""
        model = copy(self)
        model.bert = replace(self.bert, learned=weights)
        model._session = session_of(BertGraph(model.bert).model(), model.bert)
        return model

    def tokens(self, text: str) -> list[int]:
        """Return the tokens of a text, cut to what the model reads."""
        ids: list[int] = self._tokenizer.encode(text).ids
        return ids

    def batches(self, texts: Sequence[str]) -> Iterator[Batch]:
        """Cut texts into tokens and group them by length, so that little is padded."""
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        for start in range(0, len(order), _SLAB):
            slab = order[start : start + _SLAB]
            encoded = self._tokenizer.encode_batch_fast([texts[place] for place in slab])
            rows = [encoding.ids for encoding in encoded]
            pairs = sorted(zip(slab, rows, strict=True), key=lambda pair: len(pair[1]))
            yield from _grouped(pairs, self._threads * _PART_TOKENS)

    def run(self, batch: Batch) -> NDArray[np.float32]:
        """Return the mean of each row's token vectors: shape (rows, dimensions), of any length."""
        size = -(-len(batch.items) // self._threads)
        parts = [batch.items[start : start + size] for start in range(0, len(batch.items), size)]
        if len(parts) == 1:
            return self._mean(parts[0])
        return np.concatenate(list(self._pool.map(self._mean, parts)))

    def _mean(self, rows: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        lengths = np.array([len(row) for row in rows], dtype=np.int32)
        ids = np.zeros((len(rows), lengths.max()), dtype=np.int64)
        shares = np.zeros((len(rows), 1, lengths.max()), dtype=np.float32)
        for place, row in enumerate(rows):
            ids[place, : len(row)] = row
            shares[place, 0, : len(row)] = 1 / len(row)
        vectors: NDArray[np.float32] = self._session.run(None, {"ids": ids, "lengths": lengths, "shares": shares})[0]
        return vectors[:, 0]


def session_of(graph: ModelProto, bert: Bert | None = None) -> onnxruntime.InferenceSession:
    """Return a graph ready to run, by one thread; what it only points at lies in the encoder's weights file."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    # Threads that share one part wait for each other at every step: a fifth more work than parts side by side.
    options.intra_op_num_threads = 1
    if bert is not None:
        folder = str(bert.weights.parent)
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", folder)
    return onnxruntime.InferenceSession(
        graph.SerializeToString(), options, providers=["CPUExecutionProvider"], disabled_optimizers=_SLOWER
    )


def _grouped(pairs: Sequence[tuple[int, Sequence[int]]], most: int) -> Iterator[Batch]:
    """Cut (place, tokens) pairs, shortest first, where the padded batch would have more than `most` tokens."""
    group: list[tuple[int, Sequence[int]]] = []
    for pair in pairs:
        if group and len(pair[1]) * (len(group) + 1) > most:
            yield _batch(group)
            group = []
        group.append(pair)
    if group:
        yield _batch(group)


def _batch(group: Sequence[tuple[int, Sequence[int]]]) -> Batch:
    return Batch([place for place, _ in group], [row for _, row in group])


def _check_modules(folder: Path) -> None:
    modules = _json(folder / "modules.json")
    kinds = [module["type"].rpartition(".")[2] for module in modules]
    if kinds[:2] != ["Transformer", "Pooling"] or kinds[2:] not in ([], ["Normalize"]) or modules[0]["path"]:
        raise CannotCompileError(f"it is made of {', '.join(kinds)}")
    pooling = _json(folder / modules[1]["path"] / "config.json")
    flags = [key for key, value in pooling.items() if key.startswith("pooling_mode_") and value]
    mode = pooling.get("pooling_mode", flags)
    if mode not in ("mean", ["mean"], ["pooling_mode_mean_tokens"]):
        raise CannotCompileError(f"its pooling is {mode}")


def _tokenizer(folder: Path, positions: int) -> Tokenizer:
    # Threads of its own would not outlive a fork, and one batch is small.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    limit = _json(folder / "sentence_bert_config.json").get("max_seq_length")
    if limit is None:
        limit = min(positions, _json(folder / "tokenizer_config.json").get("model_max_length", positions))
    if not 0 < limit <= min(positions, _LONGEST):
        raise CannotCompileError(f"it reads {limit} tokens")
    # Read once and not changed any more, it may be used by several threads.
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(limit)
    tokenizer.no_padding()
    if not tokenizer.encode("").ids:
        raise CannotCompileError("an empty text has no token")
    return tokenizer


def fingerprint(folder: Path) -> str:
    """Return a name for the content of a model's files: weights, vocabulary and settings."""
    found = hashlib.sha256()
    settings = [path for pattern in ("*.json", "*.txt") for path in folder.rglob(pattern)]
    for path in [folder / WEIGHTS, *sorted(settings)]:
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        found.update(f"{path.relative_to(folder).as_posix()}\n{content}\n".encode())
    return found.hexdigest()[:32]


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
