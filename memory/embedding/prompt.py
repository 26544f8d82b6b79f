"""An embedding endpoint that is asked while somebody waits for the answer."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memory.embedding.base import Embedder, EmbeddingError
from memory.remote.breaker import Breaker

logger = logging.getLogger(__name__)

# A search does not wait longer for its vector: the keyword leg answers within milliseconds.
PATIENCE = 5.0  # seconds
# After a failure the endpoint is not asked for so long, and searches go on without it at once.
PAUSE = 15.0  # seconds


class PromptEmbedder:
    """Asks an endpoint, but not again soon after it failed to answer, or as soon as it asked not to be.

    Safe to share between threads.
    """

    def __init__(self, embedder: Embedder, breaker: Breaker | None = None) -> None:
        self.provider, self.model = embedder.provider, embedder.model
        self._embedder = embedder
        self._breaker = breaker or Breaker(PAUSE)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text, as the endpoint does; raises its `EmbeddingError`, transient while it is left alone.

        What is wrong for good, such as a refused key, is answered quickly and is asked for each time.
        """
        if not self._breaker.allows():
            raise EmbeddingError(f"the {self.provider} embedding provider failed a moment ago", permanent=False)
        try:
            rows = self._embedder.embed(texts)
        except EmbeddingError as error:
            if not error.permanent and self._breaker.failed(error.pause):
                logger.warning("questions go without vectors until an endpoint answers again: %s", error)
            raise
        if self._breaker.worked():
            logger.info("the %s embedding provider answers again", self.provider)
        return rows
