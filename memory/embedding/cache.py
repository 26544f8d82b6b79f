"""A cache of query vectors: people and agents repeat their questions, and a query's vector never changes."""

from __future__ import annotations

import threading
from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray

from memory.embedding.base import Embedder


class CachedEmbedder:
    """Keeps the vectors of the `size` most recently used query texts; safe to share between threads.

    Wrap each embedder in a cache of its own: the text alone is the key.
    """

    def __init__(self, embedder: Embedder, size: int = 4096) -> None:
        self.embedder = embedder
        self._size = size
        self._vectors: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._lock = threading.Lock()

    def embed_one(self, text: str) -> tuple[NDArray[np.float32], bool]:
        """Return (vector of shape (dim,), read-only and of length 1; whether it came from the cache).

        Raises `EmbeddingError` as the wrapped embedder does; a failure is not kept.
        """
        with self._lock:
            if text in self._vectors:
                self._vectors.move_to_end(text)
                return self._vectors[text], True
        # Outside the lock, so that a slow provider does not hold up cached queries.
        vector = self.embedder.embed([text])[0]
        vector.setflags(write=False)
        with self._lock:
            self._vectors[text] = vector
            self._vectors.move_to_end(text)
            if len(self._vectors) > self._size:
                self._vectors.popitem(last=False)
        return vector, False
