"""What a process keeps of the endpoints that its users name, and may name anew as often as they like."""

from __future__ import annotations

import gc
import ssl
import weakref

import pytest

from memory.embedding.http import HttpEmbedder
from memory.embedding.providers import MOST_MADE, Providers, System
from memory.models import EmbeddingModel


@pytest.fixture
def embedder(runtime):
    providers = Providers(System("none"), runtime.keys)

    def _embedder(number):
        return providers.embedder(
            EmbeddingModel(provider_type="openai", model="small", endpoint_url=f"https://{number}.example")
        ).embedder

    return _embedder


def test_an_endpoint_that_is_asked_no_more_is_let_go(embedder):
    first = weakref.ref(embedder(0))
    for number in range(1, MOST_MADE + 1):
        embedder(number)
    gc.collect()
    assert first() is None


def test_an_embedder_that_is_asked_again_stays_however_many_come_between(embedder):
    first = embedder(0)
    for number in range(1, 2 * MOST_MADE):
        embedder(number)
        assert embedder(0) is first


def contexts():
    # Not by `isinstance`, at which objects of some libraries warn.
    return sum(issubclass(type(each), ssl.SSLContext) for each in gc.get_objects())


@pytest.mark.parametrize("public_only", [False, True])
def test_the_certificates_that_are_believed_are_read_once(public_only):
    """They are 0.8 MiB, and take longer to read than most requests."""
    made = [HttpEmbedder("openai", "https://first.example", "small", None, None, public_only=public_only)]
    # Those that other tests left would be cleaned up at any moment.
    gc.collect()
    before = contexts()
    made += [HttpEmbedder("openai", f"https://{n}.example", "small", None, None, public_only=public_only) for n in "ab"]
    assert contexts() == before
