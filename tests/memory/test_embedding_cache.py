import threading
import time
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from memory.embedding.base import EmbeddingError, unit
from memory.embedding.cache import CachedEmbedder, Recent


class Lengths:
    """An embedder whose vectors follow the length of the text; notes every text that it was asked for."""

    provider = "test"
    model = "lengths"

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.broken = False

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked.extend(texts)
        if self.broken:
            raise EmbeddingError("down", permanent=False)
        return unit(np.array([[len(text) + 1, 1] for text in texts], dtype=np.float32))


def test_the_second_time_comes_from_the_cache() -> None:
    inner = Lengths()
    cache = CachedEmbedder(inner)
    first, was_cached = cache.embed_one("tea")
    again, is_cached = cache.embed_one("tea")
    assert (was_cached, is_cached, inner.asked) == (False, True, ["tea"])
    assert first.shape == (2,)
    assert np.array_equal(first, again)


def test_the_least_recently_used_text_leaves_first() -> None:
    inner = Lengths()
    cache = CachedEmbedder(inner, size=2)
    for text in ("a", "b", "a", "c"):
        cache.embed_one(text)
    assert [cache.embed_one(text)[1] for text in ("a", "c", "b")] == [True, True, False]


def test_a_failure_is_not_kept() -> None:
    inner = Lengths()
    cache = CachedEmbedder(inner)
    inner.broken = True
    with pytest.raises(EmbeddingError):
        cache.embed_one("tea")
    inner.broken = False
    assert cache.embed_one("tea")[1] is False


def test_a_cached_vector_cannot_be_changed() -> None:
    vector, _ = CachedEmbedder(Lengths()).embed_one("tea")
    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 0


def test_threads_may_share_a_small_cache() -> None:
    cache = CachedEmbedder(Lengths(), size=5)
    wrong: list[str] = []

    def work(seed: int) -> None:
        for step in range(500):
            text = "x" * ((step * seed) % 11)
            if not np.allclose(cache.embed_one(text)[0], unit(np.array([[len(text) + 1, 1]], dtype=np.float32))[0]):
                wrong.append(text)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_vector_is_too_old_after_a_while() -> None:
    now = [0.0]
    recent = Recent(life=600, clock=lambda: now[0])
    recent.put("tea", "tiny", np.float32([1, 0]))
    now[0] = 599.0
    assert recent.get("tea", "tiny") is not None
    now[0] = 600.0
    assert recent.get("tea", "tiny") is None


def test_each_model_has_its_own_vector_of_a_text() -> None:
    recent = Recent()
    recent.put("tea", "tiny", np.float32([1, 0]))
    assert recent.get("tea", "large") is None


def test_a_dropped_text_is_gone_for_every_model() -> None:
    recent = Recent()
    for model in ("tiny", "large"):
        recent.put("tea", model, np.float32([1, 0]))
    recent.drop({"tea", "coffee"})
    assert [recent.get("tea", model) for model in ("tiny", "large")] == [None, None]


def test_a_cached_text_costs_next_to_nothing() -> None:
    cache = CachedEmbedder(Lengths())
    cache.embed_one("tea")
    began = time.thread_time()
    for _ in range(1000):
        cache.embed_one("tea")
    assert time.thread_time() - began < 0.3
