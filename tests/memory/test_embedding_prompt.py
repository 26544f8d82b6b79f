from __future__ import annotations

import time

import numpy as np
import pytest

from evals.silent_server import silent
from memory.embedding.base import EmbeddingError
from memory.embedding.http import HttpEmbedder
from memory.embedding.prompt import PAUSE, PromptEmbedder
from memory.embedding.providers import Providers, System
from memory.ids import new_id
from memory.models import EmbeddingModel
from memory.remote.breaker import Breaker


@pytest.fixture
def clock():
    """Seconds that a test lets pass."""
    return [0.0]


def prompt(url: str, clock: list[float], timeout: float = 5.0) -> PromptEmbedder:
    return PromptEmbedder(HttpEmbedder("openai", url, "loom", None, None, timeout), Breaker(PAUSE, lambda: clock[0]))


def test_a_silent_endpoint_is_waited_for_once(clock) -> None:
    with silent() as url:
        embedder = prompt(url, clock, timeout=1.0)
        with pytest.raises(EmbeddingError, match="did not answer"):
            embedder.embed(["tea"])
        began = time.perf_counter()
        with pytest.raises(EmbeddingError, match="a moment ago") as refused:
            embedder.embed(["tea"])
        assert time.perf_counter() - began < 1.0
        assert not refused.value.permanent


def test_an_endpoint_is_asked_again_after_a_pause_and_then_every_time(clock, provider) -> None:
    embedder = prompt(provider.url, clock)
    provider.status = 503
    with pytest.raises(EmbeddingError, match="503"):
        embedder.embed(["tea"])
    provider.status = 200
    with pytest.raises(EmbeddingError, match="a moment ago"):
        embedder.embed(["tea"])
    clock[0] += PAUSE
    assert np.linalg.norm(embedder.embed(["tea"])) == pytest.approx(1.0)
    assert embedder.embed(["tea", "milk"]).shape[0] == 2


def test_an_endpoint_that_asks_to_be_left_alone_is(clock, provider) -> None:
    embedder = prompt(provider.url, clock)
    provider.status, provider.headers = 429, {"Retry-After": "60"}
    with pytest.raises(EmbeddingError, match="429"):
        embedder.embed(["tea"])
    provider.status = 200
    clock[0] += 59
    with pytest.raises(EmbeddingError, match="a moment ago"):
        embedder.embed(["tea"])
    clock[0] += 1
    assert embedder.embed(["tea"]).shape[0] == 1


def test_an_endpoint_that_answers_without_an_end_is_not_read_again_with_each_question(clock, provider) -> None:
    embedder = prompt(provider.url, clock)
    provider.answer = lambda _: b" " * (1 << 22)
    for told in ("answered too much", "a moment ago"):
        with pytest.raises(EmbeddingError, match=told):
            embedder.embed(["tea"])
    assert len(provider.requests) == 1


def test_what_is_wrong_for_good_is_told_each_time(clock, provider) -> None:
    embedder = prompt(provider.url, clock)
    provider.status = 401
    for _ in range(2):
        with pytest.raises(EmbeddingError, match="401"):
            embedder.embed(["tea"])


def test_questions_are_asked_promptly_and_what_is_stored_with_patience(provider, runtime) -> None:
    providers = Providers(System("none"), runtime.keys)
    model = EmbeddingModel(user_id=new_id(), provider_type="openai", model="loom", endpoint_url=provider.url)
    provider.status = 503
    with pytest.raises(EmbeddingError, match="503"):
        providers.query_embedder(model).embed_one("tea")
    provider.status = 200
    with pytest.raises(EmbeddingError, match="a moment ago"):
        providers.query_embedder(model).embed_one("tea")
    assert providers.embedder(model).embedder.embed(["tea"]).shape[0] == 1
