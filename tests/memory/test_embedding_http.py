import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest
from endless_beginning import BEGINNINGS, beginning
from local_provider import Answer, Provider, openai_shape, vector
from memory_taken import within

from memory.embedding.base import EmbeddingError
from memory.embedding.http import HttpEmbedder
from memory.remote.whole_answers import pause_asked


def ollama_shape(body: dict[str, Any]) -> dict[str, Any]:
    return {"embeddings": [vector(text) for text in body["input"]]}


@pytest.fixture
def provider() -> Iterator[Provider]:
    server = Provider()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def embedder(provider: Provider, kind: str = "openai", path: str = "", **options: Any) -> HttpEmbedder:
    settings = {"model": "small", "api_key": None, "dimensions": None, **options}
    return HttpEmbedder(kind, provider.url + path, **settings)


def refusal(embedder: HttpEmbedder, texts: list[str] | None = None) -> EmbeddingError:
    with pytest.raises(EmbeddingError) as caught:
        embedder.embed(["private text"] if texts is None else texts)
    return caught.value


@pytest.mark.parametrize(
    ("kind", "given", "path", "answer"),
    [
        ("openai", "", "/v1/embeddings", openai_shape),
        ("openai", "/v1", "/v1/embeddings", openai_shape),
        ("openai", "/v1/embeddings", "/v1/embeddings", openai_shape),
        ("openai", "/proxy/v1/", "/proxy/v1/embeddings", openai_shape),
        ("llamacpp", "/", "/v1/embeddings", openai_shape),
        ("ollama", "", "/api/embed", ollama_shape),
        ("ollama", "/api/embed", "/api/embed", ollama_shape),
        ("custom_http", "/any/where?x=1", "/any/where?x=1", ollama_shape),
        ("custom_http", "/vectors", "/vectors", openai_shape),
    ],
)
def test_each_provider_is_spoken_to_in_its_own_shape(
    provider: Provider, kind: str, given: str, path: str, answer: Answer
) -> None:
    provider.answer = answer
    rows = embedder(provider, kind, given).embed(["a", "bbb"])
    assert provider.requests == [("POST", path, None, {"model": "small", "input": ["a", "bbb"]})]
    assert np.allclose(rows, np.array([[1, 1, 0], [3, 1, 0]]) / np.sqrt([[2], [10]]))


def test_the_key_travels_as_a_bearer_token(provider: Provider) -> None:
    embedder(provider, api_key="s3cret").embed(["a"])
    assert provider.requests[0][2] == "Bearer s3cret"


def test_no_credential_is_sent(provider: Provider) -> None:
    embedder(provider).embed(["CI pushes with ghp_16C7e42F292c6912E7710c838347Ae178B4a."])
    assert provider.requests[0][3] == {"model": "small", "input": ["CI pushes with [credential]."]}


def test_requests_hold_at_most_64_texts(provider: Provider) -> None:
    rows = embedder(provider).embed(["x" * length for length in range(1, 151)])
    assert [len(body["input"]) for *_, body in provider.requests] == [64, 64, 22]
    assert np.all(np.diff(rows[:, 0]) > 0)


def test_no_texts_make_no_request(provider: Provider) -> None:
    assert embedder(provider, dimensions=3).embed([]).shape == (0, 3)
    assert provider.requests == []


@pytest.mark.parametrize(
    "answer",
    [
        {"data": [{"index": 0, "embedding": [1, 2]}]},  # one of two
        {"data": [{"index": 0, "embedding": [1, 2]}, {"index": 0, "embedding": [1, 2]}]},
        {"data": [{"index": 1, "embedding": [1, 2]}, {"index": 2, "embedding": [1, 2]}]},
        {"data": [{"index": 0, "embedding": [1, 2]}, {"index": 1, "embedding": [1]}]},
        {"data": [{"index": 0, "embedding": ["x"]}, {"index": 1, "embedding": ["y"]}]},
        {"data": [{"index": 0, "embedding": []}, {"index": 1, "embedding": []}]},
        {"data": [{"index": "0", "embedding": [1]}, {"index": 1, "embedding": [1]}]},
        {"data": "nothing"},
        {"embeddings": [[1, 2], [0, 0]]},
        {"embeddings": [[1, 2], [float("nan"), 0]]},
        {"embeddings": [[1, 2], [1e300, 0]]},
        {"embeddings": [1, 2]},
        {"embeddings": None},
        {"error": "no"},
        [],
        None,
        7,
        b"<html>",
        b"[" * 200_000,
    ],
    ids=lambda answer: repr(answer)[:60],
)
def test_a_malformed_answer_is_a_permanent_error(provider: Provider, answer: Any) -> None:
    provider.answer = lambda _: answer
    assert refusal(embedder(provider), ["a", "b"]).permanent


def test_other_dimensions_than_configured_are_a_permanent_error(provider: Provider) -> None:
    error = refusal(embedder(provider, dimensions=4))
    assert error.permanent
    assert "3 dimensions instead of 4" in str(error)


def test_dimensions_that_change_between_batches_are_a_permanent_error(provider: Provider) -> None:
    provider.answer = lambda body: {"embeddings": [[1.0] * (len(body["input"]) % 5 + 1)] * len(body["input"])}
    assert refusal(embedder(provider), ["a"] * 66).permanent


@pytest.mark.parametrize(
    ("status", "permanent"),
    [
        (400, True),
        (401, True),
        (404, True),
        (301, True),
        (408, False),
        (429, False),
        (500, False),
        (503, False),
    ],
)
def test_the_status_decides_whether_to_try_again(provider: Provider, status: int, permanent: bool) -> None:
    provider.status = status
    assert refusal(embedder(provider)).permanent is permanent


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_text_does_not_follow_an_endpoint_that_has_moved_and_its_owner_is_told(
    provider: Provider, status: int
) -> None:
    provider.status, provider.headers = status, {"Location": f"{provider.url}/elsewhere"}
    assert f"answered HTTP {status}: it is at another address" in str(refusal(embedder(provider)))
    assert len(provider.requests) == 1


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [
        ("120", 120),
        ("99999", 3600),
        ("Fri, 27 Nov 2026 12:30:00 GMT", 1800),
        ("Friday, 27-Nov-26 12:30:00 GMT", 1800),
        ("Fri Nov 27 12:30:00 2026", 1800),
        ("Fri, 27 Nov 2026 15:00:00 GMT", 3600),
        ("Fri, 27 Nov 2026 11:00:00 GMT", 0),
        ("Fri, 99 Nov 2026 12:30:00 GMT", 0),
        ("soon", 0),
    ],
)
def test_a_pause_is_asked_for_in_seconds_or_by_a_date(asked: str, seconds: float) -> None:
    headers = {"Date": "Fri, 27 Nov 2026 12:00:00 GMT", "Retry-After": asked}
    assert pause_asked(httpx.Response(429, headers=headers)) == seconds


def test_a_time_out_is_transient(provider: Provider) -> None:
    provider.delay = 0.3
    assert not refusal(embedder(provider, timeout=0.05)).permanent


def test_an_answer_that_drips_is_given_up(provider: Provider) -> None:
    provider.drip = 0.3
    began = time.monotonic()
    assert not refusal(embedder(provider, timeout=0.5)).permanent
    # To its end it would take five seconds.
    assert time.monotonic() - began < 4


@pytest.mark.parametrize("kind", BEGINNINGS)
def test_an_answer_that_only_ever_begins_is_given_up(kind: str) -> None:
    with beginning(kind) as url:
        endpoint = HttpEmbedder("openai", url, "small", None, None, timeout=0.5)
        began = time.monotonic()
        assert not refusal(endpoint).permanent
        assert not endpoint.healthy(timeout=0.5)
        assert time.monotonic() - began < 10


def test_an_answer_that_is_long_in_coming_may_take_its_time(provider: Provider) -> None:
    # Each is well within what may pass, and both together are not.
    provider.delay, provider.drip = 0.6, 0.04
    assert embedder(provider, timeout=1.2).embed(["a"]).shape == (1, 3)


def test_a_host_that_is_no_name_is_transient_and_not_healthy() -> None:
    nowhere = HttpEmbedder("openai", "http://..", "small", None, None)
    assert "did not answer" in str(refusal(nowhere))
    assert not nowhere.healthy()


def test_a_refused_connection_is_transient() -> None:
    assert not refusal(HttpEmbedder("openai", "http://127.0.0.1:9", "small", None, None)).permanent


@pytest.mark.parametrize("status", [200, 401, 500])
def test_errors_quote_neither_key_nor_text(provider: Provider, status: int) -> None:
    provider.status = status
    provider.answer = lambda body: {"error": f"bad key s3cret for {body['input']}"}
    error = refusal(embedder(provider, api_key="s3cret"))
    assert "s3cret" not in str(error)
    assert "private" not in str(error)


@pytest.mark.parametrize("key", ["s3cret\nX-Evil: 1", "s3crét"])
def test_a_key_that_no_header_can_carry_is_refused_unquoted(provider: Provider, key: str) -> None:
    with pytest.raises(EmbeddingError) as caught:
        embedder(provider, api_key=key)
    assert "s3cr" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["", "localhost:8080", "file:///etc/passwd", "http://", "http://host:port", "http://xn--/"]
)
def test_an_endpoint_that_is_no_http_url_is_refused(url: str) -> None:
    with pytest.raises(EmbeddingError, match="not an http"):
        HttpEmbedder("openai", url, "small", None, None)


def test_an_unknown_provider_is_refused(provider: Provider) -> None:
    with pytest.raises(EmbeddingError, match="unknown"):
        embedder(provider, "carrier_pigeon")


@pytest.mark.parametrize(
    ("kind", "given", "path"),
    [
        ("llamacpp", "/v1", "/health"),
        ("openai", "", "/v1/models"),
        ("ollama", "", "/api/version"),
        ("custom_http", "/vectors", "/vectors"),
    ],
)
def test_health_is_asked_where_the_provider_has_it(provider: Provider, kind: str, given: str, path: str) -> None:
    assert embedder(provider, kind, given).healthy()
    assert provider.requests[0][:2] == ("GET", path)


def test_a_loading_server_is_not_healthy(provider: Provider) -> None:
    provider.status = 503
    assert not embedder(provider, "llamacpp").healthy()


def test_a_slow_server_is_not_healthy(provider: Provider) -> None:
    provider.delay = 0.3
    assert not embedder(provider, "llamacpp").healthy(timeout=0.05)


def test_an_enormous_answer_is_left_unread_and_is_none_of_an_embedding_endpoint(provider: Provider) -> None:
    payload = b'{"embeddings": [[1, 2]]}' + b" " * (1 << 25)
    provider.answer = lambda _: payload
    with within(1 << 23):
        error = refusal(embedder(provider))
    assert (str(error).endswith("answered too much"), error.permanent, error.away) == (True, False, True)


def test_an_answer_of_endless_small_values_is_not_parsed(provider: Provider) -> None:
    payload = b'{"embeddings": [' + b"[]," * 1_000_000 + b"[]]}"
    provider.answer = lambda _: payload
    with within(8 * len(payload)):
        assert str(refusal(embedder(provider))).endswith("answered too much")


def test_what_a_healthy_server_goes_on_to_say_is_not_waited_for(provider: Provider) -> None:
    provider.drip = 0.5
    started = time.monotonic()
    assert embedder(provider, "llamacpp").healthy(timeout=5)
    # To its end it would take eight seconds.
    assert time.monotonic() - started < 5


def test_a_missing_server_is_not_healthy() -> None:
    assert not HttpEmbedder("llamacpp", "http://127.0.0.1:9", "small", None, None).healthy()
