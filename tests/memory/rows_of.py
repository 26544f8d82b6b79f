"""The rows that a model makes, without the embedder around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from memory.embedding.base import unit


def embed(model: Any, texts: Sequence[str]) -> np.ndarray:
    """Return a row for each text, of length 1: shape (len(texts), dimensions)."""
    rows = np.empty((len(texts), model.dimensions), dtype=np.float32)
    for batch in model.batches(texts):
        rows[batch.places] = model.run(batch)
    return unit(rows)
