"""What one search notes of itself: how long each stage took, what it went without, and what to tell who asked."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from memory.embedding.base import EmbeddingError
from retrieval.query import Dense
from retrieval.ranking.types import Vector

logger = logging.getLogger(__name__)


@dataclass
class Course:
    """Filled while a search runs; `timings` are milliseconds, of a stage that comes twice their sum."""

    timings: dict[str, float] = field(default_factory=dict)
    degraded: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add the time that is spent meanwhile to a stage."""
        start = time.perf_counter()
        try:
            yield
        finally:
            spent = (time.perf_counter() - start) * 1000
            self.timings[stage] = round(self.timings.get(stage, 0.0) + spent, 3)

    def embed(self, dense: Dense | None, question: str) -> Vector | None:
        """Return the question's vector; None, as `degraded` says then, if the provider is absent, fails or changed."""
        vector = self._embed(dense, question)
        if vector is None:
            self.degraded.append("semantic")
        return vector

    def _embed(self, dense: Dense | None, question: str) -> Vector | None:
        if dense is None:
            return None
        with self.timed("embed"):
            try:
                vector, _cached = dense.embedder.embed_one(question)
            except EmbeddingError as error:
                logger.warning("the query was not embedded: %s", error)
                return None
        if dense.dimensions is not None and vector.shape[0] != dense.dimensions:
            logger.error("the query has %d dimensions, the model %d", vector.shape[0], dense.dimensions)
            return None
        return vector
