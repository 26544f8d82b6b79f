"""Embeddings by a model on this machine's CPU; needs no network.

Two come as packages: multilingual-e5-small, which `memory.embedding.e5` runs, and all-MiniLM-L6-v2. That one, and any
other model of sentence-transformers, is run by `memory.embedding.compiled` where it provably can, else by torch.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from memory.embedding.base import Batch, EmbeddingError, LocalModel, encodable, unit
from memory.embedding.bundled import (
    E5_LABEL,
    E5_MISSING,
    E5_PASSAGE,
    E5_QUESTION,
    MINILM,
    MINILM_LABEL,
    e5_weights,
)
from memory.embedding.proof import Proof, proved

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from memory.embedding.compiled import CompiledModel

logger = logging.getLogger(__name__)

_BATCH = 32
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)?")

# As the hub's library reads its switches.
_TRUE = frozenset({"1", "ON", "YES", "TRUE"})


def resolve_model(name: str) -> tuple[str, str]:
    """Return (path, label) of a model: "" and "bundled" name the packaged one, else a label, a folder or a hub name.

    The label of a folder is its full path, as two folders of one name may hold two models. A hub name is both path
    and label; whether the hub's cache has it shows when it is loaded. Raises a permanent `EmbeddingError` for what
    is neither a folder nor can be a hub name, and for a packaged model whose package is not installed.
    """
    if name in {"", "bundled", MINILM, MINILM_LABEL}:
        return MINILM, MINILM_LABEL
    if name == E5_LABEL:
        path = e5_weights()
        if path is None:
            raise EmbeddingError(E5_MISSING, permanent=True)
        return str(path), E5_LABEL
    if Path(name).is_dir():
        return name, str(Path(name).resolve())
    if not _HUB_NAME.fullmatch(name):
        raise EmbeddingError(f"no embedding model in the folder {name!r}", permanent=True)
    return name, name


class LocalEmbedder:
    """A local model, loaded on first use and safe to share between threads. It embeds what is stored.

    `threads` is how many compute one batch; None lets the library choose, and by torch it holds for the whole process.
    Texts longer than the model's limit (512 pieces of words, 256 for all-MiniLM-L6-v2) are cut. `proofs` is a folder
    where the proofs of compiled models are kept; without it, models other than the bundled ones load torch at every
    start.
    """

    provider = "local"

    def __init__(self, model_path: str, threads: int | None, proofs: Path | None = None) -> None:
        self._path, self.model = resolve_model(model_path)
        self._threads = threads
        self._proofs = proofs
        self._loaded: LocalModel | None = None
        self._quick: LocalModel | None = None
        self._loading = threading.Lock()
        self._next = threading.Lock()
        self._running = threading.Lock()

    @property
    def compiled(self) -> bool:
        """Tell whether the model is loaded and runs without torch."""
        return self._loaded is not None and not isinstance(self._loaded, TorchModel)

    def load(self) -> LocalModel:
        """Load the model if it is not loaded yet (half a second, by torch several) and return it.

        Raises a permanent `EmbeddingError` if the folder holds no usable model.
        """
        with self._loading:
            if self._loaded is None:
                self._loaded = self._open()
            return self._loaded

    def _open(self) -> LocalModel:
        if self.model != E5_LABEL:
            return _open(self._path, self._threads, self._proofs)
        # Imported here, so that nobody pays for it who embeds nothing or by another model.
        from memory.embedding.e5 import open_e5  # noqa: PLC0415

        return open_e5(Path(self._path), self._threads)

    def load_quick(self) -> LocalModel:
        """Load what embeds questions if it is not loaded yet (half a second more) and return it.

        Raises as `load` does.
        """
        model = self.load()
        with self._loading:
            if self._quick is None:
                self._quick = _quick(model)
            return self._quick

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit row per text: shape (len(texts), dim)."""
        model = self.load()
        rows = np.empty((len(texts), model.dimensions), dtype=np.float32)
        for batch in model.batches(self._told(texts, E5_PASSAGE)):
            with self._turn():
                rows[batch.places] = model.run(batch)
        return unit(rows)

    def embed_questions(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit row per question, to be compared with the rows of what is stored."""
        model = self.load_quick()
        rows = np.empty((len(texts), model.dimensions), dtype=np.float32)
        for batch in model.batches(self._told(texts, E5_QUESTION)):
            # Only torch needs its turn: a compiled model may be used by several threads, so a question does not wait
            # for a bulk run.
            with self._turn() if isinstance(model, TorchModel) else nullcontext():
                rows[batch.places] = model.run(batch)
        return unit(rows)

    def _told(self, texts: Sequence[str], purpose: str) -> list[str]:
        told = [purpose + text for text in texts] if self.model == E5_LABEL else texts
        return encodable(told)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Hold the model for one batch.

        Torch's tokeniser is not re-entrant and one batch uses every core. A plain lock is not fair: a bulk run
        would take it again at once and starve a query. Here the query waits for `_running` holding `_next`,
        so the bulk run queues behind it.
        """
        with self._next:
            self._running.acquire()
        try:
            yield
        finally:
            self._running.release()


class Questions:
    """A local model as what embeds the questions."""

    def __init__(self, local: LocalEmbedder) -> None:
        self.provider, self.model = local.provider, local.model
        self.embed = local.embed_questions
        self._local = local

    @property
    def compiled(self) -> bool:
        """Tell whether it runs without torch; loads it, and raises what that raises."""
        return not isinstance(self._local.load_quick(), TorchModel)


class TorchModel:
    """A model run by sentence-transformers, which says what is right. Raises as `LocalEmbedder.load` does."""

    def __init__(self, path: str, threads: int | None) -> None:
        self._model = _load_torch(path, threads)
        self.dimensions: int = self._model.get_embedding_dimension() or 0

    def batches(self, texts: Sequence[str]) -> Iterator[Batch]:
        """Group texts of similar length, which wastes the least padding."""
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]), reverse=True)
        for start in range(0, len(order), _BATCH):
            places = order[start : start + _BATCH]
            yield Batch(places, [texts[place] for place in places])

    def run(self, batch: Batch) -> NDArray[np.float32]:
        """Return one row per text."""
        rows: NDArray[np.float32] = self._model.encode(batch.items, show_progress_bar=False)
        return rows


def _open(path: str, threads: int | None, proofs: Path | None) -> LocalModel:
    compiled = _compiled(path, threads)
    if compiled is None:
        return TorchModel(path, threads)
    proof = Proof(compiled.fingerprint, proofs)
    if proved(compiled, proof):
        return compiled
    reference = TorchModel(path, threads)
    proof.make(reference)
    if proved(compiled, proof):
        return compiled
    logger.warning("compiled, the embedding model %r gives other vectors: it runs by torch", path)
    return reference


def _quick(model: LocalModel) -> LocalModel:
    """Return what embeds questions to be compared with what the model embeds: by what was learned, and sooner."""
    # Imported here as above.
    from memory.embedding.compiled import CompiledModel  # noqa: PLC0415
    from memory.embedding.query_encoder import read_learned  # noqa: PLC0415
    from memory.embedding.quick import QuickModel  # noqa: PLC0415

    if not isinstance(model, CompiledModel):
        return model
    try:
        learned = read_learned(model.bert, model.fingerprint)
    except Exception:  # The boundary to a file: questions are embedded like anything else then.
        logger.exception("the query encoder was not read")
        learned = {}
    try:
        return QuickModel(model, learned)
    except Exception as error:
        # The boundary to the runtime and to processors that it knows less well: the exact model answers as well.
        logger.warning("questions are embedded exactly, which takes longer: %s", error)
        return model.with_learned(learned) if learned else model


def _compiled(path: str, threads: int | None) -> CompiledModel | None:
    """Return the model ready to run without torch, None if it is not of the kind that can."""
    if not Path(path).is_dir():
        return None
    # Imported here as torch is below: a tenth of the time, but many processes embed nothing.
    from memory.embedding.compiled import CompiledModel  # noqa: PLC0415

    try:
        return CompiledModel(Path(path), threads)
    except Exception as error:
        # The boundary to strangers' code and files, and no harm done: torch says what is wrong with them, if anything.
        logger.info("the embedding model %r runs by torch: %s", path, error)
        return None


def _load_torch(path: str, threads: int | None) -> SentenceTransformer:
    # Read once, when the libraries are imported: they must not look for a hub, nor warn after a fork.
    offline = os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TRANSFORMERS_OFFLINE", offline)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    # Imported here, because this takes five seconds that a process without local embeddings must not pay.
    import torch  # noqa: PLC0415
    from safetensors import SafetensorError  # noqa: PLC0415
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415
    from transformers.utils import logging as library  # noqa: PLC0415

    library.disable_progress_bar()  # type: ignore[no-untyped-call]
    if threads is not None:
        torch.set_num_threads(threads)
    try:
        return SentenceTransformer(path, device="cpu", local_files_only=offline.upper() in _TRUE)
    except (OSError, ValueError, KeyError, SafetensorError) as error:
        raise EmbeddingError(f"cannot load the embedding model {path!r}: {_why(path)}", permanent=True) from error


def _why(path: str) -> str:
    if Path(path).is_dir():
        return "the folder holds no usable one"
    return "it is not in the hub's cache; HF_HUB_OFFLINE=0 allows a download"
