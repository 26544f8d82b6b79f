"""The protocol that every embedding provider follows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray


class EmbeddingError(Exception):
    """An embedding failed; `permanent` says that trying again cannot help. Never carries texts or keys.

    `away` says that the provider answers nobody now, whatever the text; `pause` is for how many seconds it asked to be
    left alone.
    """

    def __init__(self, message: str, *, permanent: bool, away: bool = False, pause: float = 0.0) -> None:
        super().__init__(message)
        self.permanent = permanent
        self.away = away
        self.pause = pause


class KeyNotSendableError(EmbeddingError):
    """A key of an endpoint has characters that a header cannot carry."""

    def __init__(self) -> None:
        super().__init__("the embedding API key has characters that a header cannot carry", permanent=True)


class Embedder(Protocol):
    """Turns texts into vectors. `provider` and `model` together name the vector space."""

    provider: str
    model: str

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row of length 1 per text, in order: shape (len(texts), dim). Raises `EmbeddingError`."""
        ...


class Batch(NamedTuple):
    """What a local model embeds in one go: `items` in its own form, and their `places` in the caller's list."""

    places: list[int]
    items: Sequence[Any]


class LocalModel(Protocol):
    """A model that is loaded: rows have `dimensions` columns and any length."""

    dimensions: int

    def batches(self, texts: Sequence[str]) -> Iterator[Batch]:
        """Cut encodable texts into batches that together hold each of them once."""
        ...

    def run(self, batch: Batch) -> NDArray[np.float32]:
        """Return one row per item, in order."""
        ...


def unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the rows of a (n, dim) array scaled to length 1.

    Raises a permanent `EmbeddingError` for a row that has no direction: NaN, infinite or zero.
    """
    # In double precision, or the squares of large float32 values overflow.
    wide = rows.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    if not (np.isfinite(lengths) & (lengths > 0)).all():
        raise EmbeddingError("a vector is zero or not finite", permanent=True)
    scaled: NDArray[np.float32] = (wide / lengths).astype(np.float32)
    return scaled


def encodable(texts: Iterable[str]) -> list[str]:
    """Return the texts with lone surrogates, which no tokeniser or UTF-8 can carry, replaced by "?"."""
    return [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
